package livegc

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/program/layout"
	"github.com/foliomem/folio/internal/system/procmem"
)

var testFS = procmem.New("")

// A process that allocates, marks and sweeps at full speed tolerates any number of changes:
// it does not crash, always has what was set last, and never sees half of a value.
// FOLIO_TEST_CHANGES is another number of changes.
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
		{"near its limit", []string{"GOMEMLIMIT=16843009"}},
		{"off", []string{"GOGC=off", "GOMEMLIMIT=67372036"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, tt.env...)
			p := s.opened(t)
			r := rand.New(rand.NewPCG(1, 2))
			before := s.ask("")
			var last answer
			for i := range changes {
				// The smallest limit is about what the process has, the largest far above.
				want := goruntime.GCSettings{Percent: percentUnit * int32(r.IntN(12)), Limit: limitUnit * int64(1+r.IntN(6))}
				switch r.IntN(6) {
				case 0:
					want.Percent = -1
				case 1:
					want.Limit = math.MaxInt64
				}
				if err := errors.Join(p.Plan(Change{&want.Percent, &want.Limit}), p.Apply()); err != nil {
					t.Fatalf("change %d: %v", i, err)
				}
				if i%100 != 0 && i != changes-1 {
					continue
				}
				if last = s.ask(""); last.gogc != GOGC(want.Percent) || int64(last.limit) != want.Limit {
					t.Fatalf("change %d: %+v, want %+v", i, last, want)
				}
			}
			if last.torn > 0 {
				t.Errorf("it saw %d values that nobody set", last.torn)
			}
			if last.cycles == before.cycles {
				t.Error("no GC cycle ended meanwhile")
			}
			t.Logf("%d changes in %d GC cycles", changes, last.cycles-before.cycles)
			s.ends()
		})
	}
}

// A program that sets its GOGC all the time is not harmed: once it stops, it has what it set
// last, and what follows from that.
func TestFight(t *testing.T) {
	s := start(t)
	p := s.opened(t)
	s.ask("fight")
	for i := range 2000 {
		percent := int32(percentUnit * (10 + i%2))
		err := errors.Join(p.Plan(Change{Percent: &percent}), p.Apply())
		if err != nil && !errors.Is(err, goruntime.ErrNotTaken) && !errors.Is(err, goruntime.ErrInconsistent) {
			t.Fatal(err)
		}
	}
	last := percentUnit * 3
	a := s.ask(strconv.Itoa(last))
	if now, err := p.setter.Settings(); err != nil || int(now.Percent) != last || a.gogc != strconv.Itoa(last) || a.torn > 0 {
		t.Errorf("%+v, %v; the program says %+v", now, err, a)
	}
	s.ends()
}

