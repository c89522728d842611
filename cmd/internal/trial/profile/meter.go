package profile

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/base/input"
	"github.com/foliomem/folio/internal/system/perf"
)

// A Meter says of each sample what class it is of, and keeps no stacks: it is for many
// processes over any time, in bounded memory. A sample is told from the names that a
// [Collector] would give it. A Meter is for one goroutine at a time.
type Meter struct {
	opts   Options
	c      *Collector
	budget *symbol.Budget
	window int // how often Begin was called
}

// Bounds of what a meter remembers: places some 500 bytes each; files that are open, most
// of them some KiB; and what was read of those.
const (
	meterPlaces  = 1 << 13
	meterObjects = 256
	meterKnown   = 1 << 9
	meterKept    = 4 << 20
	meterSearch  = 512 << 20 // bytes of files in a window
	// meterIdle is for how many windows a file stays open that no process had mapped. An
	// open file keeps its disk space, even that of a container that was removed.
	meterIdle = 4
)

// NewMeter returns a meter; nil options are defaults.
func NewMeter(opts *Options) *Meter {
	m := &Meter{budget: symbol.BudgetOf(meterKept, meterSearch)}
	if opts != nil {
		m.opts = *opts
	}
	if m.opts.open == nil {
		m.opts.open = func(at *perf.Mapping) *object { return openObject(m.opts.Root, at, m.budget) }
	}
	m.c = m.fresh()
	return m
}

func (m *Meter) fresh() *Collector {
	c := New(&m.opts)
	c.mostKnown, c.window = meterKnown, m.window
	return c
}

// Begin begins a window. All processes are forgotten: what comes may be others with their
// numbers. Names of code stay known until there are too many, and files open while
// processes have them mapped.
func (m *Meter) Begin() {
	m.window++
	m.c.window = m.window
	m.budget.Renew(meterSearch)
	clear(m.c.processes)
	for id, n := range m.c.byID {
		if o := m.c.objects[n]; m.window-o.used > meterIdle {
			o.close()
			delete(m.c.byID, id) // its number is not given again
		}
	}
	if len(m.c.byID) > meterObjects || len(m.c.objects) > input.MaxObjectFiles/2 {
		m.Close()
	}
	if len(m.c.places) > meterPlaces {
		m.c.forgetPlaces()
	}
	m.forgetFiles()
}

// forgetFiles drops what was read of files. They stay open.
func (m *Meter) forgetFiles() {
	for _, n := range m.c.byID {
		if o := m.c.objects[n]; o.syms != nil {
			o.syms.Forget()
		}
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
	if m.budget.Kept() > meterKept {
		m.forgetFiles()
	}
	e := m.c.stack(s)
	return m.c.classOf(&e), !m.c.unnamed(&e)
}

// Close closes the files that were opened for their symbols. The meter can be used on.
func (m *Meter) Close() {
	m.c.Close()
	m.c = m.fresh()
}
