package trial

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A peakReader reads the memory of the largest process of a trial whenever that is near its
// peak, in folio's own time. While no reading is near the peak it takes at most a tenth of one
// CPU, then a fiftieth, and less of a process that stays as it is.
type peakReader struct {
	system *inspect.System
	begun  func() time.Time
	peak   uint64 // of the sampler alone
	wake   chan peakLook
	stop   chan struct{}
	done   chan struct{}

	// After end: the last reading, and the one with the most RSS.
	last, most *Waterfall
}

const (
	// youngest is how long a program has run when it is first read: before, it may still
	// be another program, and it is not worth what finding its runtime costs.
	youngest = 50 * time.Millisecond
	// soonest and latest bound the time between two readings near the peak, and readShare is the
	// reciprocal of the part of a CPU that they take. Where the last one is not near it any
	// more hurry is that reciprocal.
	soonest   = 100 * time.Millisecond
	latest    = 5 * time.Second
	readShare = 50
	hurry     = 10
	// leastOfPeak is the part of the peak from which on a reading says something of it.
	leastOfPeak = 0.5
	// mostRest is how long a reading waits that is to be now, while another one is made.
	mostRest = time.Second
)

// A peakLook is the largest process at a look, and the peak until then.
type peakLook struct {
	pid  int
	peak uint64
	done chan struct{} // nil, or closed when it was read: now
}

func (l *peakLook) end() {
	if l.done != nil {
		close(l.done)
	}
}

func newPeakReader(files procmem.FS, begun func() time.Time) *peakReader {
	system := inspect.New()
	system.FS = files
	return &peakReader{system: system, begun: begun, wake: make(chan peakLook), stop: make(chan struct{}), done: make(chan struct{})}
}

// saw is told of each look at the largest process. It does not wait.
func (r *peakReader) saw(pid int, rss uint64) {
	r.peak = max(r.peak, rss)
	if pid == 0 || float64(rss) < NearPeak*float64(r.peak) {
		return
	}
	select {
	case r.wake <- peakLook{pid: pid, peak: r.peak}:
	default: // it is reading, or resting
	}
}

// now reads a process at once, and returns when that is done.
func (r *peakReader) now(pid int) {
	if pid == 0 {
		return
	}
	late := time.NewTimer(mostRest)
	defer late.Stop()
	look := peakLook{pid: pid, done: make(chan struct{})}
	select {
	case r.wake <- look:
		<-look.done
	case <-late.C:
	}
}

// end stops it. It must come before the pids can go to others.
func (r *peakReader) end() {
	close(r.stop)
	<-r.done
}

func (r *peakReader) run() {
	defer close(r.done)
	var w *inspect.Watcher
	defer func() {
		if w != nil {
			w.Close()
		}
	}()
	runtime.LockOSThread() // whose CPU time is known
	defer runtime.UnlockOSThread()
	of, rest := 0, soonest
	var next time.Time
	for {
		var look peakLook
		select {
		case look = <-r.wake:
		case <-r.stop:
			return
		}
		begin, used, pid := time.Now(), threadTime(), look.pid
		near := r.last != nil && float64(r.last.Process.Waterfall.RSS) >= NearPeak*float64(look.peak)
		if begin.Sub(r.begun()) < youngest || near && begin.Before(next) && look.done == nil {
			look.end()
			continue
		}
		if w != nil && (of != pid || !w.Attached()) { // what is not a Go program may have become one
			w.Close()
			w = nil
		}
		if w == nil {
			w, of = r.system.Watch(pid, inspect.Options{Brief: true, Ends: true}), pid
		}
		p, err := w.Read()
		if err != nil || p.Waterfall == nil {
			w.Close()
			w = nil
		} else {
			rest = min(2*rest, latest)
			if r.last == nil || differs(p.Waterfall.RSS, r.last.Process.Waterfall.RSS) {
				rest = soonest
			}
			r.add(&Waterfall{Process: p, At: p.Waterfall.At.Sub(r.begun())})
		}
		look.end()
		cost := threadTime() - used
		next = time.Now().Add(max(rest, readShare*cost))
		timer := time.NewTimer(untilTick(max(hurry*cost, minLook)))
		select {
		case <-timer.C:
		case <-r.stop:
			timer.Stop()
			return
		}
	}
}

// threadTime is the CPU time of the thread.
func threadTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &u) // it cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// differs reports whether two sizes differ by a hundredth.
func differs(a, b uint64) bool { return max(a, b)-min(a, b) > max(a, b)/100 }

func (r *peakReader) add(w *Waterfall) {
	r.last = w
	if r.most == nil || w.Process.Waterfall.RSS >= r.most.Process.Waterfall.RSS {
		r.most = w
	}
}

// best is the last reading near a peak, or else the one with the most RSS; nil for none.
func (r *peakReader) best(peak uint64) *Waterfall {
	for _, w := range []*Waterfall{r.last, r.most} {
		if w == nil {
			return nil
		}
		rss := w.Process.Waterfall.RSS
		w.OfPeak = min(float64(rss)/float64(max(peak, 1)), 1)
		if w.OfPeak >= NearPeak {
			if rss > peak {
				w.Process.Notes = append(w.Process.Notes, fmt.Sprintf(
					"RSS is %s above the peak RSS: here each page is counted, while the kernel's peak RSS is approximate", unit.Size(rss-peak)))
			}
			return w
		}
	}
	if r.most.OfPeak < leastOfPeak {
		return nil
	}
	return r.most
}
