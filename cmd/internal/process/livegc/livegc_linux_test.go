package livegc

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/system/procmem"
)

var testFS = procmem.New("")

// A process that allocates, marks and sweeps at full speed bears any number of changes: it
// never crashes, and always has what was set last. FOLIO_TEST_CHANGES is another number.
func TestManyChanges(t *testing.T) {
	changes := 2000
	if n, err := strconv.Atoi(os.Getenv("FOLIO_TEST_CHANGES")); err == nil {
		changes = n
	}
	for _, tt := range []struct {
		name string
		env  []string
	}{
		{"plain", nil},
		{"gccheckmark", []string{"GODEBUG=gccheckmark=1"}},
		{"near its limit", []string{"GOMEMLIMIT=8MiB"}},
		{"off", []string{"GOGC=off", "GOMEMLIMIT=64MiB"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, tt.env...)
			p := s.opened(t)
			r := rand.New(rand.NewPCG(1, 2))
			limits := []int64{8 << 20, 32 << 20, 100 << 20, 1<<32 + 12345, math.MaxInt64}
			_, _, before := s.ask("")
			for i := range changes {
				want := goruntime.GCSettings{Percent: int32(r.IntN(3000)), Limit: limits[r.IntN(len(limits))]}
				if want.Limit < 1<<30 && i%3 == 0 {
					want.Percent = -1
				}
				if err := p.Plan(Change{&want.Percent, &want.Limit}); err != nil {
					t.Fatalf("change %d: %v", i, err)
				}
				if err := p.Apply(); err != nil {
					t.Fatalf("change %d: %v", i, err)
				}
				if i%100 != 0 && i != changes-1 {
					continue
				}
				if gogc, limit, _ := s.ask(""); gogc != GOGC(want.Percent) || int64(limit) != want.Limit {
					t.Fatalf("change %d: it has GOGC=%s, GOMEMLIMIT=%d, want %+v", i, gogc, limit, want)
				}
			}
			if _, _, after := s.ask(""); after == before {
				t.Error("no GC cycle ended meanwhile")
			}
			s.ends()
		})
	}
}

// What is set comes from somewhere, is taken back, and is not fought for.
func TestSetAndTakeBack(t *testing.T) {
	s := start(t, "GOGC=150")
	p := s.opened(t)
	state := func(want string) {
		t.Helper()
		st, err := p.State()
		if got := fmt.Sprintf("%s %s; %s %s", GOGC(st.Percent), st.PercentBy, GOMEMLIMIT(st.Limit), st.LimitBy); err != nil || got != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
	set := func(percent int32, limit int64) {
		t.Helper()
		if err := errors.Join(p.Check(Change{&percent, &limit}), p.Plan(Change{&percent, &limit}), p.Apply()); err != nil {
			t.Fatal(err)
		}
	}
	state("150 by its environment; none the default")
	set(400, 1<<30)
	state("400 by folio set; 1GiB by folio set")
	if gogc, limit, _ := s.ask(""); gogc != "400" || limit != 1<<30 {
		t.Errorf("the process has %s, %d", gogc, limit)
	}
	if _, kept, err := p.Kept(); !kept || err != nil {
		t.Errorf("kept %v, %v", kept, err)
	}
	first := p.Undo
	set(-1, 1<<30)
	state("off by folio set; 1GiB by folio set")
	if err := p.Undo.Undo(); err != nil {
		t.Fatal(err)
	}
	state("400 by folio set; 1GiB by folio set")

	// The program sets its GOGC itself: only the limit is taken back.
	s.ask("77")
	if now, kept, err := p.Kept(); kept || err != nil || now.Percent != 77 {
		t.Errorf("%+v, kept %v, %v", now, kept, err)
	}
	if err := errors.Join(first.Undo(), first.Undo()); err != nil {
		t.Fatal(err)
	}
	state("77 by the program itself; none the default")

	off, none := int32(-1), int64(math.MaxInt64)
	if err := p.Check(Change{Percent: &off}); !errors.Is(err, ErrNoLimit) {
		t.Errorf("GOGC=off without a limit: %v", err)
	}
	limit := int64(1 << 30)
	if err := p.Check(Change{Percent: &off, Limit: &limit}); err != nil {
		t.Error(err)
	}
	if err := p.Check(Change{Limit: &none}); err != nil {
		t.Error(err)
	}
	s.ends()
	if _, _, err := p.Kept(); !errors.Is(err, goruntime.ErrGone) {
		t.Errorf("of a process that has ended: %v", err)
	}
	if err := first.Undo(); err != nil {
		t.Errorf("undo for a process that has ended: %v", err)
	}
}

// Whatever a killed folio came to, the rest is taken back.
func TestTakeBackHalf(t *testing.T) {
	s := start(t)
	p := s.opened(t)
	percent, limit := int32(300), int64(1<<30)
	if err := p.Plan(Change{&percent, &limit}); err != nil {
		t.Fatal(err)
	}
	// The percentage was written, the limit was not.
	half := p.Undo.After
	half.Limit = p.Undo.Before.Limit
	if _, err := p.setter.Set(half); err != nil {
		t.Fatal(err)
	}
	if err := p.Undo.Undo(); err != nil {
		t.Fatal(err)
	}
	if gogc, now, _ := s.ask(""); gogc != "100" || now != math.MaxInt64 {
		t.Errorf("the process has %s, %d", gogc, now)
	}
	s.ends()
}

// One folio at a time sets a process for a while.
func TestHold(t *testing.T) {
	s := start(t)
	p, other := s.opened(t), s.opened(t)
	if err := p.Hold(); err != nil {
		t.Fatal(err)
	}
	if err := other.Hold(); !errors.Is(err, ErrHeld) {
		t.Errorf("error %v", err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := other.Hold(); err != nil {
		t.Error(err)
	}
}

// What is not a Go program, or not there, is an error.
func TestOpenOthers(t *testing.T) {
	if _, err := Open(testFS, math.MaxInt32); err == nil || err.Error() != "process 2147483647: no such process" {
		t.Errorf("error %v", err)
	}
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	for { // until its exec it is this program
		if _, err := Open(testFS, cmd.Process.Pid); errors.Is(err, executable.ErrNotGo) {
			break
		} else if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

func TestOfEnvironment(t *testing.T) {
	for _, tt := range []struct {
		env  []string
		want goruntime.GCSettings
	}{
		{nil, goruntime.GCSettings{Percent: 100, Limit: math.MaxInt64}},
		{[]string{"GOGC=off", "GOMEMLIMIT=1GiB"}, goruntime.GCSettings{Percent: -1, Limit: 1 << 30}},
		{[]string{"GOGC=200%", "GOMEMLIMIT=off"}, goruntime.GCSettings{Percent: 100, Limit: math.MaxInt64}},
		{[]string{"GOGC=-7", "X=1"}, goruntime.GCSettings{Percent: -1, Limit: math.MaxInt64}},
	} {
		if got := ofEnvironment(tt.env); got != tt.want {
			t.Errorf("%v: %+v, want %+v", tt.env, got, tt.want)
		}
	}
}
