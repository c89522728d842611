package trial

import (
	"bufio"
	"cmp"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// roleParent (how, n, own) starts itself with a standard error or an environment that
// hides the trace, or not, for a child that collects n times, and then collects itself.
func roleParent(words []string) error {
	if words[0] == "child" {
		collect(number(words, 1))
		return nil
	}
	cmd := roleCmd("parent", "child", words[1], "0")
	switch words[0] {
	case "hide":
	case "unasked":
		cmd.Env, cmd.Stderr = setenv(cmd.Env, "GODEBUG="), os.Stderr
	default:
		cmd.Stderr = os.Stderr
	}
	if err := cmd.Run(); err != nil {
		return err
	}
	collect(number(words, 2))
	return nil
}

// collect runs n GC cycles and returns when the last has been reported: what stops
// the world waits for that.
func collect(n int) {
	for range n {
		runtime.GC()
	}
	runtime.ReadMemStats(new(runtime.MemStats))
}

type object struct{ left, right *object }

func objects(depth int) *object {
	if depth == 0 {
		return &object{}
	}
	return &object{objects(depth - 1), objects(depth - 1)}
}

// roleObjects (MiB, rounds) holds so much memory in small objects, and replaces all of
// them so many times.
func roleObjects(words []string) error {
	const depth, each = 14, 16 << 15
	held := make([]*object, number(words, 0)<<20/each)
	for range 1 + number(words, 1) {
		for i := range held {
			held[i] = objects(depth)
		}
	}
	fmt.Println(len(held))
	return nil
}

// Beside busy loops, GC workers wait for a CPU, and gctrace counts that: more than the
// program's CPU time, at times. No share may be above 100%, and none above its whole.
// FOLIO_TEST_OBJECTS is how many MiB the program holds: 2048 shows it best.
func TestSharesBesideBusyLoops(t *testing.T) {
	testenv.Long(t)
	needSampling(t)
	size := cmp.Or(os.Getenv("FOLIO_TEST_OBJECTS"), "64")
	for range 2 {
		busy := roleCmd("burn", "600000")
		if err := busy.Start(); err != nil {
			t.Fatal(err)
		}
		defer busy.Wait()
		defer busy.Process.Kill()
	}
	p := role("objects", size, "3")
	p.Trace, p.Profile = true, testRate
	for _, gogc := range []string{"25", ""} {
		s, err := p.Run(t.Context(), Setting{GOGC: gogc})
		if err != nil || !s.OK() {
			t.Fatal(err, s)
		}
		checkSample(t, s) // the invariants
		checkWhere(t, s)
		if s.GCTrace != TraceComplete || s.GCCycles == nil || *s.GCCycles == 0 || s.GCShare == nil || *s.GCShare == 0 {
			t.Errorf("GOGC=%q: trace %q, %v cycles, GC share %v", gogc, s.GCTrace, orNone(s.GCCycles), s.GCShare)
		}
		sheet := []*Sample{s, s}
		gc, _ := FigureOf("gc_cpu_fraction").Center(sheet)
		tax, _ := FigureOf("memory_tax_fraction").Center(sheet)
		if !(gc <= tax && tax <= 1) {
			t.Errorf("together: GC share %v, memory tax %v", gc, tax)
		}
		t.Logf("GOGC=%q: GC share %.3f, memory tax %.3f; gctrace: %.3f of CPU time", gogc, *s.GCShare, *s.MemoryTax, *s.GCTraceCPU/s.CPU)
	}
}

// roleListen says where it listens, and waits for a signal to end it.
func roleListen([]string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, unix.SIGTERM)
	fmt.Println("ready", l.Addr())
	<-asked
	return nil
}

// A program whose children throw their standard error away has GC cycles that nobody
// saw. That is not zero, nor are the parent's all.
func TestHiddenCollectionsAreNotDenied(t *testing.T) {
	testenv.Long(t)
	if testenv.Apart(t) {
		return
	}
	for _, profile := range []int{0, testRate} {
		if profile > 0 {
			needSampling(t)
		}
		for _, how := range []string{"hide", "unasked"} {
			for _, own := range []int{0, 3} {
				p := role("parent", how, "20", fmt.Sprint(own))
				p.Trace, p.Profile = true, profile
				s := runOK(t, p, Setting{GOGC: Off})
				switch {
				case s.Processes != 2:
					t.Errorf("%s, sampling %d: %d processes", how, profile, s.Processes)
				case s.GCTrace != TracePartial:
					t.Errorf("%s, own %d, sampling %d: the trace is %q", how, own, profile, s.GCTrace)
				case own == 0 && s.GCCycles != nil:
					t.Errorf("%s, sampling %d: %d GC cycles, where nobody saw the 20 of the child", how, profile, *s.GCCycles)
				case own > 0 && (s.GCCycles == nil || *s.GCCycles != own):
					t.Errorf("%s, sampling %d: %v GC cycles, %d were seen", how, profile, orNone(s.GCCycles), own)
				}
			}
		}
	}
}

