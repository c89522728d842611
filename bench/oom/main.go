// Command oom measures what folio inspect --oom costs, and whether it is in time.
//
//	go run ./bench/oom [-heap 4GiB] [-goroutines 100000] [-idle 20s]
//
// A program with such a heap runs in a cgroup of which it uses 94%: near the limit, where
// the watcher looks most often. Its CPU time and memory are those while nothing happens.
// Then the program grows by a quarter of the limit a second, so that the last 5% last 200
// ms, until the kernel kills it. What was saved, and when, is listed: after the use passed
// 95%, as the watcher saw it, and before the kill.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/cgroup"
	"github.com/foliomem/folio/internal/system/procmem"
)

func main() {
	heap := flag.String("heap", "4GiB", "heap of the program")
	goroutines := flag.Int("goroutines", 100_000, "its goroutines")
	idle := flag.Duration("idle", 20*time.Second, "how long nothing happens")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, *heap, *goroutines, *idle); err != nil {
		fmt.Fprintln(os.Stderr, "oom:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, size string, goroutines int, idle time.Duration) (err error) {
	heap, err := unit.ParseSize(size)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "folio-bench-oom-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for name, pkg := range map[string]string{"folio": "./cmd/folio", "target": "./bench/oom/target"} {
		build := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, name), pkg)
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build %s: %w", pkg, err)
		}
	}
	// What the objects do not tell, the first run does: stacks, metadata, page tables.
	most := heap*3/2 + uint64(goroutines)*8<<10 + 256<<20
	parent, err := cgroup.Open(procmem.FS{}, cgroup.Limits{Memory: &most})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, parent.Close()) }()
	group, err := parent.New()
	if err != nil {
		return err
	}
	target := exec.CommandContext(ctx, "sh", "-c", "read go; exec "+filepath.Join(dir, "target")+" -heap "+strconv.FormatUint(heap>>20, 10)+" -goroutines "+strconv.Itoa(goroutines))
	target.Env = append(os.Environ(), "GOGC=off")
	in, err := target.StdinPipe()
	if err != nil {
		return err
	}
	out, err := target.StdoutPipe()
	if err != nil {
		return err
	}
	if err := target.Start(); err != nil {
		return err
	}
	defer target.Process.Kill() // ended already, unless something failed
	pid := target.Process.Pid
	if err := group.Join(pid); err != nil {
		return err
	}
	fmt.Fprintln(in)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		return fmt.Errorf("the program said %q, %w", line, err)
	}
	groups, err := procmem.FS{}.MemoryGroups(pid)
	if err != nil || len(groups) == 0 {
		return fmt.Errorf("no memory cgroup: %w", err)
	}
	m, err := groups[0].Read()
	if err != nil || m.Usage == nil {
		return fmt.Errorf("usage of the cgroup: %w", err)
	}
	limit := *m.Usage / 94 * 100
	if err := setLimit((procmem.FS{}).GroupDir(groups[0]), limit); err != nil {
		return err
	}
	var said bytes.Buffer
	watcher := exec.CommandContext(ctx, filepath.Join(dir, "folio"), "inspect", "--oom", "--save", dir, strconv.Itoa(pid))
	watcher.Stderr = &said
	if err := watcher.Start(); err != nil {
		return err
	}
	defer watcher.Process.Kill()
	select {
	case <-time.After(5 * time.Second): // it has begun
	case <-ctx.Done():
		return ctx.Err()
	}
	before, err := cpu(watcher.Process.Pid)
	if err != nil {
		return fmt.Errorf("the watcher: %w\n%s", err, &said)
	}
	select {
	case <-time.After(idle):
	case <-ctx.Done():
		return ctx.Err()
	}
	after, err := cpu(watcher.Process.Pid)
	if err != nil {
		return err
	}
	status, err := procmem.FS{}.Status(watcher.Process.Pid)
	if err != nil || status.VmRSS == nil || status.RssAnon == nil {
		return fmt.Errorf("memory of the watcher: %w", err)
	}
	fmt.Printf("program: %s, %d goroutines; limit %s, %s in use\n", unit.Size(heap), goroutines, unit.Size(limit), unit.Size(*m.Usage))
	fmt.Printf("watcher, near the limit: %.4f%% of a CPU over %s; RSS %s, %s of it its own (anonymous)\n", 100*(after-before).Seconds()/idle.Seconds(),
		unit.Seconds(idle.Seconds()), unit.Size(*status.VmRSS), unit.Size(*status.RssAnon))
	rate := limit / 4 >> 20
	fmt.Fprintln(in, rate)
	_ = target.Wait()
	killed := time.Now()
	if err := watcher.Wait(); err != nil {
		return fmt.Errorf("the watcher: %w\n%s", err, &said)
	}
	fmt.Printf("the program grew by %dMiB a second; the watcher said:\n%s", rate, &said)
	return list(dir, killed)
}

// list lists what was saved.
func list(dir string, killed time.Time) error {
	dirs, err := filepath.Glob(filepath.Join(dir, "oom-*"))
	if err != nil {
		return err
	}
	for _, d := range dirs {
		seen, err := time.Parse("20060102T150405.000Z", d[strings.LastIndexByte(d, '-')+1:])
		if err != nil {
			return err
		}
		files, err := os.ReadDir(d)
		if err != nil {
			return err
		}
		for _, f := range files {
			info, err := f.Info()
			if err != nil {
				return err
			}
			fmt.Printf("  %-24s %9s  whole %s after 95%%, %s before the kill\n", f.Name(), unit.Size(info.Size()),
				info.ModTime().Sub(seen).Round(time.Millisecond), killed.Sub(info.ModTime()).Round(time.Millisecond))
		}
	}
	if len(dirs) == 0 {
		fmt.Println("  nothing was saved")
	}
	return nil
}

// setLimit changes the limit of the cgroup, in either version.
func setLimit(dir string, limit uint64) error {
	for _, name := range []string{"memory.limit_in_bytes", "memory.max"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return os.WriteFile(filepath.Join(dir, name), []byte(strconv.FormatUint(limit, 10)), 0)
		}
	}
	return fmt.Errorf("%s has no limit", dir)
}

// cpu is the CPU time of all threads of a process.
func cpu(pid int) (sum time.Duration, err error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("process %d has ended: %w", pid, err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		ns, err := strconv.ParseInt(strings.Fields(string(data))[0], 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(ns)
	}
	return sum, nil
}
