package thrash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/cmd/internal/process/memlimit"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

var tight = "GOMEMLIMIT=" + strconv.Itoa(liveHeap)

// A program whose live heap exceeds its limit is said once, with evidence, and nothing is done to it.
func TestEvidence(t *testing.T) {
	s := start(t, tight)
	g := guard(t, s.opened(t), Then{})
	g.until(t, "saved ")
	for range 3 * fewest {
		if ended, err := g.look(t.Context(), time.Now()); ended || err != nil {
			t.Fatal(ended, err)
		}
	}
	pid := s.cmd.Process.Pid
	want := fmt.Sprintf(`^process %d \(.*\): effective GOGC 0\.0, below 10 for \S+s \(since \d\d:\d\d:\d\d\), because of GOMEMLIMIT=32MiB \(environment\): live heap \d\d\.\d\dMiB(, GC \d+(\.\d+)?%% of its CPU time)?: saved summary, .*waterfall.* in \S+\n(not saved: .*\n)*$`, pid)
	if text := g.errs.String(); !regexp.MustCompile(want).MatchString(text) {
		t.Errorf("%q", text)
	}
	dir := strings.TrimSuffix(g.out.String(), "\n")
	if all, err := os.ReadDir(g.Evidence.Save); err != nil || len(all) != 1 || filepath.Join(g.Evidence.Save, all[0].Name()) != dir {
		t.Fatalf("%v, %v; %q was said", all, err, dir)
	}
	for name, text := range map[string]string{"summary.txt": "effective GOGC 0.0, below 10", "saved.txt": "summary.txt", fmt.Sprintf("%d.json", pid): `"Waterfall"`,
		fmt.Sprintf("%d.goroutines.txt", pid): "thrash.crowded"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(data), text) {
			t.Errorf("%s: %.300q, %v", name, data, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.heap.pb.gz", pid))); err == nil {
		if p, err := profile.ParseData(data); err != nil || len(p.Sample) == 0 {
			t.Errorf("heap profile: %v", err)
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if n := s.memlimit(t); n != liveHeap {
		t.Errorf("GOMEMLIMIT=%d now", n)
	}
}

// A limit is raised by the bound in all, and the program has what is said. It stays.
func TestRaise(t *testing.T) {
	s := start(t, tight)
	g := guard(t, s.opened(t), Then{Bytes: 1 << 20})
	g.FS = g.contained(t, 1000, 0)
	g.until(t, ": GOMEMLIMIT=32MiB -> 33MiB\n") // which is too little
	g.until(t, ": GOMEMLIMIT=33MiB is not raised again: it was by 1MiB (--then raise=1MiB)\n")
	if n := s.memlimit(t); n != liveHeap+1<<20 {
		t.Errorf("GOMEMLIMIT=%d now", n)
	}
	if st, err := g.State(); err != nil || st.LimitBy != "folio set" || st.Percent != 100 {
		t.Errorf("%+v, %v", st, err)
	}
	if n := strings.Count(g.out.String(), "\n"); n != 2 {
		t.Errorf("%d saves", n)
	}
	g.close()
	if n := s.memlimit(t); n != liveHeap+1<<20 {
		t.Errorf("GOMEMLIMIT=%d after the watch", n)
	}
}

// A limit that is raised far enough ends it, and nobody is kept from changing the process.
func TestRaiseHelps(t *testing.T) {
	s := start(t, tight)
	g := guard(t, s.opened(t), Then{Percent: 300})
	g.FS = g.contained(t, 1000, 0)
	other := s.opened(t)
	if err := other.Hold(); err != nil {
		t.Fatal(err)
	}
	g.until(t, "its settings are held by another folio set, a folio tune --attach or folio-agent: wait until that ends, or stop it: GOMEMLIMIT was not raised\n")
	if err := other.Release(); err != nil {
		t.Fatal(err)
	}
	g.reset()
	g.until(t, ": GOMEMLIMIT=32MiB -> 128MiB\n")
	if n := s.memlimit(t); n != 4*liveHeap {
		t.Errorf("GOMEMLIMIT=%d now", n)
	}
	for range 20 {
		if _, err := g.look(t.Context(), time.Now()); err != nil || !g.since.IsZero() && g.told {
			t.Fatal(g.judge, err)
		}
	}
	if err := other.Hold(); err != nil {
		t.Errorf("the process is held: %v", err)
	}
}

// contained makes a system in which the process is in a cgroup, with a limit and what is charged to it
// outside the runtime, in MiB.
func (g *guarded) contained(t *testing.T, limit, outside int) procmem.FS {
	t.Helper()
	root, pid := t.TempDir(), g.PID
	st, err := (procmem.FS{}).Status(pid)
	if err != nil {
		t.Fatal(err)
	}
	heap, err := g.Heap()
	if err != nil {
		t.Fatal(err)
	}
	anon := strconv.FormatUint(memlimit.OfState(pid, "", heap, *st.RssAnon).Resident+uint64(outside)<<20, 10)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		fmt.Sprintf("proc/%d/status", pid): string(status),
		fmt.Sprintf("proc/%d/cgroup", pid): "0::/job\n",
		"proc/self/mountinfo":              "30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n",
		"proc/meminfo":                     "MemTotal: 1073741824 kB\nMemAvailable: 1048576 kB\n",
		"sys/fs/cgroup/job/cgroup.procs":   strconv.Itoa(pid) + "\n",
		"sys/fs/cgroup/job/memory.max":     strconv.Itoa(limit<<20) + "\n",
		"sys/fs/cgroup/job/memory.current": anon + "\n",
		"sys/fs/cgroup/job/memory.stat":    "anon " + anon + "\nfile 0\nshmem 0\nkernel 0\n",
	} {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return procmem.New(root)
}

// A limit is raised to what fits into the container, and one that is there already is said with
// the numbers. The machine is a container where there is no other.
func TestRaiseContained(t *testing.T) {
	s := start(t, tight)
	g := guard(t, s.opened(t), Then{Bytes: 1 << 30})
	g.FS = g.contained(t, 400, 300) // less a margin of 20 MiB
	g.until(t, " -> ")
	n := s.memlimit(t)
	// What is counted of the runtime and not in its memory yet makes a small difference.
	if n <= liveHeap || n > 90<<20 || n&(1<<20-1) != 0 || !strings.Contains(g.errs.String(), fmt.Sprintf(": GOMEMLIMIT=32MiB -> %dMiB\n", n>>20)) {
		t.Fatalf("GOMEMLIMIT=%d now; %s", n, g.errs.String())
	}
	g.FS = g.contained(t, 400, 370)
	if _, after, err := g.tryRaise(); err != nil || after != uint64(n) {
		t.Errorf("%d, %v", after, err)
	}
	want := regexp.MustCompile(fmt.Sprintf(`: GOMEMLIMIT=%dMiB cannot be raised: \S+MiB fit into /sys/fs/cgroup/job: No limit helps: \S+MiB of 400\.0MiB are elsewhere`, n>>20))
	if !want.MatchString(g.errs.String()) || s.memlimit(t) != n {
		t.Errorf("%s; GOMEMLIMIT=%d", g.errs.String(), s.memlimit(t))
	}
	if err := os.Remove(g.FS.Path("/sys/fs/cgroup/job/memory.max")); err != nil {
		t.Fatal(err)
	}
	f, err := g.fit()
	if err != nil || f.Level != "the machine" || f.Limit != 1<<40 || f.Fits > 1<<30 || f.Outside > 1<<40-1<<30 {
		t.Errorf("%+v, %v", f, err)
	}
}

// TERM reaches the program, whose end is said.
func TestTerm(t *testing.T) {
	s := start(t, tight)
	g := guard(t, s.opened(t), Then{Term: true})
	g.until(t, ": sent TERM\n")
	if got := s.ask(""); got != "term" {
		t.Errorf("it says %q", got)
	}
	_ = s.cmd.Wait()
	g.until(t, fmt.Sprintf("process %d (%s) has ended\n", g.PID, g.Name))
	if err := g.term(); err != nil || !strings.Contains(g.errs.String(), ": TERM was not sent: ") {
		t.Errorf("%v, %s", err, g.errs.String())
	}
}

// Another program that the process begins is not watched, nor changed.
func TestExec(t *testing.T) {
	s := start(t, tight)
	g := guard(t, s.opened(t), Then{Term: true})
	if got := s.ask("exec"); got != "ready" {
		t.Fatal(got)
	}
	if ended, err := g.look(t.Context(), time.Now()); !ended || err != nil {
		t.Error(ended, err)
	}
	if text, want := g.errs.String(), fmt.Sprintf("process %d (%s) began another program: readings end there\n", g.PID, g.Name); text != want {
		t.Errorf("%q, want %q", text, want)
	}
	if n := s.memlimit(t); n != liveHeap {
		t.Errorf("GOMEMLIMIT=%d", n)
	}
}

// Nothing is done where GOGC itself is low, whatever the limit is, nor where a limit leaves room.
func TestNothing(t *testing.T) {
	for _, env := range [][]string{{"GOGC=5", tight}, {"GOGC=100", "GOMEMLIMIT=1GiB"}, {"GOGC=5"}} {
		s := start(t, env...)
		g := guard(t, s.opened(t), Then{Term: true})
		for range 10 * fewest {
			time.Sleep(g.Options.Every)
			if ended, err := g.look(t.Context(), time.Now()); ended || err != nil || !g.since.IsZero() {
				t.Fatalf("%q: %+v, %v, %v", env, g.judge, ended, err)
			}
		}
		if text := g.out.String() + g.errs.String(); text != "" {
			t.Errorf("%q: %s", env, text)
		}
	}
}

// Watch watches several until each has ended, or it is interrupted.
func TestWatch(t *testing.T) {
	a, b := start(t, tight), start(t, "GOGC=5", tight)
	g := &guarded{}
	o := g.options(t, Then{Term: true})
	all := []*livegc.Process{a.opened(t), b.opened(t)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Watch(ctx, all, o) }()
	if got := a.ask(""); got != "term" {
		t.Errorf("it says %q", got)
	}
	_ = a.cmd.Wait()
	said := func(text string) {
		t.Helper()
		if !testenv.Within(func() bool { return strings.Contains(g.errs.String(), text) }) {
			t.Fatalf("%q is not said: %s", text, g.errs.String())
		}
	}
	said(fmt.Sprintf("process %d (%s): GOGC=5 (environment), GOMEMLIMIT=32MiB (environment)\n", all[1].PID, all[1].Name))
	said("watching: where GOMEMLIMIT keeps the effective GOGC below 10 for 50ms, saves evidence in " + o.Evidence.Save + ", then sends TERM\n")
	said(fmt.Sprintf("process %d (%s) has ended\n", all[0].PID, all[0].Name))
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := strings.Count(g.out.String(), "\n"); n != 1 {
		t.Errorf("%d saves", n)
	}
	if n := b.memlimit(t); n != liveHeap {
		t.Errorf("GOMEMLIMIT=%d", n)
	}
	before := g.errs.String()
	go func() { done <- Watch(t.Context(), all[1:], o) }()
	testenv.Eventually(t, "it watches", func() bool { return strings.HasSuffix(g.errs.String()[len(before):], ", then sends TERM\n") })
	if err := unix.Kill(all[1].PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = b.cmd.Wait()
	if err := <-done; err != nil || !strings.HasSuffix(g.errs.String(), fmt.Sprintf("process %d (%s) has ended\n", all[1].PID, all[1].Name)) {
		t.Error(err, g.errs.String())
	}
	o.Evidence.Save = "/proc/none"
	if err := Watch(t.Context(), []*livegc.Process{start(t).opened(t)}, o); err == nil || !strings.HasPrefix(err.Error(), "--save: ") {
		t.Errorf("error %v", err)
	}
}
