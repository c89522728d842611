package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/system/cgroup"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// needLimits is for tests of programs in cgroups.
func needLimits(t *testing.T) {
	t.Helper()
	if err := tryLimits(); err != nil {
		testenv.Missing(t, "%v", err)
	}
}

func tryLimits() error {
	p, err := cgroup.Open(procmem.FS{}, cgroup.Limits{Memory: new(uint64(64 << 20)), CPUs: new(0.5)})
	return errors.Join(err, p.Close())
}

func mayLimit() bool { return tryLimits() == nil }

// groups lists the cgroups that a process made.
func (c *child) groups() (out []string) {
	c.t.Helper()
	for _, controller := range []string{"memory", "cpu"} {
		own, err := procmem.FS{}.CgroupDir(0, controller)
		if err != nil {
			c.t.Fatal(err)
		}
		found, _ := filepath.Glob(filepath.Join(own.Path, fmt.Sprintf("folio-*-%d-*", c.cmd.Process.Pid)))
		out = append(out, found...)
	}
	return out
}

func (c *child) noGroups() {
	c.t.Helper()
	if left := c.groups(); len(left) > 0 {
		c.t.Errorf("cgroups are left: %q", left)
	}
	if left := c.guards(); len(left) > 0 {
		c.t.Errorf("guards of cgroups are left: %v", left)
	}
}

// guards lists the processes that would remove the cgroups of a killed folio.
func (c *child) guards() (out []int) {
	c.t.Helper()
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil || !strings.Contains(string(data), fmt.Sprintf("\x00folio-guard\x00%d\x00", c.cmd.Process.Pid)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil {
			c.t.Fatal(err)
		}
		out = append(out, pid)
	}
	return out
}

// A result says what the limits were, and why a program was killed.
func TestLimits(t *testing.T) {
	t.Parallel()
	needLimits(t)
	limits := []string{"--cgroup-memory", "64MiB", "--cgroup-cpus", "0.5", "--json", "f.json"}
	const killed = "killed by the kernel's OOM killer: memory of the cgroup reached its limit of 64MiB (peak "
	for _, x := range []struct {
		name string
		args []string
		code int
		says []string // on standard output and error
	}{
		{"run", []string{"--full", "--", "gcprog", "-alloc", "10"}, 0,
			[]string{", limits: 64MiB, 0.5 CPUs, ", "\n  peak memory of the cgroup ", "\n  OOM kills ", "\n  throttled periods ", "\n  page cache refaults "}},
		{"run", []string{"--", "gcprog", "-alloc", "100"}, 137, []string{"Failed: Killed" + strings.TrimPrefix(killed, "killed")}},
		{"run", []string{"--count", "2", "--", "gcprog", "-alloc", "100"}, 1, []string{"Failed: All 2 runs failed: " + killed}},
		{"run", []string{"--", "gcprog", "-kill", "KILL"}, 137, []string{"Failed: Killed by SIGKILL. "}},
		{"tune", []string{"--", "gcprog", "-alloc", "100"}, 1, []string{"folio: the command failed with its default settings: " + killed,
			"; give a larger --cgroup-memory"}},
		{"ab", []string{"--rounds", "2", "--", "gcprog", "-alloc", "5", "--", "gcprog", "-alloc", "10"}, 0,
			[]string{"\nlimits: 64MiB, 0.5 CPUs\n", "\n  cgroup peak  "}},
		{"ab", []string{"--rounds", "2", "--", "gcprog", "-alloc", "5", "--", "gcprog", "-alloc", "100"}, 1, []string{killed}},
	} {
		c := newChild(t, append(append([]string{x.name}, limits...), x.args...)...)
		c.start()
		c.end(x.code)
		c.noGroups()
		for _, want := range x.says {
			text := c.stdout.String() + c.stderr.String()
			if !strings.Contains(text, want) && !strings.Contains(strings.Join(strings.Fields(text), " "), want) { // lines are wrapped
				t.Errorf("%s %q does not say %q", x.name, x.args, want)
			}
		}
		if x.code != 0 {
			continue
		}
		data, err := os.ReadFile(c.path("f.json"))
		if err != nil {
			t.Fatal(err)
		}
		var f struct {
			Program struct{ Limits map[string]float64 }
			Arms    []struct {
				Program struct{ Limits map[string]float64 }
				Samples []map[string]any
			}
		}
		if err := json.Unmarshal(data, &f); err != nil {
			t.Fatal(err)
		}
		got := f.Program.Limits
		if x.name == "ab" {
			got = f.Arms[1].Program.Limits
		}
		if len(got) != 2 || got["memory_bytes"] != 64<<20 || got["cpus"] != 0.5 {
			t.Errorf("%s: limits %v", x.name, got)
		}
		for _, s := range f.Arms[0].Samples {
			if s["cgroup_peak_bytes"] == nil || s["oom_kills"] != 0.0 || s["cpu_periods"] == nil {
				t.Errorf("%s: %v", x.name, s)
			}
		}
	}
}