// What is set comes from somewhere, is taken back, and is not fought for.
func TestSetAndTakeBack(t *testing.T) {
	s := start(t, "GOGC=150")
	p := s.opened(t)
	state := func(want string) {
		t.Helper()
		st, err := p.State()
		if got := fmt.Sprintf("%s (%s), %s (%s)", GOGC(st.Percent), st.PercentBy, GOMEMLIMIT(st.Limit), st.LimitBy); err != nil || got != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
	set := func(percent int32, limit int64) {
		t.Helper()
		if err := errors.Join(p.Check(Change{&percent, &limit}), p.Plan(Change{&percent, &limit}), p.Apply()); err != nil {
			t.Fatal(err)
		}
	}
	state("150 (environment), off (default)")
	set(400, 1<<30)
	state("400 (folio set), 1GiB (folio set)")
	if a := s.ask(""); a.gogc != "400" || a.limit != 1<<30 {
		t.Errorf("the program says %+v", a)
	}
	if _, kept, err := p.Kept(); !kept || err != nil {
		t.Errorf("kept %v, %v", kept, err)
	}
	first := p.Undo
	set(-1, 1<<30)
	state("off (folio set), 1GiB (folio set)")
	if err := p.Undo.Undo(); err != nil {
		t.Fatal(err)
	}
	state("400 (folio set), 1GiB (folio set)")

	// The program sets its GOGC itself: only the limit is taken back.
	s.ask("77")
	if now, kept, err := p.Kept(); kept || err != nil || now.Percent != 77 {
		t.Errorf("%+v, kept %v, %v", now, kept, err)
	}
	if err := errors.Join(first.Undo(), first.Undo()); err != nil {
		t.Fatal(err)
	}
	state("77 (the program: debug.SetGCPercent), off (default)")

	// What the record does not know, and the program cannot have done, another process did.
	if _, err := p.setter.Set(goruntime.GCSettings{Percent: 77, Limit: 1 << 31}); err != nil {
		t.Fatal(err)
	}
	state("77 (the program: debug.SetGCPercent), 2GiB (another process: the program does not call debug.SetMemoryLimit)")
	if _, err := p.setter.Set(goruntime.GCSettings{Percent: 77, Limit: math.MaxInt64}); err != nil {
		t.Fatal(err)
	}
	if c := (Change{Percent: new(int32)}); p.Rivals(c) != "calls debug.SetGCPercent" || p.Rivals(Change{Limit: new(int64)}) != "" {
		t.Errorf("rivals %q, %q", p.Rivals(c), p.Rivals(Change{Limit: new(int64)}))
	}

	off, none := int32(-1), int64(math.MaxInt64)
	if err := p.Check(Change{Percent: &off}); !errors.Is(err, ErrNoLimit) {
		t.Errorf("GOGC=off without a limit: %v", err)
	}
	limit := int64(1 << 30)
	if err := p.Check(Change{Percent: &off, Limit: &limit}); err != nil {
		t.Error(err)
	}
	h, err := p.Heap()
	if err != nil || h.Marked == nil {
		t.Fatal(h, err)
	}
	least := int64(*h.Marked)
	if err := p.Check(Change{Limit: &least}); err == nil || !strings.Contains(err.Error(), "is less than its live heap of") {
		t.Errorf("a limit of what is live, %d: %v", least, err)
	}
	more := least + 1
	if err := p.Check(Change{Limit: &more}); err != nil {
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
	if a := s.ask(""); a.gogc != "100" || a.limit != math.MaxInt64 {
		t.Errorf("the program says %+v", a)
	}
	s.ends()
}

// A cgroup, or a name, selects its Go programs.
func TestOpenAll(t *testing.T) {
	a, b := start(t), start(t)
	_ = a.opened(t)
	sleep := exec.Command("sleep", "1000")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleep.Process.Kill(); _ = sleep.Wait() }()
	dir := t.TempDir()
	for path, pids := range map[string][]int{
		".": {a.cmd.Process.Pid, sleep.Process.Pid, 2}, "below": {b.cmd.Process.Pid, math.MaxInt32}, "empty": {},
	} {
		text := strings.Trim(strings.ReplaceAll(fmt.Sprint(pids), " ", "\n"), "[]") + "\n"
		path = filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(path, 0o755), os.WriteFile(filepath.Join(path, "cgroup.procs"), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		which Which
		want  []int
		err   string
	}{
		{Which{Cgroup: dir}, []int{a.cmd.Process.Pid, b.cmd.Process.Pid}, "<nil>"},
		{Which{Cgroup: filepath.Join(dir, "below")}, []int{b.cmd.Process.Pid}, "<nil>"},
		{Which{Cgroup: filepath.Join(dir, "empty")}, nil, "set: no Go program in the cgroup " + dir + "/empty"},
		{Which{Name: "no-such-program"}, nil, "set: no Go program named no-such-program"},
	} {
		all, err := OpenAll(testFS, tt.which)
		var pids []int
		for _, p := range all {
			pids = append(pids, p.PID)
			_ = p.Close()
		}
		slices.Sort(tt.want)
		if fmt.Sprint(err) != tt.err || !slices.Equal(pids, tt.want) {
			t.Errorf("%+v: %v, %v; want %v, %s", tt.which, pids, err, tt.want, tt.err)
		}
	}
	pid := a.cmd.Process.Pid
	if !named(testFS, pid, filepath.Base(os.Args[0])) || named(testFS, pid, "sleep") || !named(testFS, sleep.Process.Pid, "sleep") {
		t.Error("a process is not known by its name")
	}
}

// Another program that the process has begun is not changed, although it has the settings
// that were written.
func TestTakeBackAfterExec(t *testing.T) {
	s := start(t)
	p := s.opened(t)
	percent := int32(percentUnit)
	if err := errors.Join(p.Plan(Change{Percent: &percent}), p.Apply()); err != nil {
		t.Fatal(err)
	}
	s.ask("exec")
	if _, _, err := p.Kept(); !errors.Is(err, goruntime.ErrGone) {
		t.Errorf("error %v", err)
	}
	if err := p.Undo.Undo(); err != nil {
		t.Error(err)
	}
	if got := s.ask(""); got.gogc != GOGC(percent) {
		t.Errorf("it has %+v", got)
	}
	s.ends()
}

// One folio at a time changes a process, until it and what it has started have ended: the
// guard of a folio that was killed may have to restore the settings.
func TestHold(t *testing.T) {
	s := start(t)
	p, other := s.opened(t), s.opened(t)
	if err := p.Hold(); err != nil {
		t.Fatal(err)
	}
	if err := other.Hold(); !errors.Is(err, ErrHeld) {
		t.Errorf("error %v", err)
	}
	guard := exec.Command("sleep", "1000")
	if err := errors.Join(guard.Start(), p.Close()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = guard.Process.Kill() }()
	if err := other.Hold(); !errors.Is(err, ErrHeld) {
		t.Errorf("with the guard alone: error %v", err)
	}
	_ = guard.Process.Kill()
	_ = guard.Wait()
	if err := other.Hold(); err != nil {
		t.Error(err)
	}
}

// Nothing is changed if one of several processes cannot be.
func TestAllOrNothing(t *testing.T) {
	a, b := start(t), start(t)
	all := []*Process{a.opened(t), b.opened(t)}
	percent := int32(percentUnit)
	for _, p := range all {
		if err := p.Plan(Change{Percent: &percent}); err != nil {
			t.Fatal(err)
		}
	}
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait()
	if err := SetAll(all, nil); !errors.Is(err, goruntime.ErrGone) {
		t.Errorf("error %v", err)
	}
	if got := a.ask(""); got.gogc != "100" || got.limit != math.MaxInt64 {
		t.Errorf("the other has %+v", got)
	}
	a.ends()
}

// What is not a Go program, or not there, is an error.
func TestOpenOthers(t *testing.T) {
	if _, err := Open(testFS, math.MaxInt32); err == nil || err.Error() != "set process 2147483647: no such process" {
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

// A runtime of a version that is not in the tables is left alone.
func TestOpenUnknownVersion(t *testing.T) {
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	version := []byte(runtime.Version())
	if !regexp.MustCompile(`^go1\.\d\d\.`).Match(version) {
		t.Skipf("built by %s", version)
	}
	path := filepath.Join(t.TempDir(), "program")
	future := append([]byte("go1.99."), version[len("go1.99."):]...)
	if err := os.WriteFile(path, bytes.ReplaceAll(program, version, future), 0o755); err != nil {
		t.Fatal(err)
	}
	s := startProgram(t, path)
	if _, err := Open(testFS, s.cmd.Process.Pid); !errors.Is(err, layout.ErrUnknown) {
		t.Errorf("error %v", err)
	}
	s.ends()
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

// A change for a while whose folio and guard were both killed is continued by the next folio, or
// taken back, whatever it came to.
func TestResume(t *testing.T) {
	resumed := func(s subject, want bool) *Process {
		t.Helper()
		p := s.opened(t)
		if err := p.Hold(); err != nil {
			t.Fatal(err)
		}
		if ok, err := p.Resume(); ok != want || err != nil {
			t.Errorf("resumed: %v, %v; want %v", ok, err, want)
		}
		if !want {
			_ = p.Close() // and the lock
		}
		return p
	}
	has := func(s subject, gogc string, limit uint64) {
		t.Helper()
		if a := s.ask(""); a.gogc != gogc || a.limit != limit {
			t.Errorf("%+v; want %s, %d", a, gogc, limit)
		}
	}
	left := func(s subject, want bool) {
		t.Helper()
		if got := slices.Contains(Left(testFS), s.cmd.Process.Pid); got != want {
			t.Errorf("left: %v, want %v", got, want)
		}
	}
	percent, limit := int32(300), int64(1<<30)
	change := func(s subject, temporary bool) *Process {
		t.Helper()
		p := s.opened(t)
		if err := p.Plan(Change{&percent, &limit}); err != nil {
			t.Fatal(err)
		}
		p.Undo.Temporary = temporary // as Keep does
		if err := p.Apply(); err != nil {
			t.Fatal(err)
		}
		return p
	}
	whole := start(t)
	left(whole, false)
	resumed(whole, false) // nothing was set
	_ = change(whole, true)
	left(whole, true)
	p := resumed(whole, true)
	if p.Undo.Before != (goruntime.GCSettings{Percent: 100, Limit: math.MaxInt64}) {
		t.Errorf("%+v", p.Undo)
	}
	has(whole, "300", 1<<30)
	if err := p.Restore(nil); err != nil {
		t.Error(err)
	}
	has(whole, "100", math.MaxInt64)
	left(whole, false)

	// The limit was written, GOGC was not.
	half := start(t)
	p = change(half, true)
	if _, err := p.setter.Set(goruntime.GCSettings{Percent: 100, Limit: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	resumed(half, false)
	has(half, "100", math.MaxInt64)
	left(half, false)

	// The program has set its GOGC since.
	other := start(t)
	_ = change(other, true)
	other.ask("77")
	resumed(other, false)
	has(other, "77", math.MaxInt64)
	left(other, false)

	forever := start(t)
	_ = change(forever, false)
	left(forever, false)
	resumed(forever, false)
	has(forever, "300", 1<<30)
	for _, s := range []subject{whole, half, other, forever} {
		s.ends()
	}
}
