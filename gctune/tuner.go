package gctune

import (
	"errors"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/foliomem/folio/internal/library/gccontrol"
	"github.com/foliomem/folio/internal/system/procmem"
)

// Tuner sets GOGC and the memory limit of this process until it is stopped. Its methods may be
// called by many goroutines at once. A nil Tuner, as of a Start that failed, has stopped and
// has done nothing.
type Tuner struct {
	opts  Options
	c     *gccontrol.Controller
	meter *meter
	found settings
	ours  settings // what is in force because of us
	stop  chan struct{}
	nudge chan struct{}
	done  chan struct{}
	once  sync.Once
	procs *secondP

	releasing atomic.Bool // memory is being released

	mu      sync.Mutex // guards stats
	stats   Stats
	decided gccontrol.Decision // the last one
	logged  gccontrol.Decision
}

// settings are those that a Tuner may change.
type settings struct {
	gogc  int
	limit int64
}

// ErrStarted is wrapped by the error of a second Start.
var ErrStarted = errors.New("a tuner runs in this process already: stop it first")

var running atomic.Bool

// Start starts to tune this process. A process can have one tuner at a time, since GOGC and
// the memory limit are the process's: while one runs, the error wraps [ErrStarted]. The only
// other errors are options that are out of range: Threshold, Target or MaxCost not from 0 to
// below 1, an unknown SecondP, a negative Floor, Ceiling or MinCycle. Start changes nothing
// if it fails. A memory limit that cannot be read is not an error: see Systems above.
func Start(o *Options) (*Tuner, error) {
	return start(o, procmem.FS{})
}

func start(o *Options, fs procmem.FS) (*Tuner, error) {
	if o == nil {
		o = &Options{}
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if !running.CompareAndSwap(false, true) {
		return nil, &startError{ErrStarted}
	}
	t := &Tuner{opts: *o, stop: make(chan struct{}), nudge: make(chan struct{}, 1), done: make(chan struct{}), procs: newSecondP(o)}
	t.meter = newMeter(fs, newBudgeter(fs, o), o.Throughput)
	found := inForce()
	t.found, t.ours = found, found
	p := o.params()
	p.UserGOGC = found.gogc != gccontrol.Base || validGOGC(os.Getenv("GOGC"))
	p.UserLimit = found.limit != math.MaxInt64 || os.Getenv("GOMEMLIMIT") != ""
	t.c = gccontrol.NewController(p)
	t.look() // the limit holds from now on, not from the first GC cycle
	go t.run()
	return t, nil
}

type startError struct{ cause error }

func (e *startError) Error() string { return "start gctune: " + e.cause.Error() }
func (e *startError) Unwrap() error { return e.cause }

func (o *Options) check() error {
	for _, f := range []struct {
		name string
		v    float64
	}{{"Threshold", o.Threshold}, {"Target", o.Target}, {"MaxCost", o.MaxCost}} {
		if !(f.v >= 0 && f.v < 1) {
			return &startError{errors.New("Options." + f.name + " is not a share from 0 to 1: " + strconv.FormatFloat(f.v, 'g', -1, 64))}
		}
	}
	if o.SecondP < SecondPOff || o.SecondP > SecondPGC {
		return &startError{errors.New("Options.SecondP is not SecondPOff, SecondPSweep or SecondPGC: " + strconv.Itoa(int(o.SecondP)))}
	}
	if o.Floor < 0 || o.Ceiling < 0 || o.MinCycle < 0 {
		return &startError{errors.New("Options.Floor, Ceiling and MinCycle cannot be negative")}
	}
	return nil
}

// validGOGC reports whether the runtime takes GOGC from the environment: it
// ignores what it does not understand.
func validGOGC(v string) bool {
	if v == "off" {
		return true
	}
	_, err := strconv.ParseInt(v, 10, 32)
	return err == nil
}

// SetBudget replaces [Options].Budget, in bytes; 0 restores the default. The tuner applies it
// within milliseconds.
func (t *Tuner) SetBudget(budget uint64) {
	if t == nil {
		return
	}
	t.meter.budget.wish.Store(budget)
	select {
	case t.nudge <- struct{}{}:
	default: // it will look anyway
	}
}

// Stats returns what the tuner has done and measured. It takes a lock and reads no
// counters: the figures are those of the last time that the tuner woke.
func (t *Tuner) Stats() Stats {
	if t == nil {
		return Stats{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.stats
	s.SecondP = t.procs.raised.Load()
	return s
}

// Stop stops the tuner and restores the settings that Start found, except those that
// were changed since by others. On a single CPU it waits for a GC cycle that runs with a
// second P. It may be called more than once.
func (t *Tuner) Stop() {
	if t == nil {
		return
	}
	t.once.Do(func() {
		close(t.stop)
		<-t.done
		t.procs.close()
		now := inForce()
		if now.gogc == t.ours.gogc && now.gogc != t.found.gogc {
			debug.SetGCPercent(t.found.gogc)
		}
		if now.limit == t.ours.limit && now.limit != t.found.limit {
			debug.SetMemoryLimit(t.found.limit)
		}
		running.Store(false)
	})
}