// Of a single Go program that folio can hear, without a line there was no cycle.
func TestZeroIsKnownOfASingleProgram(t *testing.T) {
	p := role("touch", "0", "0")
	p.Trace = true
	if s := runOK(t, p, Setting{GOGC: Off}); s.GCTrace != TraceComplete || s.GCCycles == nil || *s.GCCycles != 0 || s.Processes != 1 {
		t.Errorf("%q, %v GC cycles", s.GCTrace, orNone(s.GCCycles))
	}
	p = role("parent", "child", "7", "0")
	p.Trace = true
	if s := runOK(t, p, Setting{GOGC: Off}); s.GCTrace != TraceComplete || s.GCCycles == nil || *s.GCCycles != 7 {
		t.Errorf("%q, %v GC cycles of 7", s.GCTrace, orNone(s.GCCycles))
	}
}

// watched starts a command that stays until the end of the test, with its standard
// error at w, and waits until it is its own program.
func watched(t *testing.T, w *os.File, env []string, command ...string) int {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env, cmd.Stderr = env, w
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil { // which a shell waits for
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if _, err := drain(bufio.NewReader(out), "ready"); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func TestWitness(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	asked, unasked := roleEnviron("GODEBUG=gctrace=1"), roleEnviron("GODEBUG=gctrace=0")
	goProgram, script := []string{self(), "listen"}, []string{"sh", "-c", "echo ready; read line"}
	heard := watched(t, w, asked, goProgram...)
	deaf := watched(t, null, asked, goProgram...)
	silent := watched(t, w, unasked, goProgram...)
	shell := watched(t, null, asked, script...)

	inode := func(pid int) uint64 {
		info, err := os.Stat(procmem.FS{}.ExePath(pid))
		if err != nil {
			t.Fatal(err)
		}
		return inodeOf(info)
	}
	at := func(pid int) execution { return execution{pid, inode(pid)} }
	gone := execution{1 << 30, inode(shell)}   // a shell that nobody looked at
	goneGo := execution{1 << 30, inode(heard)} // a Go program, likewise
	lost := execution{1 << 30, 1 << 60}        // a program whose file is gone
	for _, c := range []struct {
		name            string
		root            int
		rootIsGo        bool
		looked          []int
		execs           []execution
		childless, told bool
		want            TraceState
	}{
		{"one Go program", heard, true, []int{heard}, []execution{at(heard)}, true, true, TraceComplete},
		{"one Go program, not sampled", heard, true, []int{heard}, nil, true, false, TraceComplete},
		{"one Go program that nobody looked at", heard, true, nil, nil, true, false, TraceComplete},
		{"one that turned its standard error away", deaf, true, []int{deaf}, []execution{at(deaf)}, true, true, TracePartial},
		{"a Go program by way of a shell's exec", heard, false, nil, []execution{{heard, inode(shell)}, at(heard)}, true, true, TraceComplete},
		{"one shell", shell, false, []int{shell}, []execution{at(shell)}, true, true, ""},
		{"a child that is heard", shell, false, []int{shell, heard}, []execution{at(shell), at(heard)}, false, true, TraceComplete},
		{"a child that is heard, not sampled", shell, false, []int{shell, heard}, nil, false, false, TracePartial},
		{"a child that is not heard", heard, true, []int{heard, deaf}, []execution{at(heard), at(deaf)}, false, true, TracePartial},
		{"a child that was not asked", heard, true, []int{heard, silent}, []execution{at(heard), at(silent)}, false, true, TracePartial},
		{"a child that nobody looked at", heard, true, []int{heard}, []execution{at(heard), goneGo}, false, true, TracePartial},
		{"a child whose program is gone", heard, true, []int{heard}, []execution{at(heard), lost}, false, true, TracePartial},
		{"a child that is no Go program", heard, true, []int{heard, shell}, []execution{at(heard), at(shell)}, false, true, TraceComplete},
		{"such a child that nobody looked at", heard, true, []int{heard}, []execution{at(heard), gone}, false, true, TraceComplete},
		{"a child that the kernel counts and nobody saw", heard, true, []int{heard}, []execution{at(heard)}, false, false, TracePartial},
		{"a child that only a look saw", heard, true, []int{heard, deaf}, nil, true, false, TracePartial},
		{"shells", shell, false, []int{shell}, []execution{at(shell), gone}, false, true, ""},
	} {
		wit := newWitness(procmem.FS{}, true, [2]*pump{{r: r}, {r: r}})
		wit.root = c.root
		wit.look(c.looked)
		wit.execs = c.execs
		for _, pid := range []int{heard, shell} {
			path, err := os.Readlink(procmem.FS{}.ExePath(pid))
			if err != nil {
				t.Fatal(err)
			}
			wit.paths[inode(pid)] = path
		}
		if got := wit.verdict(c.rootIsGo, c.childless, c.told); got != c.want {
			t.Errorf("%s: %q, want %q (%v)", c.name, got, c.want, wit.seen)
		}
	}
}

// The program that was started can turn its standard error away after the first look.
func TestWitnessLooksAgain(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	self := os.Getpid()
	saved, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	restore := func() { _ = unix.Dup3(saved, 2, 0) }
	defer unix.Close(saved)
	defer restore()
	t.Setenv("GODEBUG", "gctrace=1") // the environment that a process was started with counts
	wit := newWitness(procmem.FS{}, true, [2]*pump{{r: r}, {r: r}})
	wit.root = self
	if err := unix.Dup3(int(w.Fd()), 2, 0); err != nil {
		t.Fatal(err)
	}
	wit.look([]int{self})
	for e, s := range wit.seen {
		if s.visible || !s.isGo {
			t.Errorf("%v: %+v: it was not started with that environment", e, s)
		}
		wit.seen[e] = sight{true, true} // as if it had been
	}
	wit.look([]int{self})
	if got := wit.verdict(true, true, true); got != TraceComplete {
		t.Errorf("while it writes to us: %q", got)
	}
	restore()
	wit.look([]int{self})
	if got := wit.verdict(true, true, true); got != TracePartial {
		t.Errorf("after it turned away: %q", got)
	}
}

// A program that ends while it is looked at has no files any more. It has not turned its
// standard error away, and its file is as much a Go program as before.
func TestWitnessOfAnEnd(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for _, looked := range []bool{true, false} {
		cmd := exec.Command(self(), "listen")
		cmd.Env, cmd.Stderr = roleEnviron("GODEBUG=gctrace=1"), w
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := drain(bufio.NewReader(out), "ready"); err != nil {
			t.Fatal(err)
		}
		pid := cmd.Process.Pid
		wit := newWitness(procmem.FS{}, true, [2]*pump{{r: r}, {r: r}})
		wit.root = pid
		if looked {
			wit.look([]int{pid})
		}
		e, ok := wit.executionOf(pid)
		if !ok {
			t.Fatal("no program")
		}
		cmd.Process.Kill()
		testenv.Eventually(t, "its end", func() bool { _, err := os.Stat(procmem.FS{}.ExePath(pid)); return err != nil })
		wit.lookAtExecution(e)
		wit.fs = stateless(t, pid) // as if its end had come behind the look at its state
		wit.lookAtExecution(e)
		if got := wit.verdict(true, true, false); got != TraceComplete {
			t.Errorf("looked at before: %t: %q, %v", looked, got, wit.seen)
		}
		if isGo, known := wit.programs[e.inode]; known != looked || isGo != looked {
			t.Errorf("looked at before: %t: its file is Go: %t, known: %t", looked, isGo, known)
		}
		cmd.Wait()
	}
}

// stateless returns a file system in which a process runs, and has neither program nor
// files.
func stateless(t *testing.T, pid int) procmem.FS {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "proc", fmt.Sprint(pid))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	stat := fmt.Sprintf("%d (x) R 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 5\n", pid)
	if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o600); err != nil {
		t.Fatal(err)
	}
	return procmem.New(root)
}

