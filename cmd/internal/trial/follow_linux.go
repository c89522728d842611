package trial

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/collapser"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/internal/library/heapmap"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

// followEvery is how often the processes of a trial are looked at for heap that has
// grown.
const followEvery = 200 * time.Millisecond

// A follower puts the Go heaps of a program's processes on huge pages as they grow:
// what THPCollapse means. It works in folio's time, not in the program's, other than
// that the program waits for a window that it uses just then.
type follower struct {
	members func() []int
	system  *inspect.System
	files   procmem.FS
	cancel  context.CancelFunc
	done    chan struct{}

	// After end:
	total collapser.Outcome
	err   error // why none could be made
}

func newFollower(files procmem.FS, members func() []int) *follower {
	return &follower{members: members, files: files, system: inspect.New(), done: make(chan struct{}), cancel: func() {}}
}

// start follows until end.
func (f *follower) start() {
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	background(func() {
		defer close(f.done)
		f.run(ctx)
	})
}

// end stops. It must come before the members' pids can go to others.
func (f *follower) end() {
	f.cancel()
	<-f.done
}

func (f *follower) run(ctx context.Context) {
	open := make(map[int]*collapser.Collapser)
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	for wait := followEvery / 4; ; wait = min(2*wait, followEvery) {
		timer := time.NewTimer(untilTick(wait))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		living := make(map[int]bool)
		for _, pid := range f.members() {
			living[pid] = true
			f.look(ctx, open, pid)
		}
		for pid, c := range open {
			if !living[pid] {
				c.Close()
				delete(open, pid)
			}
		}
	}
}

// look collapses what is dense in one process. One that is not a Go program yet may
// become one by exec.
func (f *follower) look(ctx context.Context, open map[int]*collapser.Collapser, pid int) {
	m, err := f.files.Statm(pid)
	if err != nil || m.RSS < 2*uint64(page.WindowSize()) {
		return // most compilers, and all shells
	}
	c := open[pid]
	if c == nil {
		if c, err = collapser.Open(f.system, pid, collapser.Options{}, false); err != nil {
			f.fail(err)
			return
		}
		open[pid] = c
	}
	out, err := c.Pass(ctx)
	f.total.Add(out)
	if err != nil {
		c.Close()
		delete(open, pid)
		f.fail(err)
	}
}

// fail keeps an error that a user must know: others are of processes that ended, or
// that have no Go heap.
func (f *follower) fail(err error) {
	if f.err == nil && (errors.Is(err, syscall.EPERM) || errors.Is(err, fs.ErrPermission) ||
		errors.Is(err, page.ErrNotSupported) || errors.Is(err, collapser.ErrOptedOut)) &&
		!errors.Is(err, heapmap.ErrNotFound) && !errors.Is(err, inspect.ErrNotGo) {
		f.err = err
	}
}

// fill puts what was done into a sample. A setting that had no effect for want of a
// right is a failure: the figures are of another setting.
func (f *follower) fill(out *Sample) {
	bytes, seconds := f.total.Bytes, f.total.Spent.Seconds()
	out.CollapsedBytes, out.CollapseSeconds = &bytes, &seconds
	if f.err != nil && bytes == 0 && out.Failure == "" {
		out.Failure = fmt.Sprintf("--thp collapse: %v", f.err)
	}
}
