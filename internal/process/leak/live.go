package leak

import (
	"math"

	"github.com/foliomem/folio/internal/process/waterfall"
)

const (
	// lineShare is how much of the growth of the live heap a line has to hold to be named,
	// and lineErrors how many standard errors of the sample it has to have grown by.
	lineShare  = 0.25
	lineErrors = 3
)

// readLive adds what the last GC cycle found live, once for each cycle.
func (w *watcher) readLive(at float64, f *waterfall.Waterfall) {
	w.gogc, w.held = f.GC.Percent, Point{at, float64(f.GC.Objects)}
	if f.GC.Last.IsZero() || len(w.live) > 0 && f.GC.Cycles == w.lastCycle {
		return
	}
	w.lastCycle = f.GC.Cycles
	w.live = append(w.live, Point{at - f.At.Sub(f.GC.Last).Seconds(), float64(f.GC.Marked)})
}

// liveGrows says how the live heap as a whole grows.
func (w *watcher) liveGrows() (Trend, bool) {
	if t, grows := Judge(w.live, 0, leastMemory); grows && t.Chance <= walkChance {
		return t, true
	}
	return judgeWalk(w.live, w.held, leastMemory, w.looks)
}

// liveStays reports whether it is known to grow by less than what counts.
func (w *watcher) liveStays() bool {
	return staysBelow(w.live, 0, w.held.At, leastMemory)
}

// decided reports whether it is known if the Go heap grows, or if that will not be known by
// watching it for longer. It is asked again and again: each look at a further GC cycle counts.
func (w *watcher) decided() bool {
	if !w.goProgram || w.mostParts() == &w.memory[whole] || w.gogc < 0 || Enough(len(w.live)) {
		return true
	}
	if len(w.live) >= LeastCycles && len(w.live) != w.looked {
		w.looked = len(w.live)
		w.looks++
	}
	if _, grows := w.liveGrows(); grows {
		return true
	}
	return w.liveStays()
}

// judgeLive finds the growth of the live heap as a whole, and the lines that hold it. Where
// lines were found by themselves, they say more.
func (w *watcher) judgeLive() {
	for _, f := range w.Found {
		if f.Kind == Heap {
			return
		}
	}
	t, grows := w.liveGrows()
	if !grows {
		return
	}
	named := false
	for _, s := range w.heap {
		if f, ok := w.line(s, t); ok {
			w.Found, named = append(w.Found, f), true
		}
	}
	if !named {
		w.Found = append(w.Found, Finding{Kind: Memory, Trend: t, Confidence: 1 - t.Chance, Title: waterfall.Live.Title()})
	}
}

// line says how a line grows that holds much of the growth of the live heap.
func (w *watcher) line(s *series, whole Trend) (Finding, bool) {
	if len(s.points) < 2 {
		return Finding{}, false
	}
	first, last := s.points[0], s.points[len(s.points)-1]
	grown, over, noise := last.Value-first.Value, last.At-first.At, w.noise(s)
	if grown < max(lineShare*whole.Slope*over, leastHeap) || grown < lineErrors*noise {
		return Finding{}, false
	}
	// Its rate is as little known as that of the whole, and by the sample.
	rate := grown / over
	low, high := 1-whole.Low/whole.Slope, whole.High/whole.Slope-1
	f := s.Finding
	f.Trend = Trend{
		From: first.Value, To: last.Value, Slope: rate,
		Low: rate - math.Hypot(rate*low, 1.96*noise/over), High: rate + math.Hypot(rate*high, 1.96*noise/over), Chance: whole.Chance,
	}
	if noise > 0 {
		f.Chance += math.Erfc(grown/noise/math.Sqrt2) / 2
	}
	f.Confidence = 1 - min(f.Chance, 1)
	return f, f.Low > 0
}