// The arms of a lab are in cgroups, but for those that have their own.
func TestLabLimits(t *testing.T) {
	t.Parallel()
	needLimits(t)
	c := newChild(t, "lab", "--cgroup-memory", "256MiB", "--cgroup-cpus", "1", "--size", "8MiB", "--rounds", "1", "--json", "f.json", "madvise")
	c.start()
	c.end(0)
	c.noGroups()
	if out := c.stdout.String(); !strings.Contains(out, "\nlimits: 256MiB, 1 CPU, ") {
		t.Error("the limits are not shown")
	}
	data, err := os.ReadFile(c.path("f.json"))
	if err != nil || !strings.Contains(string(data), "has a cgroup of its own: run it without --cgroup-memory and --cgroup-cpus") {
		t.Errorf("the arms with cgroups of their own: %v", err)
	}
}

// Nothing is left however folio ends.
func TestLimitsInterrupted(t *testing.T) {
	t.Parallel()
	needLimits(t)
	limits := []string{"--cgroup-memory", "256MiB", "--cgroup-cpus", "2"}
	for _, x := range []struct {
		name    string
		args    []string
		runs    int
		signals []syscall.Signal
		code    int
	}{
		{"run", []string{"--count", "100000", "--", "gcprog", "-touch", "runs"}, 4, []syscall.Signal{unix.SIGINT}, 130},
		{"run", []string{"--count", "100000", "--", "gcprog", "-touch", "runs"}, 4, []syscall.Signal{unix.SIGTERM}, 130},
		{"run", []string{"--", "gcprog", "-touch", "runs", "-sleep", "1h", "-background"}, 1, []syscall.Signal{unix.SIGTERM}, 143},
		{"tune", []string{"--", "gcprog", "-touch", "runs"}, 4, []syscall.Signal{unix.SIGTERM}, 130},
		{"tune", []string{"--", "gcprog", "-ignore", "-background", "-touch", "runs", "-sleep", "1h"}, 1, []syscall.Signal{unix.SIGINT, unix.SIGTERM}, 130},
		{"ab", []string{"--", "gcprog", "-touch", "runs", "-sleep", "1h", "--", "gcprog"}, 1, []syscall.Signal{unix.SIGINT}, 130},
	} {
		c := newChild(t, append(append([]string{x.name}, limits...), x.args...)...)
		c.start()
		c.awaitRuns(x.runs)
		for _, s := range x.signals {
			c.signal(s)
		}
		c.end(x.code)
		c.noGroups()
	}
}

// A folio that is killed leaves no cgroup, nor what is in it: a program that made a cgroup of
// its own, and has left its parent behind. It takes no other folio for that.
func TestLimitsGuarded(t *testing.T) {
	t.Parallel()
	needLimits(t)
	for _, args := range [][]string{
		{"run", "--cgroup-memory", "256MiB", "--cgroup-cpus", "1", "--", "gcprog", "-background", "-ignore", "-touch", "runs", "-sleep", "1h"},
		{"tune", "--cgroup-memory", "256MiB", "--", "gcprog", "-touch", "runs", "-sleep", "1h"},
	} {
		c := newChild(t, args...)
		c.start()
		c.awaitRuns(1)
		groups := c.groups()
		if len(groups) == 0 || len(c.guards()) != 1 {
			t.Errorf("it has the cgroups %q and the guards %v", groups, c.guards())
		}
		for _, g := range groups {
			if err := os.Mkdir(filepath.Join(g, "below"), 0o755); err != nil {
				t.Error(err)
			}
		}
		c.signal(unix.SIGKILL)
		_ = c.cmd.Wait()
		testenv.Eventually(t, "its cgroups are gone", func() bool { return len(c.groups()) == 0 })
		testenv.Eventually(t, "all its processes are gone", func() bool { return len(processesWith(c.mark))+len(c.guards()) == 0 })
	}
}

