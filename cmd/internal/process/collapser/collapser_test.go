package collapser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/system/page"
)

// fake is a process with windows of 2 MiB, and a clock that stands still but for
// sleeps and collapses.
type fake struct {
	all    []page.Window
	answer func(i int) (page.Collapsed, error) // for the i-th window; nil: it is collapsed
	opted  bool                                // out of huge pages
	asked  []int
	at     time.Time
	slept  time.Duration
}

func (f *fake) collapser(t *testing.T, o Options) *Collapser {
	t.Helper()
	o, err := o.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	f.at = time.Unix(1000, 0)
	c := newCollapser(f, o)
	c.now = func() time.Time { return f.at }
	c.sleep = func(ctx context.Context, d time.Duration) error {
		f.at = f.at.Add(d)
		f.slept += d
		return ctx.Err()
	}
	return c
}

func (f *fake) windows() ([]page.Window, uint64, error) { return f.all, 0, nil }
func (f *fake) noHuge() ([]page.Range, error)           { return nil, nil }
func (f *fake) optedOut() (bool, error)                 { return f.opted, nil }
func (f *fake) resident() (uint64, error)               { return 1 << 30, nil }
func (f *fake) faults() (uint64, uint64, error)         { return uint64(f.at.Unix()), 7, nil }
func (f *fake) close() error                            { return nil }

func (f *fake) collapse(r page.Range, _ float64) (page.Collapsed, error) {
	i := int(r.Start / size)
	f.asked = append(f.asked, i)
	f.at = f.at.Add(time.Millisecond)
	if f.answer != nil {
		if c, err := f.answer(i); err != nil || c != (page.Collapsed{}) {
			return c, err
		}
	}
	for k := range f.all {
		if f.all[k].Range.Start == r.Start {
			f.all[k].Resident, f.all[k].Huge = size, size
		}
	}
	return page.Collapsed{Collapsed: 1}, nil
}

func dense(n int) *fake {
	f := &fake{}
	for i := range n {
		f.all = append(f.all, window(i, size, 0))
	}
	return f
}

func refused(err error) (page.Collapsed, error) {
	return page.Collapsed{Refused: 1, Reason: fmt.Errorf("collapse: %w", err)}, nil
}

func TestPass(t *testing.T) {
	f := dense(5)
	f.all[1].Resident = size / 10 * 9
	f.answer = func(i int) (page.Collapsed, error) {
		switch i {
		case 2:
			return refused(syscall.EAGAIN)
		case 3:
			return page.Collapsed{Sparse: 1}, nil // since it was planned
		case 4:
			return page.Collapsed{Empty: 1}, nil
		}
		return page.Collapsed{}, nil
	}
	c := f.collapser(t, Options{})
	out, err := c.Pass(context.Background())
	if err != nil || fmt.Sprint(f.asked) != "[0 2 3 4 1]" {
		t.Errorf("asked %v, %v", f.asked, err)
	}
	if out.Collapsed != 2 || out.Refused["EAGAIN"] != 1 || out.Sparse != 1 || out.Released != 1 ||
		out.Bytes != 2*size || out.Filled != size-size/10*9 || out.Spent != 5*time.Millisecond || !errors.Is(out.Reason, syscall.EAGAIN) {
		t.Errorf("%+v", out)
	}
	// What was refused waits; what the program gave a part of back is left to it.
	f.all[0].Huge, f.all[0].Resident = 0, size-4096
	f.asked, f.answer = nil, nil
	out, err = c.Pass(context.Background())
	if err != nil || fmt.Sprint(f.asked) != "[3 4]" || out.Deferred != 2 || out.Already != 0 {
		t.Errorf("asked %v, %+v, %v", f.asked, out, err)
	}
	// Later it is tried again, and so is a window that is full again.
	f.at = f.at.Add(again)
	f.all[0].Resident = size
	f.asked = nil
	if _, err = c.Pass(context.Background()); err != nil || fmt.Sprint(f.asked) != "[0 2]" {
		t.Errorf("asked %v, %v", f.asked, err)
	}
}

