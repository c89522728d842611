package trial

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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
	p.ReadGC, p.Profile = true, testRate
	for _, gogc := range []string{"25", ""} {
		s, err := p.Run(t.Context(), Setting{GOGC: gogc})
		if err != nil || !s.OK() {
			t.Fatal(err, s)
		}
		checkSample(t, s) // the invariants
		checkWhere(t, s)
		if s.GCCounted != GCComplete || s.GCCycles == nil || *s.GCCycles == 0 || s.GCShare == nil || *s.GCShare == 0 {
			t.Errorf("GOGC=%q: trace %q, %v cycles, GC share %v", gogc, s.GCCounted, orNone(s.GCCycles), s.GCShare)
		}
		sheet := []*Sample{s, s}
		gc, _ := FigureOf("gc_cpu_fraction").Center(sheet)
		tax, _ := FigureOf("memory_tax_fraction").Center(sheet)
		if !(gc <= tax && tax <= 1) {
			t.Errorf("together: GC share %v, memory tax %v", gc, tax)
		}
		t.Logf("GOGC=%q: GC share %.3f, memory tax %.3f; gctrace: %.3f of CPU time", gogc, *s.GCShare, *s.MemoryTax, *s.GCRuntimeCPU/s.CPU)
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

// What children do counts, wherever their standard error goes and whatever their environment.
func TestCollectionsOfChildren(t *testing.T) {
	testenv.Long(t)
	if testenv.Apart(t) {
		return
	}
	needTree(t)
	for _, profile := range []int{0, testRate} {
		if profile > 0 {
			needSampling(t)
		}
		for _, how := range []string{"hide", "unasked", "shown"} {
			for _, own := range []int{0, 3} {
				t.Run(fmt.Sprintf("%s, %d, sampled %d", how, own, profile), func(t *testing.T) {
					p := role("parent", how, "20", fmt.Sprint(own))
					p.ReadGC, p.Profile = true, profile
					s := runOK(t, p, Setting{GOGC: Off})
					if s.Processes != 2 || s.GCCounted != GCComplete || s.GCCycles == nil || *s.GCCycles != 20+own {
						t.Errorf("got %d processes, %q, %v GC cycles; want 2, all, %d", s.Processes, s.GCCounted, orNone(s.GCCycles), 20+own)
					}
				})
			}
		}
	}
}

// A program that becomes another counts with what it was before; one that is killed with what
// was last read of it, which is said.
func TestCollectionsOfExecs(t *testing.T) {
	needTree(t)
	p := shell("(" + roleLine("parent", "hide", "5", "2") + "); exec " + roleLine("parent", "hide", "7", "1"))
	p.ReadGC = true
	if s := runOK(t, p, Setting{GOGC: Off}); s.GCCounted != GCComplete || s.GCCycles == nil || *s.GCCycles != 15 {
		t.Errorf("got %q, %v GC cycles, want 15", s.GCCounted, orNone(s.GCCycles))
	}
	p = shell(roleLine("collect", "1", "1") + "& sleep 0.3; wait; " + roleLine("listen") + "& sleep 0.3; kill -9 $!")
	p.ReadGC = true
	s := runOK(t, p, Setting{})
	if s.GCCounted != GCPartial || s.GCCycles == nil || s.Uncounted == nil || !strings.Contains(s.Uncounted.Error(), "was ended by a signal") {
		t.Errorf("got %q, %v GC cycles, %v", s.GCCounted, orNone(s.GCCycles), s.Uncounted)
	}
}

// Of a Go program that never collects this is known.
func TestZeroIsKnownOfASingleProgram(t *testing.T) {
	needTree(t)
	p := role("touch", "0", "0")
	p.ReadGC = true
	if s := runOK(t, p, Setting{GOGC: Off}); s.GCCounted != GCComplete || s.GCCycles == nil || *s.GCCycles != 0 || s.Processes != 1 {
		t.Errorf("%q, %v GC cycles", s.GCCounted, orNone(s.GCCycles))
	}
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