// What folio left that was killed with its guard, the next one removes, with limits or without.
func TestLimitsKilled(t *testing.T) {
	needLimits(t)
	c := newChild(t, "run", "--cgroup-memory", "256MiB", "--", "gcprog", "-background", "-touch", "runs", "-sleep", "1h")
	c.start()
	c.awaitRuns(1)
	if len(c.groups()) == 0 {
		t.Error("it has no cgroup")
	}
	for _, pid := range c.guards() {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	c.signal(unix.SIGKILL)
	_ = c.cmd.Wait()
	next := newChild(t, "run", "--", "gcprog")
	next.start()
	next.end(0)
	next.noGroups()
	c.noGroups()
	testenv.Eventually(t, "all processes of the first are gone", func() bool { return len(processesWith(c.mark)) == 0 })
}

// The arms of GOMAXPROCS follow the quota, and what is said of it the version of Go.
func TestProcsOfQuota(t *testing.T) {
	const main = "package main\n\nfunc main() {}\n"
	now := testenv.Build{Source: map[string]string{"main.go": main, "go.mod": "module program\n\ngo 1.26\n"}}.Do(t)
	old := testenv.Build{Source: testenv.Module(main)}.Do(t)
	t.Setenv("GOMAXPROCS", "")
	t.Setenv("GODEBUG", "")
	for _, c := range []struct {
		exe   string
		cpus  float64
		have  int
		env   []string
		want  string // initial, others
		saysd string
	}{
		{now, 1.5, 16, nil, "2 [1]", "derives it from the quota of 1.5 CPUs (never below 2) and the 16 CPUs here"},
		{now, 0.5, 16, nil, "2 [1]", "GOMAXPROCS is 2 by default"},
		{now, 4, 16, nil, "4 []", "GOMAXPROCS is 4 by default"},
		{now, 4, 2, nil, "2 []", "GOMAXPROCS is 2 by default"},
		{now, 2.5, 16, nil, "3 [2]", ""},
		{old, 1.5, 16, nil, "16 [1 2]", "GOMAXPROCS is 16 by default, as this machine has 16 CPUs, whatever the quota of 1.5 CPUs: it was built with containermaxprocs=0"},
		{old, 1.5, 16, []string{"GODEBUG=containermaxprocs=1"}, "2 [1]", "derives"},
		{now, 1.5, 16, []string{"GODEBUG=containermaxprocs=0"}, "16 [1 2]", "GODEBUG has containermaxprocs=0; set GOMAXPROCS=2, or"},
		{old, 8, 2, nil, "2 []", ""},
		{now, 1.5, 16, []string{"GOMAXPROCS=4"}, "0 []", ""},
		{"/bin/sh", 1.5, 16, nil, "0 []", ""},
	} {
		p := trial.ProcsOf(c.exe, trial.Setting{Env: c.env}, &c.cpus, c.have)
		if got := fmt.Sprint(p.Initial, p.Others); got != c.want || !strings.Contains(p.Text, c.saysd) {
			t.Errorf("%v of %d CPUs, %v: %s, %q, want %s", c.cpus, c.have, c.env, got, p.Text, c.want)
		}
	}
}

// The GOMEMLIMIT that run and tune offer for a program that was killed keeps it alive.
func TestOfferedLimitLives(t *testing.T) {
	t.Parallel()
	needLimits(t)
	exe := testenv.Build{Source: testenv.HungrySource(), Env: []string{"CGO_ENABLED=0"}}.Do(t)
	input := filepath.Join(t.TempDir(), "line")
	if err := os.WriteFile(input, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	folio := func(code int, args ...string) *child {
		t.Helper()
		c := newChild(t, slices.Concat(args[:1], []string{"--cgroup-memory", "192MiB", "--input", input}, args[1:], []string{"--", exe, "70", "40", "160", "slowly"})...)
		c.cmd.Env = append(c.cmd.Env, "GOGC=off")
		c.start()
		c.end(code)
		c.noGroups()
		return c
	}
	number := func(text, before string) string {
		t.Helper()
		m := regexp.MustCompile(before + "([0-9]+MiB)").FindStringSubmatch(strings.Join(strings.Fields(text), " "))
		if m == nil {
			t.Fatalf("no number in %s", text)
		}
		return m[1]
	}
	for _, killed := range []string{"150MiB", "172MiB"} {
		text, offered := "", false
		for try := 0; try < 8 && !offered; try++ { // on a busy machine the program may be killed before it is read near the limit
			c := folio(137, "run", "--env", "GOMEMLIMIT="+killed, "--full")
			text = c.stdout.String() + c.stderr.String()
			offered = strings.Contains(strings.Join(strings.Fields(text), " "), "GOMEMLIMIT does not fit into the memory limit: the OOM killer ended the program")
		}
		if !offered {
			t.Fatalf("%s: %s", killed, text)
		}
		folio(0, "run", "--memlimit", number(text, "folio run --memlimit="))
	}
	c := folio(1, "tune")
	folio(0, "run", "--memlimit", number(c.stderr.String(), "or a default that fits: GOMEMLIMIT="))
}
