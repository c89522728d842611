//go:build linux

package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// A node is what gcprog allocates.
type node struct {
	next *node
	_    [6]uint64
}

var sink, churned, crowded *node

// gcprog is a program with as many habits as the tests need. It does what its
// flags say in the order of the code below.
func gcprog() {
	var (
		touch      = flag.String("touch", "", "append a line to this `file`")
		out        = flag.String("out", "", "print this line")
		errText    = flag.String("err", "", "print this line to standard error")
		env        = flag.String("env", "", "print these comma-separated variables")
		status     = flag.String("status", "", "print this line of /proc/self/status")
		stdin      = flag.Bool("stdin", false, "read all input and print how much it was")
		work       = flag.Int("work", 0, "allocate so many MiB in small pieces")
		alloc      = flag.Int("alloc", 0, "hold so many MiB")
		pidfile    = flag.String("pidfile", "", "write the id of the process to this `file`, once the memory is there, on base pages")
		churn      = flag.Bool("churn", false, "allocate garbage all the time, after -pidfile")
		grow       = flag.Bool("grow", false, "hold memory in proportion to the speed of -figure")
		crowd      = flag.Int("crowd", 0, "hold so many MiB in small pieces, and allocate garbage all the time, after -pidfile")
		leak       = flag.Bool("leak", false, "after -pidfile, hold a MiB more for each line of input, and print one then")
		become     = flag.Bool("become", false, "after -pidfile, exec another program at the end of the input")
		huge       = flag.Int("huge", 0, "wait until so many MiB are on huge pages")
		figure     = flag.Bool("figure", false, "print a speed that depends on GOGC alone")
		bench      = flag.Bool("bench", false, "print that speed as two Go benchmarks")
		background = flag.Bool("background", false, "leave a process behind that ignores TERM")
		ignore     = flag.Bool("ignore", false, "ignore INT and TERM")
		catch      = flag.Bool("catch", false, "at INT, print how many came and exit with code 9")
		ownGC      = flag.Bool("own-gc", false, "turn the GC off, whatever the environment says")
		sleep      = flag.Duration("sleep", 0, "sleep")
		every      = flag.Int("every", 0, "exit with code 7 in every n-th run that -touch counts")
		kill       = flag.String("kill", "", "end by this signal")
		code       = flag.Int("exit", 0, "exit code")
	)
	flag.Parse()
	if *ownGC {
		debug.SetGCPercent(-1)
		debug.SetMemoryLimit(math.MaxInt64)
	}
	if *ignore {
		signal.Ignore(unix.SIGINT, unix.SIGTERM)
	}
	interrupts := make(chan os.Signal, 16)
	if *catch {
		signal.Notify(interrupts, unix.SIGINT)
	}
	if *touch != "" {
		f, err := os.OpenFile(*touch, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		check(err)
		_, err = f.WriteString("run\n")
		check(err)
	}
	if *out != "" {
		fmt.Println(*out)
	}
	if *errText != "" {
		fmt.Fprintln(os.Stderr, *errText)
	}
	for _, key := range strings.FieldsFunc(*env, func(r rune) bool { return r == ',' }) {
		fmt.Printf("%s=%s\n", key, os.Getenv(key))
	}
	if *status != "" {
		printStatus(*status)
	}
	if *stdin {
		n, err := io.Copy(io.Discard, os.Stdin)
		check(err)
		fmt.Printf("read %d bytes\n", n)
	}
	for i := range *work << 20 / 64 {
		n := &node{}
		if i%1000 != 0 { // runs of garbage
			n.next = sink
		}
		sink = n
	}
	if *grow {
		*alloc += speed() / 60
	}
	if *pidfile != "" { // for tests that make huge pages of it, whatever the policy is
		check(unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0))
	}
	held := make([]byte, *alloc<<20)
	for i := 0; i < len(held); i += 512 {
		held[i] = 1
	}
	if *pidfile != "" {
		check(unix.Prctl(unix.PR_SET_THP_DISABLE, 0, 0, 0, 0))
		check(os.WriteFile(*pidfile, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644))
	}
	if *churn {
		go func() {
			for i := 0; ; i++ {
				if churned = new(node); i%10_000 == 0 {
					time.Sleep(100 * time.Microsecond)
				}
			}
		}()
	}
	if *crowd > 0 {
		for range *crowd << 20 / 64 {
			crowded = &node{next: crowded}
		}
		go func() {
			for {
				churned = new(node)
			}
		}()
	}
	if *leak {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			leaked = append(leaked, b)
			fmt.Println("more")
		}
	}
	if *become {
		_, _ = io.Copy(io.Discard, os.Stdin)
		check(unix.Exec("/proc/self/exe", []string{"gcprog", "-sleep", "1h"}, os.Environ()))
	}
	if *huge > 0 {
		for end := time.Now().Add(testenv.Patience); time.Now().Before(end) && hugeBytes() < *huge<<20; {
			time.Sleep(10 * time.Millisecond)
		}
	}
	if *figure || *bench {
		collect()
	}
	if *figure {
		fmt.Printf("%d op/s\n", speed())
	}
	if *bench {
		fmt.Printf("goos: linux\nBenchmarkInsert-2   \t     100\t%8d ns/op\nBenchmarkLookup-2   \t     100\t%8d ns/op\nPASS\n",
			1e9/speed(), 2e9/speed())
	}
	if *background {
		self, err := os.Executable()
		check(err)
		check(exec.Command(self, "-ignore", "-sleep", "1h").Start())
	}
	select {
	case <-time.After(*sleep):
	case <-interrupts:
		time.Sleep(300 * time.Millisecond) // a second one would come at once
		fmt.Printf("interrupts: %d\n", 1+len(interrupts))
		os.Exit(9)
	}
	if *every > 0 && lines(*touch)%*every == 0 {
		fmt.Fprintln(os.Stderr, "worker gave up")
		os.Exit(7)
	}
	if *kill != "" {
		sig := unix.SignalNum("SIG" + *kill)
		signal.Reset(sig)
		check(unix.Kill(os.Getpid(), sig))
		time.Sleep(testenv.Patience)
	}
	runtime.KeepAlive(held)
	os.Exit(*code)
}

