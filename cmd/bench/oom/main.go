// Command oom measures what folio inspect --oom costs, and whether it is in time.
//
//	go run ./cmd/bench/oom [-heap 4GiB] [-goroutines 100000] [-idle 20s] [-kills 5]
//
// A program with such a heap runs in a cgroup of which it uses 94%: near the limit, where
// the watcher looks most often. Its CPU time and memory are those while nothing happens,
// before the first kill. Then the program grows by a quarter of the limit a second, so that
// the last 5% last 200 ms, until the kernel kills it. What was saved, and when, is listed:
// after the use passed 95% of the limit, which is read each millisecond, as is whether a
// process was killed.
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
	"slices"
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
	idle := flag.Duration("idle", 20*time.Second, "how long nothing happens before the first kill")
	kills := flag.Int("kills", 1, "how often it is killed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, *heap, *goroutines, *idle, *kills); err != nil {
		fmt.Fprintln(os.Stderr, "oom:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, size string, goroutines int, idle time.Duration, kills int) error {
	heap, err := unit.ParseSize(size)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "folio-bench-oom-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for name, pkg := range map[string]string{"folio": "./cmd/folio", "target": "./cmd/bench/oom/target"} {
		build := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, name), pkg)
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build %s: %w", pkg, err)
		}
	}
	var all []kill
	for range kills {
		k, err := one(ctx, dir, heap, goroutines, idle)
		if err != nil {
			return err
		}
		all = append(all, k)
		idle = 0
	}
	table(all)
	return nil
}

// A kill is when it came, and when each file was whole: after use passed 95% of the limit.
type kill struct {
	at    time.Duration
	files map[string]time.Duration // by name, without the id of the process
}

// one has the program killed once.
func one(ctx context.Context, dir string, heap uint64, goroutines int, idle time.Duration) (k kill, err error) {
	// What the objects do not tell, the first run does: stacks, metadata, page tables.
	most := heap*3/2 + uint64(goroutines)*8<<10 + 256<<20
	parent, err := cgroup.Open(procmem.FS{}, cgroup.Limits{Memory: &most})
	if err != nil {
		return k, err
	}
	defer func() { err = errors.Join(err, parent.Close()) }()
	group, err := parent.New()
	if err != nil {
		return k, err
	}
	target := exec.CommandContext(ctx, "sh", "-c", "read go; exec "+filepath.Join(dir, "target")+" -heap "+strconv.FormatUint(heap>>20, 10)+" -goroutines "+strconv.Itoa(goroutines))
	target.Env = append(os.Environ(), "GOGC=off")
	in, err := target.StdinPipe()
	if err != nil {
		return k, err
	}
	out, err := target.StdoutPipe()
	if err != nil {
		return k, err
	}
	if err := target.Start(); err != nil {
		return k, err
	}
	defer target.Process.Kill() // ended already, unless something failed
	pid := target.Process.Pid
	if err := group.Join(pid); err != nil {
		return k, err
	}
	fmt.Fprintln(in)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		return k, fmt.Errorf("the program said %q, %w", line, err)
	}
	groups, err := procmem.FS{}.MemoryGroups(pid)
	if err != nil || len(groups) == 0 {
		return k, fmt.Errorf("no memory cgroup: %w", err)
	}
	m, err := groups[0].Read()
	if err != nil || m.Usage == nil {
		return k, fmt.Errorf("usage of the cgroup: %w", err)
	}
	limit := *m.Usage / 94 * 100
	groupDir := (procmem.FS{}).GroupDir(groups[0])
	if err := setLimit(groupDir, limit); err != nil {
		return k, err
	}
	save, err := os.MkdirTemp(dir, "save-")
	if err != nil {
		return k, err
	}
	var said bytes.Buffer
	watcher := exec.CommandContext(ctx, filepath.Join(dir, "folio"), "inspect", "--oom", "--save", save, strconv.Itoa(pid))
	watcher.Stderr = &said
	if err := watcher.Start(); err != nil {
		return k, err
	}
	defer watcher.Process.Kill()
	if err := sleep(ctx, 3*time.Second); err != nil { // it has begun
		return k, err
	}
	if idle > 0 {
		fmt.Printf("program: %s, %d goroutines; limit %s, %s in use\n", unit.Size(heap), goroutines, unit.Size(limit), unit.Size(*m.Usage))
		if err := cost(ctx, watcher.Process.Pid, idle); err != nil {
			return k, fmt.Errorf("the watcher: %w\n%s", err, &said)
		}
	}
	rate := limit / 4 >> 20
	seen := make(chan moments, 1)
	go func() { seen <- watch(groupDir, limit/100*95) }()
	fmt.Fprintln(in, rate)
	_ = target.Wait()
	if err := watcher.Wait(); err != nil {
		return k, fmt.Errorf("the watcher: %w\n%s", err, &said)
	}
	when := <-seen
	if when.err != nil {
		return k, when.err
	}
	k.at = when.killed.Sub(when.passed)
	fmt.Printf("it grew by %dMiB a second, and was killed %s after use passed 95%%; the watcher said:\n%s", rate, k.at.Round(time.Millisecond), &said)
	k.files, err = list(save, when.passed)
	return k, err
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cost prints what the watcher takes while nothing happens.
func cost(ctx context.Context, pid int, idle time.Duration) error {
	before, err := cpu(pid)
	if err != nil {
		return err
	}
	if err := sleep(ctx, idle); err != nil {
		return err
	}
	after, err := cpu(pid)
	if err != nil {
		return err
	}
	status, err := procmem.FS{}.Status(pid)
	if err != nil || status.VmRSS == nil || status.RssAnon == nil {
		return fmt.Errorf("its memory: %w", err)
	}
	fmt.Printf("watcher, near the limit: %.4f%% of a CPU over %s; RSS %s, %s of it its own (anonymous)\n", 100*(after-before).Seconds()/idle.Seconds(),
		unit.Seconds(idle.Seconds()), unit.Size(*status.VmRSS), unit.Size(*status.RssAnon))
	return nil
}

