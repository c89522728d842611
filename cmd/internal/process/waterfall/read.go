package waterfall

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A Source is where a waterfall is read from.
type Source struct {
	FS  procmem.FS
	PID int
	// Pages says what of a range is in memory; nil if that cannot be read.
	Pages Pages
	// Runtimes are the Go runtimes of the process that can be read. Where there are none, Heap
	// is where its heap is, as far as that is known.
	Runtimes []Runtime
	Heap     []page.Range
	// Now is the time. Default: time.Now.
	Now func() time.Time
	// Once is for a process that may end at any moment: what changes while it is read is
	// not read again, and drift is not known.
	Once bool
}

// Pages says what of a range of a process is in memory. *page.Process does.
type Pages interface {
	Residency(r page.Range, o *page.ResidencyOptions) (page.Residency, error)
}

// A Runtime is read as *goruntime.Target is.
type Runtime interface {
	Stats() (goruntime.Stats, error)
	Heap() (*goruntime.Heap, error)
	Metadata() ([]goruntime.Range, error)
	Alive() bool
}

// ErrExec says that a process began another program while it was read.
var ErrExec = errors.New("it began another program while it was read")

// Lost says why the memory of a process that was read is not there any more: [ErrExec], or
// an error of [procmem.FS.NoMemory] where the process is ending.
func Lost(fs procmem.FS, pid int) error {
	status, err := fs.Status(pid)
	switch {
	case err != nil:
		return err
	case status.VmRSS == nil:
		return fs.NoMemory(pid)
	}
	return ErrExec
}

// tries is how often a process is read that changes while it is read, and settled the
// share of RSS by which the readings may differ then.
const (
	tries   = 3
	settled = 0.005
)

// Read reads the waterfall of a process: up to three times if it changes so much that the
// readings do not fit, the one that fits best.
func (s *Source) Read() (*Waterfall, error) {
	var best *Waterfall
	times := tries
	if s.Once {
		times = 1
	}
	for range times {
		w, err := s.read()
		if err != nil {
			return nil, err
		}
		if off := abs(w.Part(Changed).Bytes); best == nil || off < abs(best.Part(Changed).Bytes) {
			best = w
		}
		if float64(abs(best.Part(Changed).Bytes)) <= settled*float64(best.RSS) {
			break
		}
	}
	return best, nil
}

func abs(n int64) int64 { return max(n, -n) }

// look is a reading that is being made.
type look struct {
	*Source
	*Waterfall
	sums
	begin time.Time
}

// timed notes when something was read.
func (l *look) timed(what string, read func() error) error {
	from := l.Now()
	err := read()
	l.Readings = append(l.Readings, Reading{what, from.Sub(l.begin), l.Now().Sub(l.begin)})
	return err
}

// What is read, as the readings are called.
const (
	readStats  = "runtime_statistics"
	readPages  = "pagemap"
	readSmaps  = "smaps" // in place of pagemap: see procmem.FS.Counted
	readHeap   = "heap"
	readAgain  = "runtime_statistics_again"
	readDrift  = "pagemap_again"
	readRollup = "smaps_rollup" // in place of pagemap_again
)

