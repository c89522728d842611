package gctune

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/foliomem/folio/internal/library/gccontrol"
)

// wakeGap bounds how often the tuner looks when GC cycles follow each other
// fast.
const wakeGap = 20 * time.Millisecond

// inForce reads the settings without changing anything.
func inForce() settings {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}}
	metrics.Read(s)
	return settings{gogc: int(int32(s[0].Value.Uint64())), limit: int64(s[1].Value.Uint64())}
}

// sentinel is garbage from the start: it has a pointer, so that it has a slot of
// its own in the heap.
type sentinel struct{ _ *byte }

// arm has the next GC cycle that finds the sentinel dead send to wake. A
// program that does not collect is not woken.
func arm(wake chan struct{}) {
	runtime.AddCleanup(&sentinel{}, func(wake chan struct{}) {
		select {
		case wake <- struct{}{}:
		default:
		}
	}, wake)
}

func (t *Tuner) run() {
	defer close(t.done)
	wake := make(chan struct{}, 1)
	arm(wake)
	pause := gccontrol.Tick
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		before := t.meter.last
		select {
		case <-t.stop:
			return
		case <-t.nudge:
			t.meter.budget.at = time.Time{}
		case <-wake:
			// Cleanups of several GC cycles in a row need no look each.
			select {
			case <-t.stop:
				return
			case <-time.After(t.settle()):
			}
			arm(wake)
		case <-timer.C:
		}
		s, d := t.look()
		pause = gccontrol.NextLook(pause, &before, &s, &d, t.found.gogc)
		if pause > 0 {
			timer.Reset(pause)
		} else {
			timer.Stop()
		}
	}
}

// settle is how long to wait before the next look.
func (t *Tuner) settle() time.Duration {
	since := time.Since(t.meter.start) - t.meter.last.Time
	return max(wakeGap-since, 0)
}

// look takes a sample and puts in force what follows from it.
func (t *Tuner) look() (gccontrol.Sample, gccontrol.Decision) {
	s := t.meter.sample(time.Now(), t.procs.extra())
	d := t.c.Next(s)
	t.procs.look(t.c.Late(), t.meter.count(mGoal))
	var gogc, limit uint64
	if !d.UserGOGC && d.GOGC != s.GOGC {
		if was := debug.SetGCPercent(d.GOGC); was != s.GOGC {
			// Somebody was faster. The next sample will show it.
			debug.SetGCPercent(was)
		} else {
			t.ours.gogc, gogc = d.GOGC, 1
		}
	}
	if !d.UserLimit && d.MemoryLimit != s.MemoryLimit {
		if was := debug.SetMemoryLimit(d.MemoryLimit); was != s.MemoryLimit {
			debug.SetMemoryLimit(was)
		} else {
			t.ours.limit, limit = d.MemoryLimit, 1
		}
	}
	t.mu.Lock()
	wasUnmet := t.decided.State == gccontrol.Emergency
	st := &t.stats
	t.decided = d
	st.decide(&d)
	st.Live, st.NonGo, st.Hard, st.Pressure = s.Live, s.NonGo, s.Hard, s.Pressure
	st.BudgetSource = *t.meter.budget.source.Load()
	st.Wakes++
	st.GOGCChanges += gogc
	st.LimitChanges += limit
	if d.Release && t.release() {
		st.Releases++
	}
	unmet := d.State == gccontrol.Emergency && !wasUnmet
	if unmet {
		st.Unmet++
	}
	t.mu.Unlock()
	if unmet && t.opts.OnUnmet != nil {
		go t.opts.OnUnmet(Unmet{Live: s.Live, Budget: s.Budget, Short: d.Short, Growth: d.Growth})
	}
	t.log(&s, &d)
	return s, d
}

// release returns what the heap does not need to the OS, unless that is being done. It
// takes a GC cycle, during which the tuner goes on looking.
func (t *Tuner) release() bool {
	if !t.releasing.CompareAndSwap(false, true) {
		return false
	}
	go func() {
		defer t.releasing.Store(false)
		debug.FreeOSMemory()
	}()
	return true
}
