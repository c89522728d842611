package node

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/program/layout"
	"github.com/foliomem/folio/internal/library/heapmap"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A System is the Looker of the running system.
type System struct {
	fs     procmem.FS
	system *inspect.System
}

// NewSystem returns the running system.
func NewSystem() *System { return &System{fs: procmem.New(""), system: inspect.New()} }

// kept is what the System keeps of a process.
type kept struct {
	target *goruntime.Target
	tried  int       // to attach
	again  time.Time // when next
	noHuge []page.Range
	opted  bool // noHuge is known
}

// Bounds of what a look costs.
const (
	bloatPages = 16
	mostTries  = 3
)

// Look reads the memory of a process.
func (s *System) Look(p *Process, depth Depth, m *Memory) (reason string) {
	k, _ := p.state.(*kept)
	if k == nil {
		k = &kept{}
		p.state = k
	}
	worst := func(why string) {
		if reason == "" {
			reason = why
		}
	}
	status, err := s.fs.Status(p.PID)
	if err != nil || status.VmRSS == nil {
		return Vanished
	}
	m.StatusKnown = true
	m.Anon, m.File, m.Shmem = status.RssAnon, status.RssFile, status.RssShmem
	worst(s.runtime(p, k, m))
	if depth >= Heap {
		worst(s.heap(p, k, depth, status.THPDisabled(), m))
	}
	return reason
}

// runtime reads what the Go runtime says.
func (s *System) runtime(p *Process, k *kept, m *Memory) string {
	if k.target == nil {
		if k.tried >= mostTries || time.Now().Before(k.again) {
			return ""
		}
		k.tried++
		k.again = time.Now().Add(time.Minute)
		var err error
		if k.target, err = goruntime.Attach(s.fs, p.PID); err != nil {
			k.target = nil
			return why(err)
		}
	}
	st, err := k.target.Stats()
	process, gone := s.fs.Stat(p.PID)
	switch {
	case errors.Is(err, goruntime.ErrInconsistent):
		return "" // it changed while it was read: what is known stays
	case err != nil:
		k.target.Close()
		k.target, m.RuntimeKnown = nil, false
		m.Live, m.Goal, m.GOGC, m.Limit, m.hasCounts = nil, nil, nil, nil, false
		return why(err)
	}
	m.RuntimeKnown = true
	m.counts = counts{st.Cycles, st.TotalAlloc, process.UTime + process.STime}
	m.hasCounts = gone == nil
	m.Live = &st.Live
	m.GOGC, m.Goal, m.Limit = new(math.Inf(1)), nil, new(math.Inf(1))
	if st.Percent >= 0 {
		*m.GOGC = float64(st.Percent)
		m.Goal = new(st.Live + uint64(float64(st.Live+st.Stacks)*float64(st.Percent)/100))
	}
	if st.MemoryLimit != math.MaxInt64 {
		*m.Limit = float64(st.MemoryLimit)
	}
	return ""
}

// heap looks at the windows of the heap.
func (s *System) heap(p *Process, k *kept, depth Depth, disabled bool, m *Memory) string {
	ranges, err := heapmap.Find(p.PID)
	if err != nil {
		m.HeapKnown = false
		m.HeapResident, m.HeapHuge, m.HeapGain, m.HeapBloat = nil, nil, nil, nil
		return why(err)
	}
	process, err := page.OpenProcess(p.PID)
	if err != nil {
		return why(err)
	}
	defer process.Close()
	windows, cut, err := inspect.Scan(process, ranges)
	if err != nil {
		return why(err)
	}
	w := inspect.Summarize(windows, cut, inspect.MinDensity, k.noHuge)
	if w.Gain > 0 && !disabled && (!k.opted || depth == Bloat) {
		// Only smaps tells where huge pages are forbidden, which takes the kernel longer
		// than all else.
		if k.noHuge, err = s.system.NoHuge(p.PID); err != nil {
			return why(err)
		}
		k.opted = true
		w = inspect.Summarize(windows, cut, inspect.MinDensity, k.noHuge)
	}
	if disabled {
		w.Gain = 0
	}
	m.HeapKnown = true
	m.HeapResident, m.HeapHuge, m.HeapGain = &w.Resident, &w.HugeSize, new(w.Gain-min(w.Gain, w.Fill))
	if depth < Bloat {
		return ""
	}
	b, err := inspect.BloatOf(process, windows, bloatPages)
	if err != nil {
		return why(err)
	}
	m.HeapBloat = &b.Most
	return ""
}

// Close lets go of a process.
func (s *System) Close(p *Process) {
	if k, ok := p.state.(*kept); ok && k.target != nil {
		k.target.Close()
	}
	p.state = nil
}

// why is the reason of an error.
func why(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return Denied
	case procmem.Gone(err), errors.Is(err, goruntime.ErrGone), errors.Is(err, procmem.ErrEnding), errors.Is(err, os.ErrProcessDone):
		return Vanished
	case errors.Is(err, layout.ErrUnknown), errors.Is(err, heapmap.ErrNotFound), errors.Is(err, page.ErrNotSupported):
		return Unsupported
	}
	return Failed
}
