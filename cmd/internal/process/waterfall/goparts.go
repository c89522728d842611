package waterfall

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/page"
)

// goParts are what a runtime has, and what of it is in memory.
type goParts struct {
	before, after goruntime.Stats

	heap     *goruntime.Heap
	metadata []goruntime.Range

	classes                                        []uint64 // resident, by size class
	stacks, work, free, released, around, resident uint64
}

// readHeap reads what is in the heap of a runtime, and which of its pages are in memory.
func (l *look) readHeap(p *goParts, r Runtime) (err error) {
	if p.metadata, err = r.Metadata(); err != nil {
		return err
	}
	if p.heap, err = r.Heap(); err != nil {
		return err
	}
	p.classes = make([]uint64, len(p.heap.Classes))
	next := p.heap.InUse
	for _, arena := range p.heap.Arenas {
		at := arena.Start
		for len(next) > 0 && next[0].Start < arena.End {
			if err := l.around(p, at, next[0].Start); err != nil {
				return err
			}
			if err := l.pages(p, next[0]); err != nil {
				return err
			}
			at = next[0].End
			next = next[1:]
		}
		if err := l.around(p, at, arena.End); err != nil {
			return err
		}
	}
	return nil
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

// finish makes the parts.
func (l *look) finish(all []goParts) {
	runtime := map[Kind][2]uint64{}
	cycles := uint32(0)
	for i := range all {
		p := &all[i]
		l.divide(p)
		cycles += p.after.Cycles - p.before.Cycles
		l.Waterfall.Runtimes = append(l.Waterfall.Runtimes, GoRuntime{Heap: p.resident, Mapped: p.after.Total(), GC: newGC(p.after)})
		live := func(s goruntime.Stats) uint64 { return min(s.Live, s.Objects) }
		for k, of := range map[Kind]func(goruntime.Stats) uint64{
			Live: live, Since: func(s goruntime.Stats) uint64 { return s.Objects - live(s) },
			Unused: func(s goruntime.Stats) uint64 { return s.Unused }, Free: func(s goruntime.Stats) uint64 { return s.Free },
			Repopulated: func(s goruntime.Stats) uint64 { return s.Released }, Stacks: func(s goruntime.Stats) uint64 { return s.Stacks + s.OSStacks },
			Metadata: func(s goruntime.Stats) uint64 { return s.Metadata },
		} {
			runtime[k] = [2]uint64{runtime[k][0] + of(p.before), runtime[k][1] + of(p.after)}
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
	if len(all) == 1 {
		l.GC = l.Waterfall.Runtimes[0].GC
	}
	slices.SortStableFunc(l.Classes, func(a, b Class) int { return cmp.Compare(b.Unused, a.Unused) })
	if cycles != 0 {
		l.Notes = append(l.Notes, unit.Plural(int(cycles), "GC cycle")+" ended while it was read")
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
func (l *look) divide(p *goParts) {
	var all objects
	var unused uint64
	for i, c := range p.heap.Classes {
		in := Class{Size: c.Size, Spans: c.Spans, Bytes: c.Bytes, Objects: c.Objects, Resident: p.classes[i]}
		in.Unused = in.Resident - min(in.Resident, in.Objects)
		unused += in.Unused
		all.add(in)
		if c.Spans > 0 {
			l.class(in)
		}
	}
	live := all.live(p.before.Live)
	for k, n := range map[Kind]uint64{Live: live, Since: all.resident - live, Unused: unused, Free: p.free, Repopulated: p.released, Rounding: p.around,
		Stacks: p.stacks, Metadata: p.work} {
		l.bytes[k] += int64(n)
	}
}

// class adds spans of a runtime to those of the same size.
func (l *look) class(in Class) {
	i := slices.IndexFunc(l.Classes, func(c Class) bool { return c.Size == in.Size })
	if i < 0 {
		l.Classes = append(l.Classes, in)
		return
	}
	c := &l.Classes[i]
	c.Spans, c.Bytes, c.Objects = c.Spans+in.Spans, c.Bytes+in.Bytes, c.Objects+in.Objects
	c.Resident, c.Unused = c.Resident+in.Resident, c.Unused+in.Unused
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
