package act

import (
	"bytes"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/node"
	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/cmd/internal/process/memlimit"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/program/layout"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// keeps starts a stage whose guards are this program.
func keeps(t *testing.T) *stage {
	t.Setenv(testenv.RoleEnv, "guard")
	return newStage(t.TempDir())
}

// rss is the anonymous memory of a process.
func rss(t *testing.T, pid int) int64 {
	t.Helper()
	s, err := procmem.New("").Status(pid)
	if err != nil || s.RssAnon == nil {
		t.Fatal(err)
	}
	return int64(*s.RssAnon)
}

// fits checks a limit of a process in a container with so many MiB, of which anon are anonymous
// memory of processes.
func (s *subject) fits(limit int64, of, anon int64) {
	s.t.Helper()
	fixed := (anon + 20 + 4) * mib
	margin := int64(memlimit.Margin(uint64(of * mib)))
	if least, most := of*mib-fixed-margin-mib, of*mib-fixed-margin+rss(s.t, s.pid()); limit < least || limit > most {
		s.t.Errorf("GOMEMLIMIT=%d is not what fits, %d to %d", limit, least, most)
	}
}

func (w *stage) must(t *testing.T, c int, limit string, anon int) {
	t.Helper()
	if err := w.write(c, limit, anon); err != nil {
		t.Fatal(err)
	}
}

func look(t *testing.T, a *Actor) {
	t.Helper()
	if err := a.Node.Scan(); err != nil {
		t.Fatal(err)
	}
	a.Keeper.Look(true)
}

// may skips where a child may not be traced.
func may(t *testing.T, s *subject) {
	t.Helper()
	p, err := livegc.Open(procmem.New(""), s.pid())
	if err != nil {
		testenv.Missing(t, "trace a child: %v", err)
	}
	_ = p.Close()
}

func TestSettings(t *testing.T) {
	one, two, three, out := startProgram(t, 1), startProgram(t, 2), startProgram(t, 3, "GOGC=70"), startProgram(t, 4)
	may(t, one)
	w := keeps(t)
	w.add(one, "a")
	w.add(two, "b")
	w.add(three, "c")
	w.add(out, "d")
	for _, s := range []*subject{one, two, three, out} {
		w.must(t, s.container, "536870912", 100)
	}
	p, err := parse([]byte(`
settings:
- {label: folio.dev/settings=a, gogc: 200}
- {label: folio.dev/settings=b, gogc: off, memoryLimit: fit}
- {label: folio.dev/settings=c, container: main, memoryLimit: 300MiB}
- {label: folio.dev/settings=d, container: other, gogc: 20}
`))
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	a := w.actor(p, &log)
	defer a.Keeper.Close()
	for range 2 { // the second finds all done
		look(t, a)
		one.has(200, none)
		three.has(70, 300*mib)
		out.has(100, none)
		g, l := two.ask("")
		if two.fits(l, 512, 100); g != -1 {
			t.Errorf("GOGC=%d", g)
		}
		s := a.Keeper.Settings()
		if s.Changes[Set] != 3 || s.Changes[Moved]+s.Changes[Restored]+s.Changes[Lost] != 0 || len(s.Refusals) != 0 || len(s.Containers) != 3 {
			t.Errorf("%+v\n%s", s, &log)
		}
		if g := s.Containers[node.Labels{Namespace: "shop", Pod: "pod-2", Container: "main"}]; g.Processes != 1 || !math.IsInf(g.GOGC, 1) || g.GOMEMLIMIT != float64(l) {
			t.Errorf("%+v", g)
		}
	}
	// Another folio finds them held.
	if other, err := livegc.Open(procmem.New(""), one.pid()); err != nil || other.Hold() == nil {
		t.Errorf("it is not held, %v", err)
	} else {
		_ = other.Close()
	}

	// The container is resized: smaller, larger, and without limit.
	w.must(t, 2, "268435456", 100)
	w.must(t, 3, "402653184", 100)
	a.Keeper.Look(false)
	_, l := two.ask("")
	two.fits(l, 256, 100)
	_, l = three.ask("")
	if three.fits(l, 384, 100); l >= 300*mib {
		t.Errorf("GOMEMLIMIT=%d", l)
	}
	w.must(t, 2, "1073741824", 100)
	w.must(t, 3, "1073741824", 100)
	a.Keeper.Look(false)
	_, l = two.ask("")
	two.fits(l, 1024, 100)
	three.has(70, 300*mib)
	if n := a.Keeper.Settings().Changes[Moved]; n != 4 {
		t.Errorf("moved %d times", n)
	}
	w.must(t, 2, "max", 100)
	a.Keeper.Look(false)
	two.has(100, none)
	if s := a.Keeper.Settings(); s.Changes[Restored] != 1 || s.Refusals[NoLimit] != 1 {
		t.Errorf("%+v", s)
	}
	// What else is charged grows, until no limit helps; a limit that moves little stays.
	w.must(t, 2, "536870912", 100)
	look(t, a)
	_, l = two.ask("")
	two.fits(l, 512, 100)
	w.must(t, 2, "536870912", 101)
	look(t, a)
	two.has(-1, l)
	w.must(t, 2, "536870912", 200)
	look(t, a)
	_, l = two.ask("")
	two.fits(l, 512, 200)
	w.must(t, 2, "536870912", 460)
	look(t, a)
	two.has(100, none)
	w.must(t, 2, "536870912", 100)
	look(t, a)
	two.has(100, none) // no to and fro
	if s := a.Keeper.Settings(); s.Refusals[NoRoom] != 1 || s.Containers[node.Labels{Namespace: "shop", Pod: "pod-2", Container: "main"}].Refused[NoRoom] != 1 {
		t.Errorf("%+v", s)
	}

	// A pod that opts out, a rule that changes, a policy that goes.
	delete(w.labels, container(1))
	a.Keeper.Rules[2].MemoryLimit = "200MiB"
	a.Keeper.Look(false)
	one.has(100, none)
	three.has(70, 200*mib)
	if other, err := livegc.Open(procmem.New(""), one.pid()); err != nil || other.Hold() != nil {
		t.Errorf("it is still held, %v", err)
	} else {
		_ = other.Close()
	}
	a.Keeper.Rules = nil
	a.Keeper.Look(false)
	three.has(70, none)
	if a.Keeper.guard != nil || len(a.Keeper.held) != 0 {
		t.Error("the guard is not gone")
	}

	// What has ended is forgotten; Close restores the rest.
	a.Keeper.Rules = p.Rules
	w.labels[container(1)] = "a"
	look(t, a)
	one.has(200, none)
	_ = three.cmd.Process.Kill()
	_ = three.cmd.Wait()
	a.Keeper.Look(false)
	if len(a.Keeper.held) != 1 {
		t.Errorf("%d processes are held", len(a.Keeper.held))
	}
	if err := a.Keeper.Close(); err != nil {
		t.Error(err)
	}
	one.has(100, none)
}

// A program that sets its GC itself is named and left alone, whatever the rules become.
func TestSetByProgram(t *testing.T) {
	early, late := startProgram(t, 1), startProgram(t, 2)
	may(t, early)
	w := keeps(t)
	w.add(early, "a")
	w.add(late, "a")
	w.must(t, 1, "536870912", 100)
	w.must(t, 2, "536870912", 100)
	early.ask("gogc 77")
	p := Default()
	p.Rules = []Rule{{Label: "folio.dev/settings", Value: "a", GOGC: "200", MemoryLimit: "300MiB"}}
	var log bytes.Buffer
	a := w.actor(p, &log)
	defer a.Keeper.Close()
	look(t, a)
	early.has(77, none)
	late.has(200, 300*mib)
	late.ask("gogc 55")
	a.Keeper.Look(false)
	late.has(55, none) // the limit was the agent's
	a.Keeper.Rules[0].GOGC = "300"
	look(t, a)
	late.has(55, none)
	s := a.Keeper.Settings()
	if s.Changes[Lost] != 1 || s.Refusals[ByProgram] != 3 || s.Containers[node.Labels{Namespace: "shop", Pod: "pod-2", Container: "main"}].Refused[ByProgram] != 1 {
		t.Errorf("%+v", s)
	}
	// By what is not the same in all test binaries: some have gctune.
	for _, want := range []string{`why="GOGC=77 is set by the program: `, `why="GOGC=55, GOMEMLIMIT=300MiB were set since; the program `} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in\n%s", want, &log)
		}
	}
}

