package leak

import (
	"math"

	"github.com/foliomem/folio/cmd/internal/process/waterfall"
)

const (
	// lineShare is how much of the growth of the live heap a line has to hold to be named,
	// and lineErrors how many standard errors of the sample it has to have grown by.
	lineShare  = 0.25
	lineErrors = 3
)

// readLive adds what the last GC cycle found live, once for each cycle.
func (w *watcher) readLive(at float64, f *waterfall.Waterfall) {
	gc := f.AllGC()
	w.gogc, w.held = gc.Percent, Point{at, float64(gc.Objects)}
	if gc.Last.IsZero() || len(w.live) > 0 && gc.Cycles == w.lastCycle {
		return
	}
	w.lastCycle = gc.Cycles
	w.live = append(w.live, Point{at - f.At.Sub(gc.Last).Seconds(), float64(gc.Marked)})
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
	// As memory over time has them: the lowest of the last stretch is of an earlier cycle.
	t.From, t.To = w.live[0].Value, w.live[len(w.live)-1].Value
	named, grown := false, 0.0
	for _, s := range w.heap {
		grown += growth(s)
	}
	for _, s := range w.heap {
		if f, ok := w.line(s, t, growth(s)/grown); ok {
			w.Found, named = append(w.Found, f), true
		}
	}
	if !named {
		w.Found = append(w.Found, Finding{Kind: Memory, Trend: t, Confidence: 1 - t.Chance, Title: waterfall.Live.Title()})
	}
}

func growth(s *series) float64 { return s.points[len(s.points)-1].Value - s.points[0].Value }

// line says how a line grows that holds much of the growth of the live heap: a share of that
// of all lines. A heap profile is of the GC cycle before the last one, so when it was read is
// not the time that it is of, which matters where the cycles become rarer.
func (w *watcher) line(s *series, whole Trend, share float64) (Finding, bool) {
	grown, noise := growth(s), w.noise(s)
	if !(share >= lineShare) || grown < leastHeap || grown < lineErrors*noise {
		return Finding{}, false
	}
	share = min(share, 1)
	f, from, rate, sampled := s.Finding, s.points[0].Value, share*whole.Slope, 1.96*noise/grown
	low, high := math.Hypot(1-whole.Low/whole.Slope, sampled), math.Hypot(whole.High/whole.Slope-1, sampled)
	f.Trend = Trend{From: from, To: from + share*(whole.To-whole.From), Slope: rate, Low: rate * (1 - low), High: rate * (1 + high), Chance: whole.Chance}
	if noise > 0 {
		f.Chance += math.Erfc(grown/noise/math.Sqrt2) / 2
	}
	f.Confidence = 1 - min(f.Chance, 1)
	return f, f.Low > 0
}