// moments are when the use of a cgroup passed a bound, and when a process in it was killed.
type moments struct {
	passed, killed time.Time
	err            error
}

// watch reads a cgroup until one of its processes is killed.
func watch(dir string, bound uint64) (m moments) {
	usage, events := "memory.usage_in_bytes", "memory.oom_control"
	if _, err := os.Stat(filepath.Join(dir, usage)); err != nil {
		usage, events = "memory.current", "memory.events"
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if m.passed.IsZero() {
			b, err := os.ReadFile(filepath.Join(dir, usage))
			if err != nil {
				return moments{err: err}
			}
			if n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64); err != nil {
				return moments{err: err}
			} else if n >= bound {
				m.passed = time.Now()
			}
			continue
		}
		kills, err := procmem.ReadKeyed(filepath.Join(dir, events), "oom_kill")
		if err != nil {
			return moments{err: err}
		}
		if kills["oom_kill"] > 0 {
			m.killed = time.Now()
			return m
		}
	}
	m.err = errors.New("it was not killed within a minute")
	return m
}

// list lists what was saved.
func list(dir string, passed time.Time) (map[string]time.Duration, error) {
	files, err := filepath.Glob(filepath.Join(dir, "oom-*", "*"))
	if err != nil {
		return nil, err
	}
	all := make(map[string]time.Duration)
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			return nil, err
		}
		after := info.ModTime().Sub(passed)
		fmt.Printf("  %-28s %9s  %s after 95%%\n", filepath.Base(f), unit.Size(info.Size()), after.Round(time.Millisecond))
		name := filepath.Base(f)
		if pid, rest, ok := strings.Cut(name, "."); ok && strings.Trim(pid, "0123456789") == "" {
			name = "PID." + rest
		}
		if had, ok := all[name]; !ok || after < had {
			all[name] = after
		}
	}
	return all, nil
}

// table prints in how many kills each file was there, and when.
func table(all []kill) {
	var at []time.Duration
	files := make(map[string][]time.Duration)
	for _, k := range all {
		at = append(at, k.at)
		for name, after := range k.files {
			files[name] = append(files[name], after)
		}
	}
	fmt.Printf("\n%d kills; after use passed 95%% of the limit, in ms: median (least to most)\n", len(all))
	show := func(name string, d []time.Duration) {
		slices.Sort(d)
		fmt.Printf("| %-22s | %d of %d | %d (%d to %d) |\n", name, len(d), len(all), d[len(d)/2].Milliseconds(), d[0].Milliseconds(), d[len(d)-1].Milliseconds())
	}
	names := make([]string, 0, len(files))
	for name, d := range files {
		slices.Sort(d)
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return int(files[a][len(files[a])/2] - files[b][len(files[b])/2]) })
	for _, name := range names {
		show(name, files[name])
	}
	show("the kill", at)
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