// Where a program listened is known although a signal ended it.
func TestListening(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	p := role("listen")
	s := runOverdue(t, p, time.Second, "ready")
	addr := strings.TrimSpace(strings.TrimPrefix(s.Tail, "ready"))
	if !s.TimedOut || addr == "" || !slices.Equal(s.Listening, []string{addr}) {
		t.Errorf("overdue %v, listened on %q, want %q", s.TimedOut, s.Listening, addr)
	}
	if s := runOK(t, role("touch", "0", "0"), Setting{}); s.Listening != nil || s.Interrupted {
		t.Errorf("a program that does not listen: %q, interrupted %v", s.Listening, s.Interrupted)
	}

	// Also where it ends well on a signal, as servers do.
	signals := make(chan os.Signal, 1)
	p = role("listen")
	p.Signals = signals
	p.Stdout = onOutput("ready", func() { signals <- unix.SIGTERM })
	if s := run(t, p, Setting{}); !s.Interrupted || len(s.Listening) != 1 || s.ExitCode == nil || *s.ExitCode != 0 {
		t.Errorf("interrupted %v, listened on %q, exit code %v", s.Interrupted, s.Listening, orNone(s.ExitCode))
	}
}

// A program that becomes another Go program loses what was changed in its memory.
func TestBecame(t *testing.T) {
	w := &witness{root: 7, paths: map[uint64]string{1: "/first", 2: "/memfd:app (deleted)", 3: "/bin/sh"}, programs: map[uint64]bool{1: true, 2: true, 3: false}}
	for _, c := range []struct {
		name  string
		execs []execution
		want  string
	}{
		{"stays", []execution{{7, 1}}, ""},
		{"unpacks itself", []execution{{7, 1}, {7, 2}}, "/memfd:app (deleted)"},
		{"runs itself again", []execution{{7, 1}, {7, 1}}, "/first"},
		{"becomes a shell", []execution{{7, 1}, {7, 3}}, ""},
		{"has a child", []execution{{7, 1}, {8, 2}}, ""},
	} {
		if w.execs = c.execs; w.became() != c.want {
			t.Errorf("%s: %q, want %q", c.name, w.became(), c.want)
		}
	}
}
