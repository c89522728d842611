package leak

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/internal/system/feature"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// start starts a program of testenv.LeaksSource.
func start(t *testing.T, path, what string) (pid int) {
	t.Helper()
	cmd := exec.Command(path, what)
	in, out := testenv.Start(t, cmd)
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd.Process.Pid
}

// expected is what has to be said of a program of testenv.LeaksSource, and what may be said
// with it, for it is true, and grows fast enough on some machines: nothing else may.
type expected struct{ want, with string }

// TestPrograms watches programs that leak and programs that do not. No finding is forgiven:
// of one that does not leak any is wrong, of the others all but the leak. Only that nothing
// is found is not final. A program that hardly ran beside others has not leaked steadily, or
// had too few GC cycles: then it is watched for longer.
func TestPrograms(t *testing.T) {
	testenv.FullOnly(t)
	path, err := testenv.Build{Source: testenv.LeaksSource(), Args: []string{"-ldflags=-s -w"}, Env: []string{"CGO_ENABLED=1"}}.Try(t)
	if err != nil {
		testenv.Missing(t, "%v", err)
	}
	named := "memory " + waterfall.Other.Title()
	if feature.Have(feature.AnonName) == nil {
		named = "memory " + waterfall.Named.Title() + " [anon:leak]"
	}
	for what, of := range map[string]expected{
		"map": {want: "heap main.leakMap"}, "slice": {want: "heap main.leakSlice"}, "timer": {want: "heap main.leakTimer"},
		// Each goroutine has a stack, its channel, and what the runtime has it wait with and
		// describes it by.
		"goroutines": {"goroutines main.leakGoroutine", "heap main.leakGoroutine, heap main.wait, heap runtime, memory stacks of goroutines, memory live heap after the last GC"},
		"malloc":     {want: "memory malloc of the C library"}, "named": {want: named},
		"cache": {}, "pool": {}, "sawtooth": {}, "ring": {}, "bursts": {},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			pid := start(t, path, what)
			for _, long := range []time.Duration{8 * time.Second, 20 * time.Second, time.Minute} {
				r, err := Watch(context.Background(), inspect.New(), pid, Options{long, long, long / 60}, func(time.Duration, []string) {})
				if err != nil {
					t.Fatal(err)
				}
				found := seen(r)
				for _, f := range found {
					if f != of.want && !slices.Contains(strings.Split(of.with, ", "), f) {
						t.Fatalf("grows: %q, want %q: %+v", found, of.want, r.Found)
					}
				}
				judged := Enough(r.Readings) && r.Cycles != nil && Enough(*r.Cycles) && r.Parts != nil && *r.Parts == len(watched)
				if judged && (of.want == "" || slices.Contains(found, of.want)) {
					return
				}
				t.Logf("in %v: %q grows, of %d readings with %d GC cycles; notes %q", long, found, r.Readings, *r.Cycles, r.Notes)
			}
			t.Errorf("that %q grows was not seen", of.want)
		})
	}
}

// TestBlockedFinalizer: a finalizer that waits for ever is named with its line, one that
// takes its time is not.
func TestBlockedFinalizer(t *testing.T) {
	testenv.Long(t)
	path, err := testenv.Build{Source: testenv.LeaksSource(), Env: []string{"CGO_ENABLED=0"}}.Try(t)
	if err != nil {
		testenv.Missing(t, "%v", err)
	}
	for what, want := range map[string]string{"finalizer": "finalizer main.blockFinalizer", "finalized": ""} {
		pid := start(t, path, what)
		got := ""
		for range 20 { // until it has waited for two GC cycles
			r, err := Watch(context.Background(), inspect.New(), pid, Options{time.Second, time.Second, time.Second / 60}, func(time.Duration, []string) {})
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range r.Blocked {
				if got = b.What; len(b.Stack) > 0 {
					got += " " + b.Stack[0].Func
				}
			}
			if got == want {
				break
			}
		}
		if got != want {
			t.Errorf("%s: blocked: %q, want %q", what, got, want)
		}
	}
}

// TestEnds is about processes that end while they are watched, and that are not there.
func TestEnds(t *testing.T) {
	testenv.Long(t)
	cmd := exec.Command("sleep", "100")
	if err := cmd.Start(); err != nil {
		testenv.Missing(t, "%v", err)
	}
	n := 0
	r, err := Watch(context.Background(), inspect.New(), cmd.Process.Pid, Options{time.Hour, time.Hour, time.Millisecond}, func(time.Duration, []string) {
		if n++; n == 5 {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	if err != nil || !r.Ended || r.Readings < 4 || len(r.Notes) == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = Watch(context.Background(), inspect.New(), cmd.Process.Pid, Options{time.Hour, time.Hour, time.Millisecond}, func(time.Duration, []string) {}); !errors.Is(err, procmem.ErrNoProcess) {
		t.Errorf("%+v, %v", r, err)
	}
}
