package leak

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/process/history"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/internal/base/unit"
)

// partSeries are parts of memory over time.
type partSeries struct {
	series   map[string]*series
	readings int
	first    []waterfall.Share // of named memory, at the first reading
}

// The readings whose Go heap is one part, for the runtime could not be read, and those where
// it is divided.
const (
	whole = iota
	divided
)

// mallocOr is malloc and other anonymous memory in one: an arena of malloc that is full looks
// like any other mapping, so that a leak can make the one fall and the other jump.
const (
	mallocOr      = "malloc_or_other"
	mallocOrTitle = "malloc of the C library, or other anonymous memory"
)

// watched are the parts of memory that can leak beside the Go heap.
var watched = []waterfall.Kind{waterfall.Malloc, waterfall.Other, waterfall.Named, waterfall.ThreadStacks, waterfall.Shared, waterfall.Stacks, waterfall.Data}

// readParts adds the parts of a reading. Where the runtime could not be read, what it has is
// not known and is a part of others: such readings do not compare with those that are
// divided, and are kept apart.
func (w *watcher) readParts(at float64, f *waterfall.Waterfall) {
	w.rss.Add(&inspect.Process{Waterfall: f}, 0, 0)
	to, kinds := &w.memory[divided], slices.Clone(watched)
	switch {
	case f.AllGC() == nil:
		to = &w.memory[whole]
		kinds = slices.DeleteFunc(kinds, func(k waterfall.Kind) bool { return k == waterfall.Stacks })
		if w.goProgram && !w.profile {
			kinds = append(kinds, waterfall.Heap)
		}
	default:
		w.readLive(at, f)
	}
	if to.readings++; to.series == nil {
		to.series, to.first = make(map[string]*series), f.Part(waterfall.Named).Of
	}
	for _, k := range kinds {
		part := f.Part(k)
		s := add(to.series, k.String(), at, nil, float64(part.Bytes))
		s.Kind, s.Title = Memory, k.Title()
		if k == waterfall.Named {
			s.Name = grewMost(to.first, part.Of)
		}
	}
	s := add(to.series, mallocOr, at, nil, float64(f.Part(waterfall.Malloc).Bytes+f.Part(waterfall.Other).Bytes))
	s.Kind, s.Title = Memory, mallocOrTitle
}

// grewMost returns the name whose memory has grown the most; "" if none has, or if it is one
// of those that are not listed.
func grewMost(before, now []waterfall.Share) (name string) {
	had := make(map[string]uint64)
	unlisted := uint64(math.MaxUint64) // the most that a name had which is not in the list
	for _, s := range before {
		had[s.Name] = s.Bytes
		unlisted = min(unlisted, s.Bytes)
	}
	if _, cut := had[waterfall.Others]; !cut {
		unlisted = 0
	}
	var most uint64
	for _, s := range now {
		was, listed := had[s.Name]
		if !listed {
			was = unlisted
		}
		if grown := s.Bytes - min(s.Bytes, was); grown > most {
			most, name = grown, s.Name
		}
	}
	if name == waterfall.Others {
		return ""
	}
	return name
}

// mostParts are the readings of the kind that there are more of.
func (w *watcher) mostParts() *partSeries {
	if w.memory[whole].readings > w.memory[divided].readings {
		return &w.memory[whole]
	}
	return &w.memory[divided]
}

// judgeParts says which parts of memory grow, by the readings of the kind that there are
// more of.
func (w *watcher) judgeParts() {
	of := w.mostParts()
	if of.readings > 0 {
		w.Parts = new(len(of.series) - 1) // mallocOr is of two
	}
	w.grow(of.series, leastMemory)
	if of == &w.memory[divided] {
		w.judgeLive()
	}
	one := func(f Finding) bool { return f.Title == waterfall.Malloc.Title() || f.Title == waterfall.Other.Title() }
	if slices.ContainsFunc(w.Found, one) {
		w.Found = slices.DeleteFunc(w.Found, func(f Finding) bool { return f.Title == mallocOrTitle })
	}
	if n := w.Readings - of.readings; n > 0 && of.readings > 0 {
		w.note("%s of %d did not say what the others did of its memory, and do not count for the parts of it", unit.Plural(n, "reading"), w.Readings)
		if Enough(w.Readings) && !Enough(of.readings) {
			w.note("only %s of the parts of its memory: at least %d are needed to judge them", unit.Plural(of.readings, "reading"), Least)
		}
	}
}