// What another folio set, for a while or for good, stays.
func TestSetByOther(t *testing.T) {
	forever, held := startProgram(t, 1), startProgram(t, 2)
	may(t, forever)
	w := keeps(t)
	for _, s := range []*subject{forever, held} {
		w.add(s, "a")
		w.must(t, s.container, "536870912", 100)
		p, err := livegc.Open(procmem.New(""), s.pid())
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		c := livegc.Change{Percent: new(int32(150))}
		if s == held {
			err = p.Hold()
		} else if err = p.Plan(c); err == nil {
			err = p.Apply()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	p := Default()
	p.Rules = []Rule{{Label: "folio.dev/settings", Value: "a", GOGC: "200"}}
	var log bytes.Buffer
	a := w.actor(p, &log)
	defer a.Keeper.Close()
	look(t, a)
	forever.has(150, none)
	held.has(100, none)
	if s := a.Keeper.Settings(); s.Refusals[ByOther] != 2 || len(s.Changes) != 0 {
		t.Errorf("%+v\n%s", s, &log)
	}
}

// A guard that was killed has a successor at the next full look, which restores when the agent is
// gone; without a guard nothing is set.
func TestGuardKilled(t *testing.T) {
	s := startProgram(t, 1)
	may(t, s)
	w := keeps(t)
	mark := "FOLIO_ACT_MARK=" + w.dir
	t.Setenv("FOLIO_ACT_MARK", w.dir) // of guards, not of this process
	w.add(s, "a")
	w.must(t, 1, "536870912", 100)
	p := Default()
	p.Rules = []Rule{{Label: "folio.dev/settings", Value: "a", GOGC: "200"}}
	var log bytes.Buffer
	a := w.actor(p, &log)
	defer a.Keeper.Close()
	look(t, a)
	s.has(200, none)
	first := processesWith(mark)
	if len(first) != 1 {
		t.Fatalf("guards: %v", first)
	}
	_ = syscall.Kill(first[0], syscall.SIGKILL)
	testenv.Eventually(t, "the guard has ended", func() bool { return len(processesWith(mark)) == 0 })
	look(t, a)
	s.has(200, none)
	second := processesWith(mark)
	if len(second) != 1 || second[0] == first[0] {
		t.Fatalf("guards: %v, then %v", first, second)
	}
	// The next one cannot start.
	a.Keeper.Guard = []string{"/nonexistent"}
	_ = syscall.Kill(second[0], syscall.SIGKILL)
	testenv.Eventually(t, "the guard has ended", func() bool { return len(processesWith(mark)) == 0 })
	look(t, a)
	s.has(100, none)
	look(t, a)
	s.has(100, none)
	a.Keeper.Guard = []string{"/proc/self/exe"}
	late := time.Now().Add(leastPause)
	a.Keeper.Now = func() time.Time { return late }
	look(t, a)
	s.has(200, none)
	if g := a.Keeper.Settings(); g.Changes[Set] != 2 || g.Changes[Restored] != 1 || g.Refusals[Failed] != 1 {
		t.Errorf("%+v\n%s", g, &log)
	}
}

// Each error of setting has its reason; that a process has ended is none.
func TestRefusals(t *testing.T) {
	k := &Keeper{}
	for _, c := range []struct {
		err    error
		reason string
	}{
		{&livegc.Error{Err: livegc.ErrHeld}, ByOther},
		{&livegc.Error{Err: livegc.ErrNoLimit}, NoLimit},
		{&livegc.Error{Err: os.ErrPermission}, Forbidden},
		{&livegc.Error{Err: layout.ErrUnknown}, Unsupported},
		{&livegc.Error{Err: goruntime.ErrInconsistent}, Failed},
		{&livegc.Error{Err: goruntime.ErrGone}, ""},
		{procmem.ErrNoProcess, ""},
		{errYoung, ""},
	} {
		no := k.failed(c.err)
		if no == nil {
			no = &refusal{}
		} else if !slices.Contains(Refusals, no.reason) {
			t.Errorf("%s has no series", no.reason)
		}
		if no.reason != c.reason || no.final != (c.reason == Unsupported) {
			t.Errorf("%v: %+v, want %q", c.err, no, c.reason)
		}
	}
	// One that may not be traced says why.
	if os.Geteuid() != 0 {
		if _, err := livegc.Open(procmem.New(""), 1); k.failed(err) == nil || k.failed(err).reason != Forbidden {
			t.Errorf("process 1: %v", err)
		}
	}
}

// A dry run changes nothing and says once what it would do.
func TestDrySettings(t *testing.T) {
	s := startProgram(t, 1)
	may(t, s)
	w := keeps(t)
	w.add(s, "a")
	w.must(t, 1, "536870912", 100)
	p := Default()
	p.Rules = []Rule{{Label: "folio.dev/settings", Value: "a", GOGC: "200"}}
	var log bytes.Buffer
	a := w.actor(p, &log)
	a.Keeper.DryRun = true
	look(t, a)
	look(t, a)
	s.has(100, none)
	if n := strings.Count(log.String(), `msg="would set" namespace=shop pod=pod-1 container=main pid=`); n != 1 || !strings.Contains(log.String(), "gogc=200 gomemlimit=off") {
		t.Errorf("%s", &log)
	}
}
