package trial

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/process/charge"
	"github.com/foliomem/folio/internal/system/cgroup"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// limited returns where cgroups with limits are made; 0 is for no limit.
func limited(t *testing.T, memory uint64, cpus float64) *cgroup.Parent {
	t.Helper()
	p, err := limits(memory, cpus)
	if err != nil {
		testenv.Missing(t, "%v", err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		checkNoGroups(t, os.Getpid())
	})
	return p
}

func limits(memory uint64, cpus float64) (*cgroup.Parent, error) {
	var l cgroup.Limits
	if memory > 0 {
		l.Memory = &memory
	}
	if cpus > 0 {
		l.CPUs = &cpus
	}
	return cgroup.Open(procmem.FS{}, l)
}

// groupsOf lists the cgroups that a process made.
func groupsOf(t *testing.T, pid int) (out []string) {
	t.Helper()
	for _, controller := range []string{"memory", "cpu"} {
		own, err := procmem.FS{}.CgroupDir(0, controller)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range append([]string{own.Path}, own.Above...) {
			found, _ := filepath.Glob(filepath.Join(dir, fmt.Sprintf("folio-*-%d-*", pid)))
			out = append(out, found...)
		}
	}
	return out
}

func checkNoGroups(t *testing.T, pid int) {
	t.Helper()
	if left := groupsOf(t, pid); len(left) > 0 {
		t.Errorf("cgroups are left: %q", left)
	}
}

const outOf64 = "killed by the kernel's OOM killer: memory of the cgroup reached its limit of 64MiB (peak "

// What passes the memory limit is killed, and said to be.
func TestMemoryLimit(t *testing.T) {
	parent := limited(t, 64*mib, 0)
	for name, p := range map[string]*subject{
		"the program": role("touch", "100", "0"),
		"a child":     shell(roleLine("touch", "100", "0") + "; true"), // version 1 kills it alone
		"its failure": {Program: Program{Command: []string{"sh", "-c", roleLine("touch", "100", "0")}, Env: roleEnviron(), IgnoreExit: true}},
	} {
		p.Cgroups = parent
		s := run(t, p, Setting{})
		if !strings.HasPrefix(s.Failure, outOf64) || !s.OutOfMemory() || s.OverMemory || s.TimedOut {
			t.Errorf("%s: %+v", name, s)
		}
		// What is being killed may pass the limit a little, to end the sooner.
		if peak, ok := value(s.CgroupPeak); !ok || peak < 62*mib || peak > 80*mib {
			t.Errorf("%s: peak %v", name, peak)
		}
		// There is no quota to count by.
		if s.CPUPeriods != nil || s.ThrottledPeriods != nil || s.Throttled != nil {
			t.Errorf("%s: %+v", name, s)
		}
		checkNoGroups(t, os.Getpid())
	}
	if s := run(t, withGroup(role("touch", "100", "0"), parent), Setting{}); s.Signal != "SIGKILL" || s.ExitCode != nil {
		t.Errorf("%+v", s)
	}
	// What is killed by somebody else is not.
	for script, want := range map[string]string{"kill -KILL $$": "killed by SIGKILL", "exit 3": "exit code 3", ":": ""} {
		s := run(t, withGroup(shell(script), parent), Setting{})
		if s.Failure != want || s.OOMKills == nil || *s.OOMKills != 0 || s.OutOfMemory() {
			t.Errorf("%s: %+v", script, s)
		}
	}
	if s := run(t, shell("kill -KILL $$"), Setting{}); !strings.HasPrefix(s.Failure, "killed by SIGKILL") || s.Counts != nil {
		t.Errorf("without limits: %+v", s)
	}
}

func withGroup(p *subject, parent *cgroup.Parent) *subject {
	p.Cgroups = parent
	return p
}

// A busy loop runs out of its quota: of one that no machine is too busy to give it.
func TestQuota(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	s := runOK(t, withGroup(role("burn", "50"), limited(t, 0, 0.05)), Setting{})
	if s.CPUPeriods == nil || s.ThrottledPeriods == nil || s.Throttled == nil {
		t.Fatalf("not known: %+v", s)
	}
	if *s.ThrottledPeriods == 0 || *s.ThrottledPeriods > *s.CPUPeriods || *s.Throttled <= 0 {
		t.Errorf("throttled in %d of %d periods, for %v s", *s.ThrottledPeriods, *s.CPUPeriods, *s.Throttled)
	}
	if s.CgroupPeak != nil || s.OOMKills != nil || s.FileRefaults != nil || s.AnonRefaults != nil || s.MemoryStall != nil {
		t.Errorf("of memory, without a limit: %+v", s)
	}
}