var leaked [][]byte

// hugeBytes returns how much of this process is on huge pages.
func hugeBytes() int {
	s, err := procmem.FS{}.SmapsRollup(os.Getpid())
	check(err)
	if s.AnonHugePages == nil {
		return 0
	}
	return int(*s.AnonHugePages)
}

// speed makes GOGC=3200 the best setting of a search, without any timing.
func speed() int {
	switch gogc := os.Getenv("GOGC"); gogc {
	case "":
		return 1100
	case "off":
		return 500
	default:
		n, err := strconv.Atoi(gogc)
		check(err)
		return 1000 + n
	}
}

// collect runs the GC the less often, the higher the speed: a search sees at once
// where a setting does nothing.
func collect() {
	for range 10_000 / speed() {
		runtime.GC()
	}
}

func printStatus(key string) {
	data, err := os.ReadFile("/proc/self/status")
	check(err)
	for _, l := range strings.Split(string(data), "\n") {
		if k, v, _ := strings.Cut(l, ":"); k == key {
			fmt.Printf("%s: %s\n", k, strings.TrimSpace(v))
		}
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
}

// server answers with its speed. At TERM it ends in due course.
func server() {
	var (
		port  = flag.String("port", "", "listen on this port")
		die   = flag.Bool("die", false, "end at the first request to /work")
		early = flag.Bool("early", false, "end before listening")
		sick  = flag.Bool("sick", false, "answer with 503")
		stay  = flag.Bool("stay", false, "ignore TERM")
	)
	flag.Parse()
	if *early {
		check(errors.New("no configuration"))
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+*port)
	check(err)
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		if *sick {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/work", func(w http.ResponseWriter, _ *http.Request) {
		if *die {
			os.Exit(5)
		}
		for range 20_000 {
			sink = &node{}
		}
		collect()
		fmt.Fprintf(w, "%d op/s\n", speed())
	})
	var slow atomic.Int64
	// So slow that no busy machine makes folio's generator late in comparison.
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		n := slow.Add(1)
		if e, _ := strconv.ParseInt(r.URL.Query().Get("fail"), 10, 64); e > 0 && n%e == 0 {
			w.WriteHeader(http.StatusInternalServerError)
		}
		time.Sleep(2 * time.Second)
	})
	mux.HandleFunc("/touch", func(http.ResponseWriter, *http.Request) {
		f, err := os.OpenFile("runs", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		check(err)
		_, err = f.WriteString("asked\n")
		check(errors.Join(err, f.Close()))
	})
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM)
	go func() { check(http.Serve(l, mux)) }()
	<-terms
	if *stay {
		time.Sleep(time.Hour)
	}
	fmt.Println("server: bye")
	if n := slow.Load(); n > 0 {
		fmt.Println("server:", n, "slow")
	}
}

// askServer asks a server ten times and prints its last answer.
func askServer() {
	var (
		port  = flag.String("port", "", "the server's port")
		touch = flag.String("touch", "", "append a line to this `file` when the load begins")
		many  = flag.Bool("many", false, "ask a hundred times")
		sleep = flag.Duration("sleep", 0, "sleep before the end")
		code  = flag.Int("exit", 0, "exit code")
	)
	flag.Parse()
	var answer []byte
	n := 10
	if *many {
		n = 100
	}
	for range n {
		r, err := http.Get("http://127.0.0.1:" + *port + "/work")
		check(err)
		answer, err = io.ReadAll(r.Body)
		check(err)
		r.Body.Close()
	}
	if *touch != "" {
		check(os.WriteFile(*touch, []byte("load\n"), 0o644))
	}
	time.Sleep(*sleep)
	if *code != 0 {
		fmt.Fprintln(os.Stderr, "load: too few answers")
		os.Exit(*code)
	}
	os.Stdout.Write(answer)
}