// judgeHeap says whether the growth of the Go heap could be judged. What is live is known
// after a GC cycle only: until the next one any heap grows.
func (w *watcher) judgeHeap() {
	if !w.goProgram {
		return
	}
	var few string
	var longer time.Duration
	if of := w.mostParts(); of == &w.memory[whole] {
		switch {
		case w.profile:
			few, longer = w.fewCycles(w.cycles)
		case !Enough(of.readings):
			few = fmt.Sprintf("only %s of its memory (at least %d are needed)", unit.Plural(of.readings, "reading"), Least)
		}
	} else if !w.liveStays() {
		few, longer = w.fewCycles(len(w.live))
	}
	grows := slices.ContainsFunc(w.Found, func(f Finding) bool {
		return f.Kind == Heap || f.Title == waterfall.Live.Title() || f.Title == waterfall.Heap.Title()
	})
	w.HeapJudged = few == "" || grows
	if !grows {
		w.HeapUnjudged, w.Longer = few, longer
	}
}

// fewCycles says that there were too few GC cycles to judge by, "" if there were enough, and
// for how long to watch for enough, 0 if that is not known.
func (w *watcher) fewCycles(n int) (why string, longer time.Duration) {
	if Enough(n) {
		return "", 0
	}
	needed := LeastCycles
	why = fmt.Sprintf("%d of %d GC cycles seen", n, LeastCycles)
	if n >= LeastCycles {
		needed = Least
		why = fmt.Sprintf("%d GC cycles seen; a heap that rises and falls needs %d", n, Least)
	}
	if w.Ended {
		return why + ": it ended before there were more", 0
	}
	// The first that it sees has ended before.
	long := Forced * time.Duration(needed-1)
	if points := w.rss.Points; n > 1 && len(points) > 1 {
		over := points[len(points)-1].At - points[0].At
		if d := unit.RoundUp(over * time.Duration(3*(needed-1)) / time.Duration(2*(n-1))); d < long {
			return why, d
		}
	}
	if w.gogc < 0 {
		return why + "; GOGC is off, so no GC cycle is forced", 0
	}
	return fmt.Sprintf("%s; one is forced every %s", why, unit.Elapsed(Forced)), long
}

// judgeRSS says by how much RSS has grown, whatever it is that grows.
func (w *watcher) judgeRSS() {
	n := len(w.rss.Points)
	if n == 0 {
		return
	}
	last := w.rss.Points[n-1]
	w.RSS = &RSS{History: &w.rss, Growth: w.rss.All()}
	if g := w.RSS.Growth; g != nil {
		w.where(g)
	}
	for _, f := range w.Found {
		if f.Kind == Heap && f.To > float64(last.RSS) {
			w.note("its objects are larger than RSS: what was allocated and never written to is not in memory")
		}
	}
}

// goHeap are the parts of the Go heap: one often goes into another.
var goHeap = []waterfall.Kind{waterfall.Live, waterfall.Since, waterfall.Unused, waterfall.Free, waterfall.Repopulated, waterfall.Rounding, waterfall.Heap}

// where says which part of memory grows most, if RSS grows: the Go heap as a whole, or
// another.
func (w *watcher) where(g *history.Growth) {
	if g.RSS.Lo <= 0 {
		return
	}
	most := func(title string, t stat.Trend, ok bool) {
		if ok && t.Lo > 0 && t.Slope >= g.RSS.Slope/2 && (w.RSS.PartGrowth == nil || t.Slope > w.RSS.PartGrowth.Slope) {
			w.RSS.Part, w.RSS.PartGrowth = title, &t
		}
	}
	var at, heap []float64
	divided := w.rss.Points[len(w.rss.Points)-1].Cycles != nil
	for _, p := range w.rss.Points {
		if (p.Cycles != nil) != divided {
			continue
		}
		sum := 0.0
		for _, k := range goHeap {
			sum += float64(p.Parts[k])
		}
		at, heap = append(at, p.At.Minutes()), append(heap, sum)
	}
	if w.goProgram {
		t, ok := stat.TrendOf(at, heap)
		most("Go heap", t, ok)
	}
	for k, t := range g.Parts {
		if !slices.Contains(goHeap, k) {
			most(k.Title(), t, true)
		}
	}
}