// The whole program is in its cgroup, and all its memory, in every way to start it.
func TestAllIsInside(t *testing.T) {
	parent := limited(t, 512*mib, 2)
	const where = "cat /proc/self/cgroup; "
	for _, fork := range []bool{false, true} {
		for _, set := range []Setting{{}, {THP: THPOff}} {
			forkOnly = fork
			defer func() { forkOnly = false }()
			var out bytes.Buffer
			file := filepath.Join(t.TempDir(), "printed") // the orphan may be ended afterwards, not before
			p := withGroup(shell(where+"sh -c '"+where+"' & wait; (setsid sh -c '"+where+"echo >"+file+"' &); while [ ! -e "+file+" ]; do sleep 0.01; done; sh -c 'exec "+
				strings.ReplaceAll(roleLine("charged", "50"), "'", `'\''`)+"'"), parent)
			p.Stdout = &out
			s := runOK(t, p, set)
			checkNoGroups(t, os.Getpid())
			inside, charged := 0, uint64(0)
			for line := range strings.Lines(out.String()) {
				if strings.Contains(line, "/folio-") {
					inside++
				}
				if text, ok := strings.CutPrefix(line, "anonymous "); ok {
					charged, _ = strconv.ParseUint(strings.TrimSpace(text), 10, 64)
				}
			}
			groups := 1 // in version 2 one has both limits
			if own, _ := (procmem.FS{}).CgroupDir(0, "memory"); !own.Unified {
				groups = 2
			}
			if inside != 3*groups {
				t.Errorf("fork %v: %d lines of %q are of cgroups, want %d", fork, inside, &out, 3*groups)
			}
			if charged < 50*mib || s.CgroupPeak == nil || *s.CgroupPeak < charged {
				t.Errorf("fork %v: the cgroup had at most %v, the program %d", fork, s.CgroupPeak, charged)
			}
		}
	}
}

// Memory is charged also where the program is stopped at its exec.
func TestLimitsOfTracedProgram(t *testing.T) {
	p := withGroup(role("charged", "50"), limited(t, 512*mib, 0))
	if err := p.MayHeap(); err != nil {
		testenv.Missing(t, "%v", err)
	}
	s := runOK(t, p, Setting{THP: THPHeap})
	if s.CgroupPeak == nil || *s.CgroupPeak < 50*mib {
		t.Errorf("%+v", s)
	}
}

// Of a server only the server is inside; what is counted is of the load, but for peaks.
func TestServerInside(t *testing.T) {
	parent := limited(t, 512*mib, 1)
	file := marker(t)
	p := withGroup(server(t, 5, "touch=50"), parent)
	p.Server.Load = "cat /proc/self/cgroup >" + Quote(file) + "; " + p.Server.Load
	s := run(t, p, Setting{})
	if !s.OK() || s.CgroupPeak == nil || *s.CgroupPeak < 50*mib || s.CPUPeriods == nil || s.FileRefaults == nil {
		t.Errorf("%+v", s)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, fmt.Sprintf("-%d-", os.Getpid())) && !strings.HasSuffix(line, "-self\n") {
			t.Errorf("the load generator is in %s", line)
		}
	}
	p = withGroup(server(t, 5, "touch=100"), limited(t, 64*mib, 0))
	if s := run(t, p, Setting{}); !strings.HasPrefix(s.Failure, outOf64) {
		t.Errorf("%+v", s)
	}
}