func TestPaceIsKept(t *testing.T) {
	f := dense(10)
	c := f.collapser(t, Options{Rate: 100 * size})
	if out, err := c.Pass(context.Background()); err != nil || out.Collapsed != 10 {
		t.Errorf("%+v, %v", out, err)
	}
	// Ten windows of 10 ms each, the last of which nobody waits for.
	if took := f.at.Sub(time.Unix(1000, 0)); took != 91*time.Millisecond {
		t.Errorf("took %v", took)
	}
	// A pause is not made up for.
	p := &pace{rate: size}
	p.begin(time.Unix(0, 0), size)
	if w := p.wait(time.Unix(100, 0)); w != 0 {
		t.Errorf("wait %v", w)
	}
	p.begin(time.Unix(100, 0), size)
	if w := p.wait(time.Unix(100, 0)); w != time.Second {
		t.Errorf("wait %v, want 1s", w)
	}
}

func TestBudgetIsForAllPasses(t *testing.T) {
	f := dense(3)
	c := f.collapser(t, Options{Budget: 4*size + 1})
	ctx := context.Background()
	for pass, want := range []int{3, 1, 0} {
		out, err := c.Pass(ctx)
		if err != nil || out.Collapsed != want {
			t.Errorf("pass %d: %+v, %v", pass, out, err)
		}
		if want < 3 && out.OverBudget == 0 {
			t.Errorf("pass %d: %+v: nothing is beyond the budget", pass, out)
		}
		for i := range 3 {
			f.all = append(f.all, window(10*pass+10+i, size, 0))
		}
	}
}

