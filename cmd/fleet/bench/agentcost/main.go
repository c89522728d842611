//go:build linux

// Command agentcost measures what folio-agent costs on a node with many Go processes: its
// CPU time and memory, while they allocate, collect, begin and end.
//
//	go build -o /tmp/folio-agent ./cmd/folio-agent
//	go run ./bench/agentcost -agent /tmp/folio-agent -duration 1h
//
// It starts -processes copies of itself that allocate, and each second another that lives
// for a moment, and scrapes the agent each -scrape. It fails if the agent takes more than
// its budget: 0.5% of one core, and 64 MiB and 0.25 MiB for each CPU. With -nice 19 the
// programs give way to what else the machine does.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/foliomem/folio/internal/system/procmem"
)

const role = "FOLIO_AGENTCOST_ROLE"

// The budget.
const (
	mostShare  = 0.005
	mostMemory = 64 << 20
	perCPU     = 256 << 10
)

func main() {
	switch os.Getenv(role) {
	case "serve":
		load()
		return
	case "short":
		short()
		return
	}
	processes := flag.Int("processes", 100, "number of Go `processes`")
	duration := flag.Duration("duration", 3*time.Minute, "how long to measure")
	warm := flag.Duration("warm", 30*time.Second, "how long to wait first, for what the start costs")
	scrape := flag.Duration("scrape", 15*time.Second, "interval of scrapes")
	agent := flag.String("agent", "folio-agent", "the program to measure")
	nice := flag.Int("nice", 0, "`priority` of the programs that the agent looks at, 0 to 19")
	listen := flag.String("listen", "127.0.0.1:19464", "`address` of the agent")
	flag.Parse()
	if err := run(*processes, *nice, *duration, *warm, *scrape, *agent, *listen, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "agentcost:", err)
		os.Exit(1)
	}
}

var sink [][]byte

// load is a small service: some live heap, and garbage at a steady rate. It ends with its
// standard input.
func load() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	live := make([][]byte, 4096)
	for i := range live {
		live[i] = make([]byte, 2048)
	}
	for i := 0; ; i++ {
		for range 64 {
			sink = append(sink[:0], make([]byte, 1024), make([]byte, 4096))
			live[i%len(live)] = make([]byte, 2048)
			i++
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func short() {
	end := time.Now().Add(300 * time.Millisecond)
	for time.Now().Before(end) {
		sink = append(sink[:0], make([]byte, 1<<16))
		time.Sleep(time.Millisecond)
	}
}

func run(processes, nice int, duration, warm, scrape time.Duration, agent, address string, args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	program := func() *exec.Cmd {
		if nice == 0 {
			return exec.CommandContext(ctx, self)
		}
		return exec.CommandContext(ctx, "nice", "-n", strconv.Itoa(nice), self)
	}
	for range processes {
		cmd := program()
		cmd.Env = append(os.Environ(), role+"=serve")
		in, err := cmd.StdinPipe() // it ends with this process, however that ends
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		defer func() { _ = in.Close(); _ = cmd.Wait() }()
	}
	cmd := exec.Command(agent, append([]string{"serve", "--listen", address, "--log-level", "warn"}, args...)...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	runtime.LockOSThread()
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() }()
	churned := 0
	wait := func(d time.Duration, each func() error) error {
		end := time.After(d)
		second, scrapes := time.NewTicker(time.Second), time.NewTicker(scrape)
		defer second.Stop()
		defer scrapes.Stop()
		for {
			select {
			case <-ctx.Done():
				return errors.New("interrupted")
			case <-end:
				return nil
			case <-second.C:
				c := program()
				c.Env = append(os.Environ(), role+"=short")
				if err := c.Start(); err != nil {
					return err
				}
				churned++
				go func() { _ = c.Wait() }()
			case <-scrapes.C:
				if err := each(); err != nil {
					return err
				}
			}
		}
	}
	scrapeOnce := func() error { _, err := fetch(address); return err }
	if err := wait(warm, scrapeOnce); err != nil {
		return err
	}
	fs := procmem.New("")
	before, err := fs.Stat(cmd.Process.Pid)
	if err != nil {
		return err
	}
	start := time.Now()
	var most uint64
	if err := wait(duration, func() error {
		status, err := fs.Status(cmd.Process.Pid)
		if err != nil || status.VmRSS == nil {
			return errors.Join(errors.New("the agent has ended"), err)
		}
		most = max(most, *status.VmRSS)
		return scrapeOnce()
	}); err != nil {
		return err
	}
	after, err := fs.Stat(cmd.Process.Pid)
	if err != nil {
		return err
	}
	wall := time.Since(start)
	text, err := fetch(address)
	if err != nil {
		return err
	}
	cpu := after.UTime + after.STime - before.UTime - before.STime
	share := cpu.Seconds() / wall.Seconds()
	bound := uint64(mostMemory + perCPU*runtime.NumCPU())
	fmt.Printf("%d Go processes on %d CPUs, %d more that lived for 0.3 s, scraped every %v for %v\n", processes, runtime.NumCPU(), churned, scrape, wall.Round(time.Second))
	fmt.Printf("CPU time       %v, %.2f%% of a core (budget %.1f%%)\n", cpu, 100*share, 100*mostShare)
	fmt.Printf("peak RSS seen  %.1f MiB (budget %.1f MiB)\n", float64(most)/(1<<20), float64(bound)/(1<<20))
	status, err := fs.Status(cmd.Process.Pid)
	if err == nil && status.RssAnon != nil && status.RssFile != nil && status.RssShmem != nil && status.VmHWM != nil {
		fmt.Printf("RSS at the end %.1f MiB anonymous, %.1f MiB files, %.1f MiB buffers of perf; high-water mark %.1f MiB\n",
			mib(*status.RssAnon), mib(*status.RssFile), mib(*status.RssShmem), mib(*status.VmHWM))
		most = max(most, *status.VmHWM)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "folio_agent_") {
			fmt.Print(line)
		}
	}
	switch {
	case share > mostShare:
		return fmt.Errorf("the agent took %.2f%% of a core, more than %.1f%%", 100*share, 100*mostShare)
	case most > bound:
		return fmt.Errorf("the agent had %.1f MiB, more than %.1f MiB", mib(most), mib(bound))
	}
	return nil
}

func mib(n uint64) float64 { return float64(n) / (1 << 20) }

// fetch scrapes the agent.
func fetch(address string) (string, error) {
	resp, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(bufio.NewReader(resp.Body))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the agent answers %s", resp.Status)
	}
	return string(data), err
}
