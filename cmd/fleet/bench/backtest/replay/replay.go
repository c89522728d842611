// Package replay says what a workload of package synthetic would do with another setting:
// a model of the GC of Go, of its limit, and of the container's. It knows what happens in
// each minute; package recommend, which it judges, knows what was recorded before.
package replay

import (
	"math"
	"slices"

	"github.com/foliomem/folio/cmd/fleet/bench/backtest/synthetic"
)

// What the model takes from the Go runtime and from measurements of it.
const (
	minHeap      = 4 << 20 // at GOGC=100; the goal is never less
	limitShare   = .5      // of the CPU time, which the GC does not pass even beyond GOMEMLIMIT
	limitRoom    = .03     // of GOMEMLIMIT that the goal leaves (mgcpacer.go: memoryLimitHeapGoalHeadroomPercent)
	metadata     = .03     // of the heap: what the runtime keeps about it
	overshoot    = .02     // of the goal, while marking ends
	fragments    = .06     // of the heap: spans that are part full
	scavengeHalf = 5.0     // minutes in which half of what is free beyond the goal is released
)

// An Outcome is what a setting led to.
type Outcome struct {
	GC            float64   // core-hours
	Thrashing     float64   // pod-hours in which the GC took its whole share
	Kills         int       // times that a pod passed its limit
	CacheSqueezed float64   // pod-hours in which page cache that was in use had no room
	Peak          float64   // bytes of a pod, without page cache
	Memory        []float64 // the largest pod's, page cache included, each minute
	Taken         float64   // GiB-hours: what is requested, or all but 1% of the time used, whichever is more
}

// A State is what a pod has in a minute.
type State struct {
	Live, Heap, OffHeap, Cache, Charged float64 // bytes; OffHeap has all but heap and cache
	GC, CPU                             float64 // cores; CPU includes GC
	Cycles                              float64 // a second
	Killed                              bool
}

// Pod plays one pod with a setting, and hands each minute to see.
func Pod(w *synthetic.Workload, pod []synthetic.Moment, s synthetic.Setting, see func(i int, st State)) {
	heap, forgotten, down := 0.0, 0.0, false
	for i, m := range pod {
		live := m.Live + max(0, m.Leaked-forgotten)
		if m.Leaked < forgotten {
			forgotten = 0 // it was restarted by others
		}
		scan := live + m.Stacks
		goal := math.Inf(1)
		if s.GOGC > 0 {
			goal = max(live+scan*s.GOGC/100, minHeap*s.GOGC/100)
		}
		if s.GOMEMLIMIT > 0 {
			byLimit := (s.GOMEMLIMIT*(1-limitRoom) - m.Stacks - metadata*heap) / (1 + overshoot)
			goal = min(goal, max(byLimit, live))
		}
		perCycle := scan*w.Cost.PerByte + w.Cost.PerCycle
		runway := max(goal-live, 1)
		cycles := m.Alloc / runway
		gc := cycles * perCycle
		// Beyond its share, the GC lets the heap grow.
		if most := m.CPU * limitShare / (1 - limitShare); gc > most {
			gc = most
			cycles = gc / perCycle
			runway = m.Alloc / cycles
		}
		top := (live + runway) * (1 + overshoot) * (1 + fragments)
		heap = max(top, top+(heap-top)*math.Exp2(-1/scavengeHalf))
		if s.GOMEMLIMIT > 0 {
			// What is free is released at once where the limit asks for it.
			heap = max(top, min(heap, s.GOMEMLIMIT-m.Stacks))
		}
		st := State{Live: live, Heap: heap, OffHeap: m.OffHeap + m.Stacks + metadata*heap, Cache: m.Cache, GC: gc, CPU: m.CPU + gc, Cycles: cycles}
		kept := st.Heap + st.OffHeap
		over := s.Limit > 0 && kept > s.Limit
		st.Killed = over && !down
		if over {
			// A new process begins without what leaked, and without a heap.
			forgotten, heap = m.Leaked, 0
		}
		down = over
		st.Charged = kept + m.Cache
		if s.Limit > 0 {
			st.Charged = min(st.Charged, s.Limit)
			st.Cache = max(0, st.Charged-kept)
		}
		see(i, st)
	}
}

// Play plays all pods from one minute to another.
func Play(w *synthetic.Workload, s synthetic.Setting, from, to int) Outcome {
	o := Outcome{Memory: make([]float64, to-from)}
	hour := synthetic.Step.Hours()
	for _, pod := range w.Pods {
		Pod(w, pod[:to], s, func(i int, st State) {
			if i < from {
				return
			}
			o.GC += st.GC * hour
			if st.GC >= st.CPU*limitShare*.999 {
				o.Thrashing += hour
			}
			if st.Killed {
				o.Kills++
			}
			if s.Limit > 0 && st.Cache < .98*pod[i].Cache {
				o.CacheSqueezed += hour
			}
			o.Peak = max(o.Peak, st.Heap+st.OffHeap)
			o.Memory[i-from] = max(o.Memory[i-from], st.Charged)
		})
	}
	o.Taken = max(s.Request, o.Quantile(.99)) / (1 << 30) * hour * float64(to-from) * float64(len(w.Pods))
	return o
}

// Quantile returns the memory that was enough in so large a share of the minutes.
func (o Outcome) Quantile(q float64) float64 {
	sorted := slices.Sorted(slices.Values(o.Memory))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
