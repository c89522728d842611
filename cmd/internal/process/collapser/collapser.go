package collapser

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

// ErrEnded says that the process has ended. What is done by then was done.
var ErrEnded = errors.New("the process has ended")

// ErrOptedOut says that the process turned huge pages off.
var ErrOptedOut = errors.New("the process opted out of huge pages (prctl PR_SET_THP_DISABLE, in it or in what started it, such as systemd's MemoryTHP=disable), and the kernel makes none for it: start it without")

// An Outcome is what became of windows.
type Outcome struct {
	Collapsed  int
	Already    int // huge, and not by this Collapser
	Sparse     int // too sparse, some of them since they were planned
	Released   int // released or unmapped since they were planned
	OptedOut   int
	OverBudget int // beyond the budget
	Deferred   int // of those collapsed or refused before: not tried again so soon
	NotTried   int // not tried: interrupted, or the kernel has no huge pages

	Refused map[string]int // by the kernel, by its word for why: ENOMEM
	Reason  error          // of the last of them

	Bytes  uint64        // put on huge pages
	Filled uint64        // of Bytes: what was not resident, by which memory grew
	Spent  time.Duration // in the kernel, making huge pages
}

// Add adds what was done in a later pass, and takes over how that found the rest.
func (o *Outcome) Add(later Outcome) {
	refused := o.Refused
	for word, n := range later.Refused {
		if refused == nil {
			refused = make(map[string]int)
		}
		refused[word] += n
	}
	reason := o.Reason
	if later.Reason != nil {
		reason = later.Reason
	}
	collapsed, gone, bytes, filled, spent := o.Collapsed+later.Collapsed, o.Released+later.Released, o.Bytes+
		later.Bytes, o.Filled+later.Filled, o.Spent+later.Spent
	*o = later
	o.Collapsed, o.Released, o.Bytes, o.Filled, o.Spent = collapsed, gone, bytes, filled, spent
	o.Refused, o.Reason = refused, reason
}

// A kernel is what is asked about the process, and of it. Tests have another.
type kernel interface {
	// windows returns the whole windows that anything is in, and the bytes elsewhere.
	windows() (w []page.Window, cut uint64, err error)
	// collapse collapses one window if it is dense still.
	collapse(r page.Range, minDensity float64) (page.Collapsed, error)
	noHuge() ([]page.Range, error)
	// optedOut reports whether the process has turned huge pages off.
	optedOut() (bool, error)
	resident() (uint64, error)
	faults() (minor, major uint64, err error)
	close() error
}

// A Collapser collapses the memory of one process. It is for one goroutine.
type Collapser struct {
	// Progress is called after each window with what the pass has done so far, and how
	// many windows are left. Default: not.
	Progress func(done Outcome, left int)

	options Options
	kernel  kernel
	pace    pace
	spent   uint64 // of the budget
	noHuge  []page.Range
	done    map[uintptr]bool      // windows that are huge by us
	refused map[uintptr]time.Time // until when not to try them
	now     func() time.Time
	sleep   func(context.Context, time.Duration) error
}

// Open prepares to collapse the memory of a process. Its errors are an
// procmem.ErrNoProcess, an inspect.ErrNotGo, an [ErrOptedOut], or say what is missing,
// and how to get it. With dryRun no capability is needed, and Pass fails.
func Open(s *inspect.System, pid int, o Options, dryRun bool) (*Collapser, error) {
	c, err := open(s, pid, o, dryRun)
	if err != nil {
		return nil, fmt.Errorf("collapse process %d: %w", pid, s.FS.Unseen(pid, err))
	}
	return c, nil
}

func open(s *inspect.System, pid int, o Options, dryRun bool) (*Collapser, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if st, err := s.FS.Find(pid); err != nil {
		return nil, err
	} else if st.Zombie() {
		return nil, procmem.ErrEnding
	}
	process, err := page.OpenProcess(pid)
	if err != nil {
		return nil, err
	}
	k := &live{system: s, pid: pid, process: process, all: o.All}
	c := newCollapser(k, o)
	if err := c.check(k, dryRun); err != nil {
		process.Close()
		return nil, err
	}
	return c, nil
}

func newCollapser(k kernel, o Options) *Collapser {
	return &Collapser{
		options: o, kernel: k, pace: pace{rate: o.Rate},
		done: make(map[uintptr]bool), refused: make(map[uintptr]time.Time),
		now: time.Now, sleep: inspect.Wait,
	}
}

// check finds what forbids to collapse beforehand.
func (c *Collapser) check(k *live, dryRun bool) error {
	if page.HugeSize() == 0 {
		return fmt.Errorf("%w: no transparent huge pages in this kernel", page.ErrNotSupported)
	}
	status, err := k.system.FS.Status(k.pid)
	switch {
	case err != nil:
		return err
	case status.VmRSS == nil:
		return k.system.FS.NoMemory(k.pid)
	case status.THPDisabled():
		return ErrOptedOut
	}
	_, err = k.system.Areas(k.pid, c.options.All)
	switch {
	case errors.Is(err, fs.ErrPermission):
		if dryRun {
			return errors.New(k.system.FS.Denied(k.pid))
		}
		if err := k.mayCollapse(); err != nil {
			return err // says what is missing
		}
		return fmt.Errorf("its memory may not be looked at: %w", err)
	case errors.Is(err, inspect.ErrNotGo):
		return fmt.Errorf("%w: no Go build information; --all-anonymous collapses the memory of any program", inspect.ErrNotGo)
	case err != nil:
		return err
	}
	// Last: what is the matter with the process, no capability mends.
	if !dryRun {
		if err := k.mayCollapse(); err != nil {
			return err
		}
	}
	c.noHuge, err = k.noHuge()
	return err
}

