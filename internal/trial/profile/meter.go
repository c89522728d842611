package profile

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/foliomem/folio/internal/program/symbol"
	"github.com/foliomem/folio/internal/system/perf"
)

// A Meter says of each sample what class it is of, and keeps no stacks: it is for many
// processes over any time, in bounded memory. A sample is told from the names that a
// [Collector] would give it. A Meter is for one goroutine at a time.
type Meter struct {
	opts Options
	c    *Collector
}

// Bounds of what a meter remembers: places some 500 bytes each, and files that are open.
const (
	meterPlaces  = 1 << 14
	meterObjects = 64
	meterKnown   = 1 << 9
)

// NewMeter returns a meter; nil options are defaults.
func NewMeter(opts *Options) *Meter {
	m := &Meter{}
	if opts != nil {
		m.opts = *opts
	}
	if m.opts.open == nil {
		budget := symbol.NewBudget()
		m.opts.open = func(at *perf.Mapping) *object { return openObject(m.opts.Root, at, budget) }
	}
	m.c = m.fresh()
	return m
}

func (m *Meter) fresh() *Collector {
	c := New(&m.opts)
	c.mostKnown = meterKnown
	return c
}

// Begin forgets all processes: what comes may be others with their numbers. Names of code
// stay known until there are too many.
func (m *Meter) Begin() {
	clear(m.c.processes)
	if len(m.c.places) > meterPlaces || len(m.c.objects) > meterObjects {
		m.Close()
	}
}

// Forget drops what a process has mapped: another has its number.
func (m *Meter) Forget(pid int) { delete(m.c.processes, pid) }

// Add says what a process has mapped.
func (m *Meter) Add(pid int, mappings []perf.Mapping) {
	m.c.process(pid)
	exe, changed := "", int64(0)
	path := filepath.Join("/", m.opts.Root, "proc", strconv.Itoa(pid), "exe")
	if info, err := os.Stat(path); err == nil {
		exe, _ = os.Readlink(path)
		changed = changedAt(info)
	}
	for i := range mappings {
		at := &mappings[i]
		m.c.changed = 0
		if at.Path == exe {
			m.c.changed = changed // another file can have the same number, later
		}
		m.c.mmap(at)
	}
	m.c.changed = 0
}

// Class returns the class of a sample. ok is false if the process was not added, or has
// no code that the sample can be of.
func (m *Meter) Class(s *perf.Sample) (class Class, ok bool) {
	if s.Kind != perf.CPU || m.c.processes[s.PID] == nil {
		return "", false
	}
	if len(m.c.places) > 2*meterPlaces {
		m.c.forgetPlaces()
	}
	e := m.c.stack(s)
	return m.c.classOf(&e), !m.c.unnamed(&e)
}

// Close closes the files that were opened for their symbols. The meter can be used on.
func (m *Meter) Close() {
	m.c.Close()
	m.c = m.fresh()
}