func TestNoHugePagesLeft(t *testing.T) {
	for _, why := range []error{syscall.ENOMEM, syscall.EBUSY} {
		f := dense(100)
		f.answer = func(int) (page.Collapsed, error) { return refused(why) }
		out, err := f.collapser(t, Options{}).Pass(context.Background())
		if err != nil || len(f.asked) != mostRefusals || out.NotTried != 100-mostRefusals {
			t.Errorf("%v: asked %d times, %+v, %v", why, len(f.asked), out, err)
		}
	}
	// Others are of the window, not of the kernel.
	f := dense(100)
	f.answer = func(int) (page.Collapsed, error) { return refused(syscall.EINVAL) }
	if out, err := f.collapser(t, Options{}).Pass(context.Background()); err != nil || out.Refused["EINVAL"] != 100 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestOptsOutAndInAgain(t *testing.T) {
	f := dense(5)
	f.answer = func(i int) (page.Collapsed, error) {
		if f.opted = i == 2; f.opted {
			return refused(syscall.EINVAL)
		}
		return page.Collapsed{}, nil
	}
	c := f.collapser(t, Options{})
	if out, err := c.Pass(context.Background()); !errors.Is(err, ErrOptedOut) || out.Collapsed != 2 ||
		out.NotTried != 3 || out.Refused != nil {
		t.Errorf("opted out: %+v, %v", out, err)
	}
	f.answer, f.opted = nil, false
	if out, err := c.Pass(context.Background()); err != nil || out.Collapsed != 3 || out.Deferred != 0 {
		t.Errorf("opted in again: %+v, %v", out, err)
	}
}

func TestEndsEarly(t *testing.T) {
	for name, err := range map[string]error{"refused": nil, "no such file": os.ErrNotExist, "done": fmt.Errorf("x: %w", os.ErrProcessDone)} {
		f := dense(5)
		f.answer = func(i int) (page.Collapsed, error) {
			switch {
			case i < 2:
				return page.Collapsed{}, nil
			case err != nil:
				return page.Collapsed{}, err
			}
			return refused(syscall.ESRCH)
		}
		if out, err := f.collapser(t, Options{}).Pass(context.Background()); !errors.Is(err, ErrEnded) ||
			out.Collapsed != 2 || out.NotTried != 3 {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := dense(5)
	f.answer = func(i int) (page.Collapsed, error) {
		if i == 1 {
			cancel()
		}
		return page.Collapsed{}, nil
	}
	if out, err := f.collapser(t, Options{}).Pass(ctx); !errors.Is(err, context.Canceled) || out.Collapsed != 2 || out.NotTried != 3 {
		t.Errorf("interrupted: %+v, %v", out, err)
	}
	f = dense(5)
	broken := errors.New("broken")
	f.answer = func(int) (page.Collapsed, error) { return page.Collapsed{}, broken }
	if out, err := f.collapser(t, Options{}).Pass(context.Background()); !errors.Is(err, broken) || out.NotTried != 5 {
		t.Errorf("broken: %+v, %v", out, err)
	}
}

func TestWatch(t *testing.T) {
	f := dense(2)
	c := f.collapser(t, Options{})
	var total Outcome
	passes := 0
	ctx, cancel := context.WithCancel(context.Background())
	err := c.Watch(ctx, time.Second, func(out Outcome) {
		total.Add(out)
		if passes++; passes == 3 {
			cancel()
		}
		f.all = append(f.all, window(10+passes, size, 0))
	})
	if !errors.Is(err, context.Canceled) || passes != 3 || total.Collapsed != 4 || total.Bytes != 4*size || total.Already != 0 {
		t.Errorf("%d passes, %+v, %v", passes, total, err)
	}
	if f.slept < 3*time.Second {
		t.Errorf("slept %v", f.slept)
	}
}

// Each window counts once, however often the process is looked at: what was collapsed is
// not huge already, and where the program takes a part of it back it is not sparse. Only
// Deferred is of those that count elsewhere.
func TestWatchCountsOnce(t *testing.T) {
	f := dense(4)
	f.all[0].Huge, f.all[1].Resident = size, size/4
	f.answer = func(i int) (page.Collapsed, error) {
		if i == 3 {
			return refused(syscall.EAGAIN)
		}
		return page.Collapsed{}, nil
	}
	c := f.collapser(t, Options{})
	var total Outcome
	for pass, deferred := range []int{0, 1, 2} {
		out, err := c.Pass(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		total.Add(out)
		want := Outcome{Collapsed: 1, Already: 1, Sparse: 1, Deferred: deferred, Refused: map[string]int{"EAGAIN": 1}, Reason: total.Reason, Bytes: size, Spent: 2 * time.Millisecond}
		if fmt.Sprint(total) != fmt.Sprint(want) {
			t.Errorf("pass %d: %+v, want %+v", pass, total, want)
		}
		if pass == 1 {
			f.all[2].Huge, f.all[2].Resident = 0, size/4
		}
	}
}

func TestOutcomesAddUp(t *testing.T) {
	var o Outcome
	o.Add(Outcome{Collapsed: 1, Already: 5, Refused: map[string]int{"EAGAIN": 1}, Reason: syscall.EAGAIN, Bytes: 3, Spent: 1, Released: 1})
	o.Add(Outcome{Collapsed: 2, Already: 6, Sparse: 1, Refused: map[string]int{"EAGAIN": 1, "ENOMEM": 2}, Bytes: 4, Filled: 1, Spent: 1})
	want := Outcome{Collapsed: 3, Already: 6, Sparse: 1, Released: 1, Refused: map[string]int{"EAGAIN": 2, "ENOMEM": 2},
		Reason: syscall.EAGAIN, Bytes: 7, Filled: 1, Spent: 2}
	if fmt.Sprint(o) != fmt.Sprint(want) {
		t.Errorf("%+v, want %+v", o, want)
	}
}

func TestState(t *testing.T) {
	f := dense(4)
	f.all[0].Huge = size
	s, err := f.collapser(t, Options{}).State(context.Background(), 2*time.Second)
	if err != nil || s.Resident != 1<<30 || s.Faults == nil || s.Faults.Minor != 2 || s.Faults.Over != 2*time.Second {
		t.Errorf("%+v, %v", s, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if s, err := f.collapser(t, Options{}).State(ctx, time.Second); err != nil || s.Faults != nil {
		t.Errorf("interrupted: %+v, %v", s, err)
	}
}
