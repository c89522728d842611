package gctune

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/library/gccontrol"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// What a Tuner changes is the whole process's, so each case runs in a process of
// its own: this test binary with the name of the case in the environment.
const childEnv = "GCTUNE_TEST_CHILD"

const (
	mb = 1 << 20
	gb = 1 << 30
)

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		c, ok := children[name]
		if !ok {
			c = pinned[name]
		}
		if err := c.run(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type child struct {
	env []string
	run func() error
}

func TestProcess(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range children {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(exe)
			cmd.Env = append(childEnviron(), append(c.env, childEnv+"="+name)...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// childEnviron is the environment without what would decide for a tuner.
func childEnviron() []string {
	return slices.DeleteFunc(os.Environ(), func(e string) bool {
		return strings.HasPrefix(e, "GOGC=") || strings.HasPrefix(e, "GOMEMLIMIT=") || strings.HasPrefix(e, "GOMAXPROCS=")
	})
}

var sink []byte

// churn allocates garbage until ok, for a generous time.
func churn(what string, ok func() bool) error {
	for begin := time.Now(); !ok(); {
		if time.Since(begin) > testenv.Patience {
			return fmt.Errorf("never: %s", what)
		}
		for range 100 {
			sink = make([]byte, 16<<10)
		}
	}
	return nil
}

// eager makes any GC cycle too costly, so that memory is spent.
var eager = &Options{Budget: 1 << 30, Threshold: 1e-3, MinCycle: time.Second}

// pinned are children that may run on one CPU only.
var pinned map[string]child

var goDefault = settings{gccontrol.Base, math.MaxInt64}

var children = map[string]child{
	"Stop restores": {run: func() error {
		t, err := Start(eager)
		if err != nil {
			return err
		}
		if err := churn("GOGC raised", func() bool { return t.Stats().GOGCChanges > 0 }); err != nil {
			return err
		}
		if have := inForce(); have.limit == math.MaxInt64 {
			return fmt.Errorf("no memory limit in force")
		}
		t.Stop()
		t.Stop() // does nothing
		if have := inForce(); have != goDefault {
			return fmt.Errorf("after Stop: %+v", have)
		}
		return nil
	}},
	"one at a time": {run: func() error {
		t, err := Start(nil)
		if err != nil {
			return err
		}
		if _, err := Start(nil); !errors.Is(err, ErrStarted) {
			return fmt.Errorf("second Start: %v", err)
		}
		t.Stop()
		again, err := Start(nil)
		if err != nil {
			return err
		}
		again.Stop()
		return nil
	}},
	"GOGC in the environment": {env: []string{"GOGC=150"}, run: func() error {
		t, err := Start(eager)
		if err != nil {
			return err
		}
		first := t.Stats().Wakes
		if err := churn("looks", func() bool { return t.Stats().Wakes > first+5 }); err != nil {
			return err
		}
		st, have := t.Stats(), inForce()
		if have.gogc != 150 || st.GOGCChanges != 0 || !st.UserGOGC || st.UserLimit || st.State != StateUserSet || have.limit == math.MaxInt64 {
			return fmt.Errorf("%+v, %+v", have, st)
		}
		t.Stop()
		if have := inForce(); have != (settings{150, math.MaxInt64}) {
			return fmt.Errorf("after Stop: %+v", have)
		}
		return nil
	}},
	"GOGC=100 in the environment is a wish too": {env: []string{"GOGC=100"}, run: func() error {
		t, err := Start(eager)
		if err != nil {
			return err
		}
		if st := t.Stats(); !st.UserGOGC {
			return fmt.Errorf("%+v", st)
		}
		return nil
	}},
	"GOMEMLIMIT in the environment": {env: []string{"GOMEMLIMIT=512MiB"}, run: func() error {
		t, err := Start(eager)
		if err != nil {
			return err
		}
		if err := churn("GOGC raised", func() bool { return t.Stats().GOGCChanges > 0 }); err != nil {
			return err
		}
		st, have := t.Stats(), inForce()
		if have.limit != 512<<20 || st.LimitChanges != 0 || !st.UserLimit || st.UserGOGC {
			return fmt.Errorf("%+v, %+v", have, st)
		}
		t.Stop()
		if have := inForce(); have != (settings{gccontrol.Base, 512 << 20}) {
			return fmt.Errorf("after Stop: %+v", have)
		}
		return nil
	}},
	"GOGC set by code": {run: func() error {
		t, err := Start(eager)
		if err != nil {
			return err
		}
		if err := churn("GOGC raised", func() bool { return t.Stats().GOGCChanges > 0 }); err != nil {
			return err
		}
		ours := debug.SetGCPercent(77)
		if err := churn("yielding", func() bool { return t.Stats().State == StateUserSet }); err != nil {
			return err
		}
		if have := inForce(); have.gogc != 77 {
			return fmt.Errorf("%+v", have)
		}
		// Put back, it is ours again.
		debug.SetGCPercent(ours)
		if err := churn("taking it back", func() bool { return !t.Stats().UserGOGC }); err != nil {
			return err
		}
		debug.SetGCPercent(78)
		if err := churn("yielding again", func() bool { return t.Stats().State == StateUserSet }); err != nil {
			return err
		}
		t.Stop()
		if have := inForce(); have != (settings{78, math.MaxInt64}) {
			return fmt.Errorf("after Stop: %+v", have)
		}
		return nil
	}},
	"memory limit set by code": {run: func() error {
		t, err := Start(eager)
		if err != nil {
			return err
		}
		debug.SetMemoryLimit(300 << 20)
		if err := churn("yielding", func() bool { return t.Stats().UserLimit }); err != nil {
			return err
		}
		t.Stop()
		if have := inForce(); have != (settings{gccontrol.Base, 300 << 20}) {
			return fmt.Errorf("after Stop: %+v", have)
		}
		return nil
	}},
	"a budget that cannot be met": {run: func() error {
		called := make(chan Unmet, 10)
		// Without /proc, so that what the race detector takes does not count.
		t, err := start(&Options{Budget: 48 << 20, OnUnmet: func(u Unmet) { called <- u }}, procmem.New("/does/not/exist"))
		if err != nil {
			return err
		}
		hold := make([][]byte, 0, 1000)
		for range 1000 {
			hold = append(hold, make([]byte, 64<<10))
		}
		var u Unmet
		if err := churn("OnUnmet", func() bool {
			select {
			case u = <-called:
				return true
			default:
				return false
			}
		}); err != nil {
			return err
		}
		if u.Budget != 48<<20 || u.Short == 0 {
			return fmt.Errorf("%+v", u)
		}
		// The limit gives way, so that the GC does not run all the time.
		if err := churn("the limit's giving way", func() bool { return inForce().limit > 62<<20 }); err != nil {
			return err
		}
		runtime.KeepAlive(hold)
		hold = nil
		// There is room again, so it is reported again.
		if err := churn("room", func() bool { return t.Stats().State != StateEmergency }); err != nil {
			return err
		}
		t.SetBudget(4 << 20)
		if err := churn("OnUnmet again", func() bool { return t.Stats().Unmet == 2 && len(called) == 1 }); err != nil {
			return err
		}
		return nil
	}},
	"memory outside the heap grows": {run: func() error {
		// What is resident is made up, so that what the race detector takes does not
		// count.
		root, err := os.MkdirTemp("", "gctune")
		if err != nil {
			return err
		}
		defer os.RemoveAll(root)
		self := filepath.Join(root, "proc", "self")
		if err := os.MkdirAll(self, 0o777); err != nil {
			return err
		}
		resident := func(bytes uint64) error {
			next := filepath.Join(self, "next")
			if err := os.WriteFile(next, fmt.Appendf(nil, "0 %d 0 0 0 0 0\n", bytes/uint64(os.Getpagesize())), 0o666); err != nil {
				return err
			}
			return os.Rename(next, filepath.Join(self, "statm"))
		}
		if err := resident(0); err != nil {
			return err
		}
		t, err := start(&Options{Budget: 512 << 20, Threshold: 1e-3, MinCycle: time.Second}, procmem.New(root))
		if err != nil {
			return err
		}
		defer t.Stop()
		if err := churn("a large heap", func() bool { return t.Stats().Goal > 300<<20 }); err != nil {
			return err
		}
		// It goes on growing, beside garbage, until a look has come upon both.
		n := uint64(500 << 20)
		if err := churn("returning memory to the OS", func() bool {
			n += 4 << 20
			err = resident(n)
			time.Sleep(20 * time.Millisecond)
			sink = make([]byte, 16<<20)
			return err != nil || t.Stats().Releases > 0
		}); err != nil {
			return err
		}
		if err != nil {
			return err
		}
		return churn("a smaller heap", func() bool { return t.Stats().Goal < 150<<20 })
	}},
	"a program at rest is not woken": {run: func() error {
		t, err := Start(&Options{Threshold: 0.5, MinCycle: time.Nanosecond})
		if err != nil {
			return err
		}
		first := t.Stats().Wakes
		if err := churn("looks", func() bool { return t.Stats().Wakes > first }); err != nil {
			return err
		}
		for range 100 {
			before := t.Stats().Wakes
			time.Sleep(1500 * time.Millisecond)
			if t.Stats().Wakes == before {
				return nil
			}
		}
		return fmt.Errorf("woken all the time: %+v", t.Stats())
	}},
	"words": {run: func() error {
		var lines []string
		t, err := Start(&Options{Budget: 1 << 30, Threshold: 1e-3, MinCycle: time.Second, Log: testenv.Log(func(_ slog.Level, text string) {
			lines = append(lines, text)
		}).Logger()})
		if err != nil {
			return err
		}
		if err := churn("GOGC raised", func() bool { return t.Stats().GOGCChanges > 0 }); err != nil {
			return err
		}
		t.Stop() // from here on lines are ours alone
		text := strings.Join(lines, "\n")
		for _, want := range []string{"budget 1.000GiB (the program's own setting)",
			"gctune: inactive: GOGC 100, live heap", "gctune: spending: GOGC 100 -> "} {
			if !strings.Contains(text, want) {
				return fmt.Errorf("no %q in:\n%s", want, text)
			}
		}
		return nil
	}},
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{{Threshold: -1}, {Target: math.NaN()}, {MaxCost: 25}, {Floor: -1}, {Ceiling: -1}, {MinCycle: -1}, {SecondP: -1}, {SecondP: 3}} {
		tuner, err := Start(&o)
		if err == nil {
			tuner.Stop()
			t.Errorf("Start(%+v) succeeded", o)
		} else if !strings.HasPrefix(err.Error(), "start gctune: Options.") {
			t.Error(err)
		}
	}
}

func TestStatesAreThoseOfTheController(t *testing.T) {
	for got, want := range map[State]gccontrol.State{
		StateInactive: gccontrol.Inactive, StateSpending: gccontrol.Spending, StateHolding: gccontrol.Holding,
		StateShrinking: gccontrol.Shrinking, StateEmergency: gccontrol.Emergency, StateUserSet: gccontrol.UserSet,
	} {
		if int(got) != int(want) || got.String() != want.String() {
			t.Errorf("state %d is %v, want %d, %v", got, got, want, want)
		}
	}
}
