package thrash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/cmd/internal/process/oom"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/procmem"
)

// Options say when, where to, and what then.
type Options struct {
	Times
	Then     Then
	Evidence oom.Options // its Stdout is told of each save, its Stderr all else
	FS       procmem.FS
	Dies     func() // called each time; nil for nothing
}

// A watched process is one that is read.
type watched struct {
	*livegc.Process
	*Options
	judge
	saver  *oom.Saver
	handle *os.Process // for TERM
	gc     goruntime.GC
	cpu    time.Duration // of the process, at the first reading of judge; 0 for not known
	first  uint64        // the limit before it was raised
	raised uint64
}

// Watch watches processes until all have ended, or until ctx.
func Watch(ctx context.Context, all []*livegc.Process, o Options) error {
	var left []*watched
	for _, p := range all {
		w, err := o.open(p)
		if err != nil {
			return err
		}
		defer w.close()
		left = append(left, w)
	}
	for _, w := range left {
		text, err := w.Say()
		if err == nil {
			err = w.say("%s", text)
		}
		if err != nil {
			return err
		}
	}
	err := o.Evidence.Stderr.Line("watching: where GOMEMLIMIT keeps the effective GOGC below %d for %s, saves evidence in %s%s",
		Least, unit.Span(o.For), o.Evidence.Save, o.Then.does())
	tick := time.NewTicker(o.Every)
	defer tick.Stop()
	for len(left) > 0 && err == nil {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		left = slices.DeleteFunc(left, func(w *watched) bool {
			ended, failed := w.look(ctx, time.Now())
			err = errors.Join(err, failed)
			return ended
		})
	}
	return err
}

// open prepares to watch a process, and to do then what is to be done.
func (o *Options) open(p *livegc.Process) (w *watched, err error) {
	w = &watched{Process: p, Options: o, judge: judge{Times: o.Times}}
	if w.saver, err = oom.NewSaver(p.PID, o.Evidence); err != nil || !o.Then.Term {
		return w, err
	}
	// The handle stays that of this process: its number may be given to another.
	if w.handle, err = os.FindProcess(p.PID); err == nil && w.same() {
		err = w.handle.Signal(syscall.Signal(0))
	}
	if err != nil {
		return w, fmt.Errorf("set --watch: send TERM to process %d (%s): %w", p.PID, p.Name, err)
	}
	return w, nil
}

func (w *watched) close() {
	if w.handle != nil {
		_ = w.handle.Release()
	}
}

// same reports whether the process that was opened still runs, whatever its program is. One that
// is ending has no memory.
func (w *watched) same() bool {
	status, err := w.FS.Status(w.PID)
	st, gone := w.FS.Stat(w.PID)
	return err == nil && gone == nil && status.VmRSS != nil && st.StartTime == w.Undo.Started && !st.Zombie()
}

// say says a line.
func (w *watched) say(format string, args ...any) error {
	return w.Evidence.Stderr.Line(format, args...)
}

// sayOf says a line about the process.
func (w *watched) sayOf(format string, args ...any) error {
	return w.say("process %d (%s)%s", w.PID, w.Name, fmt.Sprintf(format, args...))
}

// look reads the process, and does what is to be done. ended says that there is no more to read.
func (w *watched) look(ctx context.Context, now time.Time) (ended bool, err error) {
	switch err := w.ReadGC(&w.gc); {
	case errors.Is(err, goruntime.ErrInconsistent):
		return false, nil // it changed while it was read: the next reading may do
	case errors.Is(err, goruntime.ErrGone) && w.same():
		return true, w.sayOf(" began another program: readings end there")
	case errors.Is(err, goruntime.ErrGone):
		return true, w.sayOf(" has ended")
	case err != nil:
		return true, fmt.Errorf("set --watch: process %d (%s): %w", w.PID, w.Name, err)
	}
	dies := w.add(now, &w.gc)
	if w.readings == 1 {
		w.cpu = w.cpuTime()
	}
	if !dies {
		return false, nil
	}
	if w.Options.Dies != nil {
		w.Options.Dies()
	}
	err = w.saver.Save(ctx, w.why(now))
	switch {
	case ctx.Err() != nil:
	case w.Then.Term:
		err = errors.Join(err, w.term())
	case w.Then.raises():
		err = errors.Join(err, w.raise())
	}
	return false, err
}

// cpuTime is the CPU time of the process; 0 for not known.
func (w *watched) cpuTime() time.Duration {
	st, err := w.FS.Stat(w.PID)
	if err != nil {
		return 0
	}
	return st.UTime + st.STime
}

// why says what is seen.
func (w *watched) why(now time.Time) string {
	limit := livegc.GOMEMLIMIT(w.gc.MemoryLimit)
	if s, err := w.State(); err == nil {
		limit = fmt.Sprintf("%s (%s)", livegc.GOMEMLIMIT(s.Limit), s.LimitBy)
	}
	percent, _ := low(&w.gc)
	text := fmt.Sprintf("process %d (%s): effective GOGC %.1f, below %d for %s (since %s), because of GOMEMLIMIT=%s: live heap %s", w.PID, w.Name,
		percent, Least, unit.Span(now.Sub(w.since).Round(time.Second/10)), w.since.Format(time.TimeOnly), limit, unit.Size(w.gc.Live))
	// The runtime counts for how long a P did something, even while the kernel ran something else.
	gc, cpu := gcTime(&w.gc)-w.judge.gc, w.cpuTime()-w.cpu
	if w.cpu > 0 && gc <= cpu {
		text += fmt.Sprintf(", GC %s of its CPU time", unit.Percent(gc.Seconds()/cpu.Seconds()))
	}
	return text
}

// term sends TERM.
func (w *watched) term() error {
	if err := w.handle.Signal(syscall.SIGTERM); err != nil {
		return w.sayOf(": TERM was not sent: %v", err)
	}
	return w.sayOf(": sent TERM")
}
