package perf

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// near reports whether got is within a fraction of want.
func near(got, want, fraction float64) bool {
	return got >= want*(1-fraction) && got <= want*(1+fraction)
}

func cpuOf(cmd *exec.Cmd) float64 {
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
}

func TestBurn(t *testing.T) {
	cmd := roleCmd("burn", "500ms")
	l, s := watch(t, Config{}, cmd)
	n := l.count(CPU, nil)
	inSpin := l.count(CPU, in("spin"))
	if n < 100 || float64(inSpin) < 0.8*float64(n) {
		t.Errorf("%d of %d samples are in spin", inSpin, n)
	}
	// spin has no frame: its caller is where it returns to.
	whole := l.count(CPU, func(s *Sample) bool {
		return len(s.User) > 2 && name(s.User[0]) == "spin" && name(s.Return-1) == "burn" && name(s.User[1]-1) == "burnRole"
	})
	if s.mode.layout == (layout{}) {
		t.Logf("return addresses cannot be had here")
	} else if float64(whole) < 0.9*float64(inSpin) {
		t.Errorf("%d of %d samples in spin return to burn, called by burnRole", whole, inSpin)
	}
	// The clock can be sampled as often as it is asked; how close the sum comes
	// depends on how often the thread changed processors, and on whether a virtual
	// machine itself was stopped.
	if got := float64(l.sum(CPU)) / 1e9; !s.Info().Hardware && !near(got, cpuOf(cmd), 0.4) {
		t.Errorf("samples of %.3f s, the process used %.3f s", got, cpuOf(cmd))
	}
	pid := cmd.Process.Pid
	if pids := l.pids(); pids[pid] != len(l.samples) {
		t.Errorf("samples by process: %v, all should be of %d", pids, pid)
	}
	want := []string{fmt.Sprintf("exec %d exe", pid), fmt.Sprintf("exit %d", pid)}
	if !slices.Equal(l.events, want) {
		t.Errorf("events %q, want %q", l.events, want)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(l.maps, func(m Mapping) bool {
		return m.Path == exe && m.PID == pid && m.Inode != 0 && contains(m, uint64(funcAddr()))
	}) {
		t.Errorf("no mapping of %s: %+v", exe, l.maps)
	}
	if s.Lost() != 0 {
		t.Errorf("%d lost", s.Lost())
	}
}

func contains(m Mapping, addr uint64) bool { return addr >= m.Addr && addr-m.Addr < m.Len }

// funcAddr returns an address in the test binary.
func funcAddr() uintptr {
	pc, _, _, _ := runtime.Caller(0)
	return pc
}

func TestFaults(t *testing.T) {
	for _, pages := range []int{1000, 50_000} {
		cmd := roleCmd("fault", fmt.Sprint(pages))
		l, s := watch(t, Config{Faults: true}, cmd)
		if !s.Info().Faults {
			testenv.Missing(t, "%s", s.Info().Reason)
		}
		usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		t.Logf("%d pages: %d by rusage, %d by the samples of %d", pages, usage.Minflt+usage.Majflt, l.sum(Fault), l.count(Fault, nil))
		// With the kernel hidden the faults that it takes itself are not seen.
		want := float64(usage.Minflt + usage.Majflt)
		if got := float64(s.Faults()); s.Info().Kernel && !near(got, want, 0.05) {
			t.Errorf("%d pages: %v faults, the process took %v", pages, got, want)
		}
		if got := float64(l.sum(Fault)); got > float64(s.Faults()) || !near(got, float64(s.Faults()), 0.02+200/want) {
			t.Errorf("%d pages: samples of %v faults, there were %v", pages, got, s.Faults())
		}
		var touched uint64
		for _, f := range l.samples {
			if f.Kind == Fault && len(f.User) > 1 && name(f.User[0]) == "touch" {
				touched += f.Period
				if f.Addr == 0 {
					t.Fatalf("a fault in touch has no address: %+v", f)
				}
			}
		}
		// Half of the time of a fault, and more, the kernel clears the page.
		inside := l.count(CPU, func(s *Sample) bool { return s.InKernel && len(s.Kernel) > 1 && in("touch")(s) })
		if pages > 10_000 && s.Info().Kernel && inside == 0 {
			t.Error("no sample is in the kernel, called from touch")
		}
		if !near(float64(touched), float64(pages), 0.1) {
			t.Errorf("%d faults in touch, want about %d", touched, pages)
		}
	}
}

func TestThreads(t *testing.T) {
	cmd := roleCmd("threads", "20", "20ms")
	l, _ := watch(t, Config{}, cmd)
	tids := map[int]int{}
	for i := range l.samples {
		if in("spin")(&l.samples[i]) {
			tids[l.samples[i].TID]++
		}
	}
	if len(tids) < 20 {
		t.Errorf("samples of %d threads, want 20", len(tids))
	}
	pid := cmd.Process.Pid
	if want := []string{fmt.Sprintf("exec %d exe", pid), fmt.Sprintf("exit %d", pid)}; !slices.Equal(l.events, want) {
		t.Errorf("events %q, want %q: threads are not processes", l.events, want)
	}
}

func TestChildren(t *testing.T) {
	const n = 40
	cmd := roleCmd("children", fmt.Sprint(n), "5ms")
	l, s := watch(t, Config{Faults: true}, cmd)
	pid := cmd.Process.Pid
	byPID := map[string][]string{}
	for i, e := range l.events {
		f := strings.Fields(e)
		byPID[f[1]] = append(byPID[f[1]], f[0])
		if f[0] == "fork" && f[2] != fmt.Sprint(pid) {
			t.Errorf("event %d: %q has another parent than %d", i, e, pid)
		}
	}
	if got := byPID[fmt.Sprint(pid)]; !slices.Equal(got, []string{"exec", "exit"}) {
		t.Errorf("the first process: %q", got)
	}
	delete(byPID, fmt.Sprint(pid))
	children := 0
	for p, got := range byPID {
		switch {
		case slices.Equal(got, []string{"fork", "exec", "exit"}):
			children++
		case !slices.Equal(got, []string{"fork", "exit"}): // Go forks once to see whether pidfds work
			t.Errorf("process %s: %q", p, got)
		}
	}
	if children != n {
		t.Errorf("%d children, want %d", children, n)
	}
	if got := len(l.pids()); got < n+1 {
		t.Errorf("samples of %d processes, want %d", got, n+1)
	}
	if s.Lost() != 0 {
		t.Errorf("%d lost", s.Lost())
	}
}

func TestExec(t *testing.T) {
	cmd := roleCmd("exec", "burn", "50ms")
	l, _ := watch(t, Config{}, cmd)
	pid := cmd.Process.Pid
	want := []string{fmt.Sprintf("exec %d exe", pid), fmt.Sprintf("exec %d exe", pid), fmt.Sprintf("exit %d", pid)}
	if !slices.Equal(l.events, want) {
		t.Fatalf("events %q, want %q", l.events, want)
	}
	before, after := l.samples[:l.at[1]], l.samples[l.at[1]:]
	if !slices.ContainsFunc(before, func(s Sample) bool { return in("execRole")(&s) }) ||
		!slices.ContainsFunc(after, func(s Sample) bool { return in("burnRole")(&s) }) {
		t.Errorf("%d samples before and %d after the exec: of the wrong programs", len(before), len(after))
	}
}

// A program whose first thread ends lives on.
func TestLeaderEndsFirst(t *testing.T) {
	cmd := roleCmd("leaderless", "100ms")
	l, _ := watch(t, Config{}, cmd)
	pid := cmd.Process.Pid
	want := []string{fmt.Sprintf("exec %d exe", pid), fmt.Sprintf("exit %d", pid)}
	if !slices.Equal(l.events, want) {
		t.Fatalf("events %q, want %q", l.events, want)
	}
	if n := l.count(CPU, in("spin")); n == 0 || l.at[1] < n {
		t.Errorf("the exit came after %d samples, %d are in spin", l.at[1], n)
	}
}

// A drain that comes too late has lost samples, and says so.
func TestLost(t *testing.T) {
	needPerf(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s, err := OpenThread(0, Config{RingBytes: os.Getpagesize(), Frequency: 4000})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := roleCmd("burn", "300ms").Run(); err != nil {
		t.Fatal(err)
	}
	l := &log{}
	if err := s.Drain(l.handler()); err != nil {
		t.Fatal(err)
	}
	check(t, l)
	if !s.mode.countLost {
		testenv.Missing(t, "Linux 6.0 counts lost records by event")
	}
	if s.Lost() == 0 || len(l.samples) == 0 {
		t.Errorf("%d samples, %d lost", len(l.samples), s.Lost())
	}
	lost := s.Lost()
	if s.Close(); s.Lost() != lost {
		t.Errorf("%d lost, after closing %d", lost, s.Lost())
	}
}

// What this process does itself is not counted.
func TestCallerIsNotCounted(t *testing.T) {
	needPerf(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s, err := OpenThread(0, Config{Faults: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	burn(20 * time.Millisecond)
	// A program that cannot be started is none.
	if err := exec.Command("/proc/self/cwd").Run(); err == nil {
		t.Fatal("a directory was started")
	}
	l := &log{}
	if err := s.Drain(l.handler()); err != nil {
		t.Fatal(err)
	}
	if len(l.samples) > 0 || len(l.events) > 0 || len(l.maps) > 0 {
		t.Errorf("%d samples, events %q, %d mappings of a process that started nothing", len(l.samples), l.events, len(l.maps))
	}
}

// outcome is what sessionRole writes.
type outcome struct {
	Info  Info
	Lost  uint64
	Error string
	CPU   int
	Fault uint64
	InRun int
}

// sessionRole samples a child and prints what it saw.
func sessionRole(args []string) error {
	runtime.LockOSThread()
	var o outcome
	s, err := OpenThread(0, Config{Faults: true})
	if err != nil {
		o.Error = err.Error()
		return json.NewEncoder(os.Stdout).Encode(o)
	}
	defer s.Close()
	if err := roleCmd(args...).Run(); err != nil {
		return err
	}
	l := &log{}
	if err := s.Drain(l.handler()); err != nil {
		return err
	}
	o.Info, o.Lost = s.Info(), s.Lost()
	o.CPU, o.InRun, o.Fault = l.count(CPU, nil), l.count(CPU, in("spin")), l.sum(Fault)
	return json.NewEncoder(os.Stdout).Encode(o)
}

func runSession(t *testing.T, change func(*exec.Cmd), args ...string) (o outcome) {
	t.Helper()
	cmd := roleCmd(append([]string{"session"}, args...)...)
	change(cmd)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &o); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	return o
}

func TestUnprivileged(t *testing.T) {
	needPerf(t)
	testenv.Root(t, "to become somebody else")
	o := runSession(t, func(cmd *exec.Cmd) {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}, "burn", "300ms")
	level, _ := paranoid()
	t.Logf("perf_event_paranoid %d: %+v", level, o)
	switch {
	case level > 2:
		if !strings.Contains(o.Error, "echo 2 > /proc/sys/kernel/perf_event_paranoid") {
			t.Errorf("the error is %q", o.Error)
		}
		return
	case o.Error != "":
		t.Fatal(o.Error)
	case level == 2:
		if o.Info.Kernel || !strings.Contains(o.Info.Reason, "perf_event_paranoid is 2: echo 1 > ") {
			t.Errorf("%+v: the kernel should be hidden, with the reason", o.Info)
		}
	case !o.Info.Kernel:
		t.Errorf("%+v: the kernel should be seen", o.Info)
	}
	if o.InRun < 100 || o.Fault == 0 || o.Lost > 0 {
		t.Errorf("%d samples in spin, %d faults, %d lost", o.InRun, o.Fault, o.Lost)
	}
}

func TestTooFewFiles(t *testing.T) {
	// Files that whoever runs the tests has left open for us count too.
	needPerf(t)
	o := runSession(t, func(cmd *exec.Cmd) {
		cmd.Args = append([]string{"sh", "-c", `exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit -n 8; exec "$0" "$@"`},
			append([]string{"/proc/" + fmt.Sprint(os.Getpid()) + "/exe"}, cmd.Args[1:]...)...)
		cmd.Path, _ = exec.LookPath("sh")
		cmd.ExtraFiles = nil
	}, "burn", "1ms")
	if runtime.NumCPU() > 1 && !strings.Contains(o.Error, "ulimit -n") {
		t.Errorf("the error is %q: it should name the limit", o.Error)
	}
}

func TestReason(t *testing.T) {
	for _, c := range []struct {
		err   error
		tid   int
		need  int
		level int
		cause Cause
		text  string
	}{
		{unix.EACCES, 0, 2, 3, Paranoid, "perf_event_paranoid is 3: echo 2 > /proc/sys/kernel/perf_event_paranoid, or run with CAP_PERFMON"},
		{unix.EACCES, 7, 2, 4, Paranoid, "perf_event_paranoid is 4: echo 2 > /proc/sys/kernel/perf_event_paranoid, or run with CAP_PERFMON"},
		{unix.EACCES, 0, 1, 2, Paranoid, "perf_event_paranoid is 2: echo 1 > /proc/sys/kernel/perf_event_paranoid, or run with CAP_PERFMON"},
		{unix.EACCES, 7, 2, 2, Foreign, procmem.New("").Denied(7, "perfmon")},
		{unix.EPERM, 0, 2, 2, Denied, "seccomp"},
		{unix.EACCES, 0, 2, 2, Denied, "SELinux"},
		{unix.ENOSYS, 0, 2, 2, Denied, "sandbox"},
		{os.NewSyscallError("perf_event_open", unix.EMFILE), 0, 2, 2, Files, "ulimit -n"},
		{unix.ENOENT, 0, 2, 2, Unsupported, "virtual machines"},
		{unix.EBADF, 0, 2, 2, Other, ""},
	} {
		cause, text := reason(c.err, c.tid, c.need, c.level, true)
		if cause != c.cause || !strings.Contains(text, c.text) {
			t.Errorf("%v at level %d: %s %q, want %s %q", c.err, c.level, cause, text, c.cause, c.text)
		}
	}
	if cause, text := reason(unix.ENOSYS, 0, 2, 0, false); cause != Unsupported || !strings.Contains(text, "CONFIG_PERF_EVENTS") {
		t.Errorf("without perf events: %s %q", cause, text)
	}
}

func TestTLBMisses(t *testing.T) {
	// Whether there are such counters cannot be known; that the answer fits can.
	_, s := watch(t, Config{}, roleCmd("fault", "50000"))
	n, ok := s.TLBMisses()
	if ok == strings.Contains(s.Info().Reason, "TLB cannot be counted") {
		t.Errorf("counted: %t; the reason is %q", ok, s.Info().Reason)
	}
	if ok != (n > 0) {
		t.Errorf("%d misses over 50,000 pages, counted: %t", n, ok)
	}
}
