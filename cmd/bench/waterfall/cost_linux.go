package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/bench/internal/programs"
	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/internal/base/unit"
)

// The target of the costs.
const (
	goroutines = 100_000
	object     = 4 << 10
)

// target has a heap of so many bytes and as many goroutines as the costs are of. It maps,
// writes and unmaps a page each millisecond, which waits while its mappings are read, and
// prints the longest that this took each time it is given a line.
func target(bytes int) {
	keep := make([][]byte, 0, bytes/object)
	for range bytes / object {
		b := make([]byte, object)
		b[0] = 1
		keep = append(keep, b)
	}
	defer runtime.KeepAlive(keep)
	wait := make(chan int)
	for range goroutines {
		go func() { <-wait }()
	}
	runtime.GC()
	ask := make(chan bool)
	go func() {
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			ask <- true
		}
		os.Exit(0)
	}()
	runtime.LockOSThread()
	for longest := time.Duration(0); ; time.Sleep(time.Millisecond) {
		begin := time.Now()
		b, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			panic(err)
		}
		b[0] = 1
		_ = unix.Munmap(b)
		longest = max(longest, time.Since(begin))
		select {
		case <-ask:
			fmt.Println(longest.Nanoseconds())
			longest = 0
		default:
		}
	}
}

// used is the CPU time of this process.
func used(who int) time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(who, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cost measures what a reading and the watch cost, on a program with so many bytes of heap.
func cost(ctx context.Context, dir string, bytes uint64, watch time.Duration) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "-target", strconv.FormatUint(bytes, 10))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	said := bufio.NewReader(out)
	longest := func() (float64, error) {
		if _, err := in.Write([]byte("\n")); err != nil {
			return 0, err
		}
		line, err := said.ReadString('\n')
		if err != nil {
			return 0, err
		}
		n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		return float64(n) / 1e9, err
	}
	if _, err := longest(); err != nil { // it has its memory
		return err
	}
	alone, err := quiet(ctx, longest)
	if err != nil {
		return err
	}
	c := &costs{ctx: ctx, pid: cmd.Process.Pid, longest: longest, table: table.New(os.Stdout, "what", "time", "CPU time", "longest delay of the program")}
	if c.folio, err = programs.Folio(dir); err != nil {
		return err
	}
	system, old := inspect.New(), inspect.New()
	old.FS = old.FS.BySmaps()
	size, err := system.FS.Statm(c.pid)
	if err != nil {
		return err
	}
	c.table.Row(fmt.Sprintf("nothing (%s, %s goroutines)", unit.Size(size.RSS), unit.Count(goroutines)), "-", "-", unit.Seconds(alone))
	if err := c.reading("a reading", system, 10); err != nil {
		return err
	}
	if err := c.reading("a reading by smaps, as before Linux 6.7", old, 5); err != nil {
		return err
	}
	target := strconv.Itoa(c.pid)
	for _, run := range []struct {
		what string
		time time.Duration
		args []string
	}{
		{"folio inspect", 0, []string{"inspect", target}},
		{"folio inspect --goroutines", 0, []string{"inspect", "--goroutines", target}},
		{"folio inspect --watch, every 2s", watch, []string{"inspect", "--watch", target}},
		{"folio leaks", 0, []string{"leaks", "--duration", watch.String(), target}},
	} {
		if err := c.command(run.what, run.time, run.args...); err != nil {
			return err
		}
	}
	return nil
}

// costs are those on one program.
type costs struct {
	ctx     context.Context
	pid     int
	folio   string
	longest func() (float64, error)
	table   *table.Table
}

// reading measures so many readings of the parts of RSS, after the first.
func (c *costs) reading(what string, system *inspect.System, n int) error {
	watcher := system.Watch(c.pid, inspect.Options{Brief: true})
	defer watcher.Close()
	var last *inspect.Process
	var took, cpus, delays []float64
	if _, err := c.longest(); err != nil {
		return err
	}
	for range n + 1 {
		begin, cpu := time.Now(), used(unix.RUSAGE_SELF)
		p, err := watcher.Read()
		if err != nil || p.Waterfall == nil {
			return fmt.Errorf("it cannot be read: %v, %q", err, p.Notes)
		}
		took, cpus, last = append(took, time.Since(begin).Seconds()), append(cpus, (used(unix.RUSAGE_SELF)-cpu).Seconds()), p
		d, err := c.longest()
		if err != nil {
			return err
		}
		delays = append(delays, d)
	}
	c.table.Row(what+": the first, which finds the runtime", unit.Seconds(took[0]), unit.Seconds(cpus[0]), unit.Seconds(delays[0]))
	c.table.Row(what, unit.Seconds(stat.Median(took[1:])), unit.Seconds(stat.Median(cpus[1:])), unit.Seconds(slices.Max(delays[1:])))
	for _, r := range last.Waterfall.Readings {
		c.table.Row("of the last: "+r.What, unit.Duration(r.To-r.From), "-", "-")
	}
	return nil
}

// command measures a command of folio, which is interrupted after a time unless that is 0.
func (c *costs) command(what string, after time.Duration, args ...string) error {
	if _, err := c.longest(); err != nil {
		return err
	}
	begin := time.Now()
	run := exec.CommandContext(c.ctx, c.folio, args...)
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	if err := run.Start(); err != nil {
		return err
	}
	if after > 0 {
		time.AfterFunc(after, func() { _ = run.Process.Signal(os.Interrupt) })
	}
	err := run.Wait()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	ran := time.Since(begin)
	d, err := c.longest()
	if err != nil {
		return err
	}
	cpu := run.ProcessState.UserTime() + run.ProcessState.SystemTime()
	usage := run.ProcessState.SysUsage().(*syscall.Rusage)
	c.table.Row(what, unit.Duration(ran), fmt.Sprintf("%s, %s of a CPU, %s peak RSS", unit.Duration(cpu), unit.Percent(cpu.Seconds()/ran.Seconds()), unit.Size(uint64(usage.Maxrss)<<10)),
		unit.Seconds(d))
	return nil
}

// quiet is the longest that the program takes for a mapping in a second in which nothing
// looks at it.
func quiet(ctx context.Context, longest func() (float64, error)) (float64, error) {
	if _, err := longest(); err != nil {
		return 0, err
	}
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return longest()
}