// mayCollapse is page.Process.MayCollapse for an error that says already what is done.
func (k *live) mayCollapse() error {
	err := k.process.MayCollapse()
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// Options returns the options, with the defaults filled in.
func (c *Collapser) Options() Options { return c.options }

// Close lets go of the process.
func (c *Collapser) Close() error { return c.kernel.close() }

const (
	// again is after how long a window that was refused is tried once more.
	again = 30 * time.Second
	// mostRefusals in a row for lack of memory mean that the kernel has none to give.
	mostRefusals = 8
)

// Plan looks at the process. What was collapsed before and is huge still is not in it.
func (c *Collapser) Plan() (Plan, error) {
	windows, _, err := c.kernel.windows()
	if err != nil {
		return Plan{}, ended(err)
	}
	// What this Collapser has made huge is neither left to do nor was huge before.
	windows = slices.DeleteFunc(slices.Clone(windows), func(w page.Window) bool {
		return c.done[w.Range.Start] && w.Huge == uint64(w.Range.Len())
	})
	o, now := c.options, c.now()
	over := o.Budget > 0 && o.Budget <= c.spent
	if over {
		o.Budget = 1 // less than a window
	} else if o.Budget > 0 {
		o.Budget -= c.spent
	}
	return NewPlan(windows, o, c.noHuge, func(w page.Window) bool {
		if c.refused[w.Range.Start].After(now) {
			return true
		}
		// The program has given a part back since, and would do so again. Only
		// if it takes the whole window into use is that over.
		return c.done[w.Range.Start] && w.Resident < uint64(w.Range.Len())
	}), nil
}

// Pass makes a plan and carries it out. It ends early, with what was done so far, when
// ctx does, the process ends (ErrEnded), or it turns huge pages off (ErrOptedOut).
func (c *Collapser) Pass(ctx context.Context) (Outcome, error) {
	plan, err := c.Plan()
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{Already: plan.Already, Sparse: plan.Sparse, OptedOut: plan.OptedOut, OverBudget: plan.OverBudget, Deferred: plan.Deferred}
	short := 0 // refusals in a row for lack of memory
	for i, w := range plan.Todo {
		if err = c.sleep(ctx, c.pace.wait(c.now())); err != nil {
			out.NotTried = len(plan.Todo) - i
			return out, err
		}
		begin := c.now()
		c.pace.begin(begin, uint64(w.Range.Len()))
		got, err := c.kernel.collapse(w.Range, c.options.MinDensity)
		out.Spent += c.now().Sub(begin)
		if err == nil {
			err = got.Reason
		}
		switch {
		case err == nil:
			short = 0
			c.count(&out, w, got)
		case errors.Is(ended(err), ErrEnded), got.Refused == 0:
			out.NotTried = len(plan.Todo) - i
			return out, ended(err)
		case errors.Is(err, syscall.EINVAL) && c.optedOut():
			// Of all windows, since they were planned, and perhaps not for long: it
			// says nothing of this one.
			out.NotTried = len(plan.Todo) - i
			return out, ErrOptedOut
		default:
			out.refuse(err)
			c.refused[w.Range.Start] = begin.Add(again)
			if !errors.Is(err, syscall.ENOMEM) && !errors.Is(err, syscall.EBUSY) {
				continue
			}
			if short++; short == mostRefusals {
				out.NotTried = len(plan.Todo) - i - 1
				return out, nil
			}
		}
		if c.Progress != nil {
			c.Progress(out, len(plan.Todo)-i-1)
		}
	}
	return out, nil
}

func (c *Collapser) optedOut() bool {
	out, err := c.kernel.optedOut()
	return err == nil && out
}

// count adds what became of a window that nobody refused.
func (c *Collapser) count(out *Outcome, w page.Window, got page.Collapsed) {
	out.Collapsed += got.Collapsed
	out.Already += got.Already
	out.Sparse += got.Sparse
	out.Released += got.Empty
	if got.Collapsed > 0 {
		size := uint64(w.Range.Len())
		out.Bytes += size
		out.Filled += size - w.Resident
		c.spent += size
		c.done[w.Range.Start] = true
	}
}

func (o *Outcome) refuse(err error) {
	if o.Refused == nil {
		o.Refused = make(map[string]int)
	}
	o.Refused[word(err)]++
	o.Reason = err
}

// ended turns what the kernel says of a process that is no more into ErrEnded.
func ended(err error) error {
	if procmem.Gone(err) || errors.Is(err, os.ErrProcessDone) {
		return ErrEnded
	}
	return err
}