func (s *Source) read() (*Waterfall, error) {
	if s.Now == nil {
		s.Now = time.Now
	}
	l := &look{Source: s, begin: s.Now()}
	l.Waterfall = &Waterfall{At: l.begin}
	var mappings []procmem.Mapping
	parts := make([]goParts, len(s.Runtimes))
	each := func(what string, read func(p *goParts, r Runtime) error) error {
		if len(parts) == 0 {
			return nil
		}
		return l.timed(what, func() error {
			for i, r := range s.Runtimes {
				if err := read(&parts[i], r); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := each(readStats, func(p *goParts, r Runtime) (err error) { p.before, err = r.Stats(); return err }); err != nil {
		return nil, err
	}
	smaps := false
	err := l.timed(readPages, func() (err error) { mappings, smaps, err = s.FS.Counted(s.PID); return err })
	if smaps {
		l.Readings[len(l.Readings)-1].What = readSmaps
	}
	if err == nil && len(mappings) == 0 {
		err = s.FS.NoMemory(s.PID)
	}
	if err != nil {
		return nil, err
	}
	l.RSS = resident(mappings)
	if err := each(readHeap, l.readHeap); err != nil {
		return nil, err
	}
	if err := each(readAgain, func(p *goParts, r Runtime) (err error) { p.after, err = r.Stats(); return err }); err != nil {
		return nil, err
	}
	if err := l.sort(mappings, parts); err != nil {
		return nil, err
	}
	for _, r := range s.Runtimes {
		if !r.Alive() {
			return nil, Lost(s.FS, s.PID)
		}
	}
	l.beyond(smaps)
	l.Allocators = loaded(mappings)
	l.finish(parts)
	return l.Waterfall, nil
}

// beyond reads what is not a part of RSS, and RSS once more: as it was read before, by smaps
// or not.
func (l *look) beyond(smaps bool) {
	if status, err := l.FS.Status(l.PID); err == nil {
		l.PageTables, l.Swap, l.HugeTLB = status.VmPTE, status.VmSwap, status.HugetlbPages
	}
	if l.Once {
		return // it takes as long as the first time
	}
	if smaps {
		_ = l.timed(readRollup, func() error { // drift is unknown without
			sum, err := l.FS.SmapsRollup(l.PID)
			if err == nil && sum.Rss != nil {
				l.Drift = new(int64(*sum.Rss) - int64(l.RSS))
			}
			return err
		})
		return
	}
	_ = l.timed(readDrift, func() (err error) {
		var mappings []procmem.Mapping
		if mappings, smaps, err = l.FS.Counted(l.PID); err == nil {
			l.Drift = new(int64(resident(mappings)) - int64(l.RSS))
		}
		return err
	})
	if smaps {
		l.Readings[len(l.Readings)-1].What = readSmaps
	}
}

func resident(mappings []procmem.Mapping) (n uint64) {
	for _, m := range mappings {
		n += m.Rss
	}
	return n
}

// sort adds up the mappings.
func (l *look) sort(mappings []procmem.Mapping, parts []goParts) error {
	heap, metadata := l.ranges(parts)
	var inHeap int64
	for i, m := range mappings {
		left := m.Rss
		take := func(to Kind, ranges []goruntime.Range) (uint64, error) {
			sum := uint64(0)
			for _, r := range ranges {
				n := left
				if r.Start > m.Start || r.End < m.End {
					var err error
					if l.Pages == nil {
						return sum, nil // it counts as what the mapping is else
					}
					if n, err = l.residentIn(r.Start, r.End); err != nil {
						return sum, err
					}
				}
				n = min(n, left)
				left -= n
				sum += n
			}
			return sum, nil
		}
		n, err := take(Heap, overlaps(heap, m.Start, m.End))
		if err != nil {
			return err
		}
		inHeap += int64(n)
		if left == 0 {
			continue
		}
		file, anonymous := kindOf(mappings, i, l.FS.PageSize())
		if anonymous == Other || anonymous == Malloc || anonymous == ThreadStacks {
			if n, err = take(Metadata, overlaps(metadata, m.Start, m.End)); err != nil {
				return err
			}
			l.bytes[Metadata] += int64(n)
		}
		a := min(m.Anonymous, left)
		if anonymous != Data {
			a = left
		}
		if anonymous == Malloc && arena(mappings, i) {
			l.Arenas.Count++
			l.Arenas.Bytes += a
		}
		if anonymous == Named {
			l.name(m.Name, a)
		} else {
			l.bytes[anonymous] += int64(a)
		}
		l.bytes[file] += int64(left - a)
	}
	if len(parts) == 0 {
		l.bytes[Heap] = inHeap
		return nil
	}
	// Between the two readings the program went on.
	l.bytes[Changed] = inHeap
	for i := range parts {
		l.bytes[Changed] -= int64(parts[i].resident)
	}
	return nil
}

// ranges are where Go heaps are, and what their runtimes need for themselves.
func (l *look) ranges(parts []goParts) (heap, metadata []goruntime.Range) {
	for i := range parts {
		heap, metadata = append(heap, parts[i].heap.Arenas...), append(metadata, parts[i].metadata...)
	}
	if len(parts) == 0 {
		for _, r := range l.Heap {
			heap = append(heap, goruntime.Range{Start: uint64(r.Start), End: uint64(r.End)})
		}
	}
	for _, all := range [][]goruntime.Range{heap, metadata} {
		slices.SortFunc(all, func(a, b goruntime.Range) int { return cmp.Compare(a.Start, b.Start) })
	}
	return heap, metadata
}