// However a trial ends, its cgroup does, too.
func TestNoGroupIsLeft(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	parent := limited(t, 512*mib, 2)
	p := withGroup(shell("echo ready; setsid sleep 1000 & sleep 1000"), parent)
	if _, err := runUntil(t, p); err == nil {
		t.Error("it was not canceled")
	}
	checkNoGroups(t, os.Getpid())
	p = withGroup(shell("sleep 1000"), parent)
	p.Timeout = 1
	if s := run(t, p, Setting{}); !s.TimedOut {
		t.Errorf("%+v", s)
	}
	checkNoGroups(t, os.Getpid())
	p = withGroup(&subject{Program: Program{Command: []string{marker(t)}}}, parent)
	if err := os.WriteFile(p.Command[0], []byte("#!/no/such/shell\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(t.Context(), Setting{}); err == nil {
		t.Error("it was started")
	} else if start, ok := errors.AsType[*StartError](err); !ok {
		t.Error(err, start)
	}
	checkNoGroups(t, os.Getpid())
	if err := parent.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := withGroup(shell(":"), parent).Run(t.Context(), Setting{}); err == nil {
		t.Error("a trial without a parent")
	}
	checkNoneLeft(t)
}

// A panic ends the program and its cgroup; what SIGKILL leaves, the next folio sweeps.
func TestGroupsOfDeadFolio(t *testing.T) {
	limited(t, 512*mib, 2) // or there is nothing to test
	if err := becomeReaper(); err != nil {
		t.Fatal(err)
	}
	cmd := roleCmd("folio", "panic", "limited")
	var out bytes.Buffer
	cmd.Stderr = &out
	if err := cmd.Run(); err == nil || !strings.Contains(out.String(), "panic: the writer is broken") {
		t.Errorf("%v, output %s", err, &out)
	}
	checkNoGroups(t, cmd.Process.Pid)
	EndAll()

	cmd = roleCmd("folio", "sleep", "limited")
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := drain(bufio.NewReader(pipe), "pid "); err != nil {
		t.Fatal(err)
	}
	if len(groupsOf(t, cmd.Process.Pid)) == 0 {
		t.Error("it has no cgroup")
	}
	cgroup.Sweep(procmem.FS{})
	if len(groupsOf(t, cmd.Process.Pid)) == 0 {
		t.Error("that of a living folio was swept")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	cgroup.Sweep(procmem.FS{})
	checkNoGroups(t, cmd.Process.Pid)
	testenv.Eventually(t, "the program ends", func() bool { return len(livingBelow(t)) == 0 })
	EndAll()
	checkNoneLeft(t)
}

// What a killed program was charged for is said: tmpfs stays charged when it has ended.
func TestChargedBeforeKill(t *testing.T) {
	parent := limited(t, 64*mib, 0)
	dir, err := os.MkdirTemp("/dev/shm", "folio-test-")
	if err != nil {
		testenv.Missing(t, "%v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := run(t, withGroup(shell("head -c 100m /dev/zero > "+filepath.Join(dir, "file")), parent), Setting{})
	if !strings.HasPrefix(s.Failure, outOf64) || !strings.Contains(s.Charged, " were charged when last read: tmpfs and shared memory ") ||
		!strings.Contains(s.Charged, " of tmpfs and shared memory are still charged, and no process is left that maps them (df -t tmpfs)") {
		t.Errorf("%q, %q", s.Failure, s.Charged)
	}
	if s := run(t, withGroup(shell(":"), parent), Setting{}); s.Charged != "" {
		t.Errorf("of a program that was not killed: %q", s.Charged)
	}
}

// The reading that is nearest to the limit is kept, from half of it on.
func TestChargeReader(t *testing.T) {
	dir := t.TempDir()
	set := func(usage int, stat string) {
		t.Helper()
		for name, text := range map[string]string{"memory.current": fmt.Sprintln(usage * mib), "memory.stat": stat} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	set(0, "anon 0\n")
	g, err := charge.At(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := &chargeReader{source: &charge.Source{FS: procmem.FS{}, Group: g}, least: 100 * mib}
	if text := c.text(); text != "" {
		t.Errorf("%q of an empty cgroup", text)
	}
	for _, usage := range []int{99, 150, 199, 120} { // it is killed
		set(usage, fmt.Sprintf("anon %d\nfile %d\nshmem %d\nkernel 0\n", (usage-60)*mib, 60*mib, 60*mib))
		c.look()
	}
	set(61, fmt.Sprintf("anon 0\nfile %d\nshmem %d\nkernel 0\n", 60*mib, 60*mib))
	want := "199.0MiB were charged when last read: anonymous memory 139.0MiB, tmpfs and shared memory 60.00MiB; 60.00MiB of tmpfs and shared memory are still charged, " +
		"and no process is left that maps them (df -t tmpfs)"
	if text := c.text(); text != want {
		t.Errorf("%q\nwant %q", text, want)
	}
}
