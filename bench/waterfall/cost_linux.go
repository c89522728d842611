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

	"github.com/foliomem/folio/bench/internal/programs"
	"github.com/foliomem/folio/bench/internal/table"
	"github.com/foliomem/folio/internal/base/stat"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/inspect"
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
	pid := cmd.Process.Pid
	alone, err := quiet(ctx, longest)
	if err != nil {
		return err
	}
	system := inspect.New()
	watcher := system.Watch(pid, inspect.Options{Brief: true})
	defer watcher.Close()
	begin, cpu := time.Now(), used(unix.RUSAGE_SELF)
	p, err := watcher.Read()
	if err != nil || p.Waterfall == nil {
		return fmt.Errorf("it cannot be read: %v, %q", err, p.Notes)
	}
	first, firstCPU := time.Since(begin), used(unix.RUSAGE_SELF)-cpu
	if _, err := longest(); err != nil {
		return err
	}
	var took, cpus, delays []float64
	for range 10 {
		begin, cpu := time.Now(), used(unix.RUSAGE_SELF)
		if _, err := watcher.Read(); err != nil {
			return err
		}
		took, cpus = append(took, time.Since(begin).Seconds()), append(cpus, (used(unix.RUSAGE_SELF)-cpu).Seconds())
		d, err := longest()
		if err != nil {
			return err
		}
		delays = append(delays, d)
	}
	folio, err := programs.Folio(dir)
	if err != nil {
		return err
	}
	begin = time.Now()
	view := exec.CommandContext(ctx, folio, "inspect", "--watch", strconv.Itoa(pid))
	view.Cancel = func() error { return view.Process.Signal(os.Interrupt) }
	if err := view.Start(); err != nil {
		return err
	}
	time.AfterFunc(watch, func() { _ = view.Process.Signal(os.Interrupt) })
	if err := view.Wait(); err != nil {
		return err
	}
	ran := time.Since(begin)
	usage := view.ProcessState.SysUsage().(*syscall.Rusage)
	d, err := longest()
	if err != nil {
		return err
	}
	tb := table.New(os.Stdout, "what", "time", "CPU time", "longest delay of the program")
	tb.Row(fmt.Sprintf("nothing (%s, %s goroutines)", unit.Size(p.Waterfall.RSS), unit.Count(goroutines)), "-", "-", unit.Seconds(alone))
	tb.Row("the first reading, which finds the runtime", unit.Duration(first), unit.Duration(firstCPU), "-")
	tb.Row("a reading", unit.Seconds(stat.Median(took)), unit.Seconds(stat.Median(cpus)), unit.Seconds(slices.Max(delays)))
	cpu = view.ProcessState.UserTime() + view.ProcessState.SystemTime()
	tb.Row("folio inspect --watch, every 2s", unit.Duration(ran), unit.Percent(cpu.Seconds()/ran.Seconds())+" of a CPU, "+unit.Size(uint64(usage.Maxrss)<<10)+" peak RSS",
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
