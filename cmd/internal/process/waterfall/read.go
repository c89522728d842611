package waterfall

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A Source is where a waterfall is read from.
type Source struct {
	FS  procmem.FS
	PID int
	// Pages says what of a range is in memory; nil if that cannot be read.
	Pages Pages
	// Runtime is the Go runtime of the process; nil if it has none, or if it cannot be
	// read. Then Heap is where its heap is, as far as that is known.
	Runtime Runtime
	Heap    []page.Range
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
	var before, after goruntime.Stats
	var mappings []procmem.Mapping
	if s.Runtime != nil {
		if err := l.timed(readStats, func() (err error) { before, err = s.Runtime.Stats(); return err }); err != nil {
			return nil, err
		}
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
	var parts goParts
	if s.Runtime != nil {
		if err := l.timed(readHeap, func() (err error) { parts, err = l.readHeap(); return err }); err != nil {
			return nil, err
		}
		if err := l.timed(readAgain, func() (err error) { after, err = s.Runtime.Stats(); return err }); err != nil {
			return nil, err
		}
	}
	if err := l.sort(mappings, &parts); err != nil {
		return nil, err
	}
	if s.Runtime != nil && !s.Runtime.Alive() {
		return nil, Lost(s.FS, s.PID)
	}
	l.beyond(smaps)
	l.Allocators = loaded(mappings)
	l.finish(&parts, before, after)
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

// goParts are what the runtime has, and what of it is in memory.
type goParts struct {
	heap     *goruntime.Heap
	metadata []goruntime.Range

	classes                                        []uint64 // resident, by size class
	stacks, work, free, released, around, resident uint64
}

// readHeap reads what is in the heap, and which of its pages are in memory.
func (l *look) readHeap() (p goParts, err error) {
	if p.metadata, err = l.Runtime.Metadata(); err != nil {
		return p, err
	}
	if p.heap, err = l.Runtime.Heap(); err != nil {
		return p, err
	}
	p.classes = make([]uint64, len(p.heap.Classes))
	next := p.heap.InUse
	for _, arena := range p.heap.Arenas {
		at := arena.Start
		for len(next) > 0 && next[0].Start < arena.End {
			if err := l.around(&p, at, next[0].Start); err != nil {
				return p, err
			}
			if err := l.pages(&p, next[0]); err != nil {
				return p, err
			}
			at = next[0].End
			next = next[1:]
		}
		if err := l.around(&p, at, arena.End); err != nil {
			return p, err
		}
	}
	return p, nil
}

// around adds what is in memory of an arena where the heap has not grown to.
func (l *look) around(p *goParts, from, to uint64) error {
	n, err := l.residentIn(from, to)
	p.around += n
	p.resident += n
	return err
}

// residentIn returns how much of a range is in memory.
func (l *look) residentIn(from, to uint64) (uint64, error) {
	if from >= to {
		return 0, nil
	}
	r, err := l.Pages.Residency(page.Range{Start: uintptr(from), End: uintptr(to)}, nil)
	return r.Resident, err
}

// pages adds what is in memory of a part of the heap, by what it is used for.
func (l *look) pages(p *goParts, r goruntime.Range) error {
	const size = goruntime.PageSize
	var in [1 << 8]uint64 // bytes by kind
	_, err := l.Pages.Residency(page.Range{Start: uintptr(r.Start), End: uintptr(r.End)}, &page.ResidencyOptions{Runs: func(run page.Range) {
		// Its ends can be within a page of the runtime, where the system's are smaller.
		start, end := max(uint64(run.Start), r.Start), min(uint64(run.End), r.End)
		if start >= end {
			return
		}
		kinds := p.heap.Pages(goruntime.Range{Start: start &^ (size - 1), End: (end + size - 1) &^ (size - 1)})
		if len(kinds) == 0 {
			return
		}
		for _, k := range kinds {
			in[k] += size
		}
		in[kinds[0]] -= start % size
		in[kinds[len(kinds)-1]] -= -end % size
	}})
	for k, n := range in {
		p.add(goruntime.PageKind(k), n)
	}
	return err
}

func (p *goParts) add(k goruntime.PageKind, n uint64) {
	p.resident += n
	switch k {
	case goruntime.FreePage:
		p.free += n
	case goruntime.ReleasedPage:
		p.released += n
	case goruntime.StackPage:
		p.stacks += n
	case goruntime.WorkPage:
		p.work += n
	default:
		if c := k.Class(); c >= 0 && c < len(p.classes) {
			p.classes[c] += n
		}
	}
}

// sort adds up the mappings.
func (l *look) sort(mappings []procmem.Mapping, p *goParts) error {
	heap := l.heapRanges(p)
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
			if n, err = take(Metadata, overlaps(p.metadata, m.Start, m.End)); err != nil {
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
	if p.heap == nil {
		l.bytes[Heap] = inHeap
		return nil
	}
	// Between the two readings the program went on.
	l.bytes[Changed] = inHeap - int64(p.resident)
	return nil
}

// heapRanges are where the Go heap is.
func (l *look) heapRanges(p *goParts) (out []goruntime.Range) {
	if p.heap != nil {
		return p.heap.Arenas
	}
	for _, r := range l.Heap {
		out = append(out, goruntime.Range{Start: uint64(r.Start), End: uint64(r.End)})
	}
	slices.SortFunc(out, func(a, b goruntime.Range) int { return cmp.Compare(a.Start, b.Start) })
	return out
}

// finish makes the parts.
func (l *look) finish(p *goParts, before, after goruntime.Stats) {
	runtime := map[Kind][2]uint64{}
	if p.heap != nil {
		l.divide(p, before)
		live := func(s goruntime.Stats) uint64 { return min(s.Live, s.Objects) }
		for k, of := range map[Kind]func(goruntime.Stats) uint64{
			Live: live, Since: func(s goruntime.Stats) uint64 { return s.Objects - live(s) },
			Unused: func(s goruntime.Stats) uint64 { return s.Unused }, Free: func(s goruntime.Stats) uint64 { return s.Free },
			Repopulated: func(s goruntime.Stats) uint64 { return s.Released }, Stacks: func(s goruntime.Stats) uint64 { return s.Stacks + s.OSStacks },
			Metadata: func(s goruntime.Stats) uint64 { return s.Metadata },
		} {
			runtime[k] = [2]uint64{of(before), of(after)}
		}
	}
	for k := range Kinds {
		part := Part{Kind: k, Bytes: l.bytes[k], How: how(k)}
		if k == Named {
			part.Of = l.shares()
		}
		if say, ok := runtime[k]; ok {
			part.Runtime = &say[0]
			part.Uncertainty = new(uint64(abs(int64(say[1]) - int64(say[0]))))
		}
		if part.Bytes != 0 || part.Runtime != nil { // a 0 that was read is said
			l.Parts = append(l.Parts, part)
		}
	}
	if l.Runtime != nil {
		l.GC = newGC(after)
	}
	if l.Runtime != nil && before.Cycles != after.Cycles {
		l.Notes = append(l.Notes, unit.Plural(int(after.Cycles-before.Cycles), "GC cycle")+" ended while it was read")
	}
}

// newGC returns what statistics say of the GC.
func newGC(s goruntime.Stats) *GC {
	gc := &GC{Cycles: s.Cycles, Percent: int(s.Percent), Marked: s.Live, Objects: s.Objects}
	if s.LastGC > 0 && s.LastGC <= math.MaxInt64 {
		gc.Last = time.Unix(0, int64(s.LastGC))
	}
	if s.MemoryLimit >= 0 && s.MemoryLimit < math.MaxInt64 {
		gc.Limit = new(uint64(s.MemoryLimit))
	}
	return gc
}

// how says where the figure of a part comes from.
func how(k Kind) How {
	switch k {
	case Live, Since, Unused:
		return Computed
	case Other, Changed:
		return Remainder
	}
	return Read
}

// divide divides the spans for objects: what is resident beyond the objects is in none,
// for programs touch the objects of a span from its beginning.
func (l *look) divide(p *goParts, s goruntime.Stats) {
	var all objects
	var unused uint64
	for i, c := range p.heap.Classes {
		in := Class{Size: c.Size, Spans: c.Spans, Bytes: c.Bytes, Objects: c.Objects, Resident: p.classes[i]}
		in.Unused = in.Resident - min(in.Resident, in.Objects)
		unused += in.Unused
		all.add(in)
		if c.Spans > 0 {
			l.Classes = append(l.Classes, in)
		}
	}
	slices.SortStableFunc(l.Classes, func(a, b Class) int { return cmp.Compare(b.Unused, a.Unused) })
	live := all.live(s.Live)
	l.bytes[Live], l.bytes[Since], l.bytes[Unused] = int64(live), int64(all.resident-live), int64(unused)
	l.bytes[Free], l.bytes[Repopulated], l.bytes[Rounding] = int64(p.free), int64(p.released), int64(p.around)
	l.bytes[Stacks] = int64(p.stacks)
	l.bytes[Metadata] += int64(p.work)
}

// objects are bytes of objects: all of them, those in memory, and those that are not, by size.
type objects struct{ bytes, resident, absent, absentLarge uint64 }

func (o *objects) add(c Class) {
	o.bytes += c.Objects
	o.resident += min(c.Resident, c.Objects)
	absent := c.Objects - min(c.Resident, c.Objects)
	if c.Size == 0 { // the class of large objects, which have spans of their own
		o.absentLarge += absent
	} else {
		o.absent += absent
	}
}

// live returns how many bytes are in memory of the objects that the last GC cycle found,
// which are so many. New small objects have been written, so those that are not in memory
// are old ones: the live heap stays as it is until the next cycle. Of large objects, which
// may be made and hardly touched, old and new ones are as much in memory.
func (o *objects) live(found uint64) uint64 {
	found = min(found, o.bytes)
	live := found - min(found, o.absent)
	if o.bytes > 0 {
		live -= min(live, uint64(float64(found)*(float64(o.absentLarge)/float64(o.bytes))))
	}
	newest := o.bytes - found // no more can be of later ones
	return min(max(live, o.resident-min(o.resident, newest)), o.resident)
}
