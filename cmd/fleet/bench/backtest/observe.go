package main

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/foliomem/folio/cmd/fleet/bench/backtest/replay"
	"github.com/foliomem/folio/cmd/fleet/bench/backtest/synthetic"
	"github.com/foliomem/folio/cmd/fleet/internal/observed"
	"github.com/foliomem/folio/cmd/fleet/internal/rules"
)

// interval is that of the rules.
const interval = rules.DefaultInterval

// observe records a workload as the rules do, with its present setting: what scrapes see
// each minute, the largest of the pods, for memory also of 5 minutes. Scrapes are inexact,
// and at times missing.
func observe(w *synthetic.Workload, minutes int) *observed.History {
	noise := rand.New(rand.NewPCG(w.Seed, 7))
	each := int(interval / synthetic.Step)
	h := observed.New(time.Unix(0, 0).UTC(), interval, minutes/each)
	over := int(5 * time.Minute / synthetic.Step)
	put := func(name string, i int, v float64) { h.Put(map[string]string{"source": "agent"}, name, i, v) }
	gc := h.Missing()
	h.Class[rules.Agent] = map[string]observed.Series{"gc_mark": gc}
	cpu := h.Missing()
	h.Values[rules.CPUCores] = map[rules.Source]observed.Series{rules.Agent: cpu}
	for _, pod := range w.Pods {
		live, heap, cache, charged := make([]float64, minutes), make([]float64, minutes), make([]float64, minutes), make([]float64, minutes)
		off := make([]float64, minutes)
		gcs, cpus := make([]float64, minutes), make([]float64, minutes)
		replay.Pod(w, pod[:minutes], w.Setting, func(i int, st replay.State) {
			inexact := func(v, by float64) float64 { return v * (1 + by*noise.NormFloat64()) }
			if noise.Float64() < .005 {
				for _, s := range [][]float64{live, heap, cache, charged, off} {
					s[i] = math.NaN()
				}
			} else {
				live[i], heap[i], cache[i], charged[i] = inexact(st.Live, .02), inexact(st.Heap, .02), st.Cache, st.Charged
				off[i] = max(0, st.Charged-st.Cache-heap[i])
			}
			gcs[i], cpus[i] = inexact(st.GC, .1), st.CPU
		})
		largest := func(s []float64, i int) float64 {
			most := math.NaN()
			for _, v := range s[max(0, i-over+1) : i+1] {
				if !math.IsNaN(v) && !(v <= most) {
					most = v
				}
			}
			return most
		}
		for i := range h.Len {
			at := i*each + each - 1
			put(rules.LiveHeap, i, largest(live, at))
			put(rules.Heap, i, largest(heap, at))
			put(rules.PageCache, i, largest(cache, at))
			put(rules.Memory, i, largest(charged, at))
			put(rules.OffHeap, i, off[at])
			put(rules.CPUMax, i, cpus[at])
			gc[i], cpu[i] = add(gc[i], gcs[at]), add(cpu[i], cpus[at])
		}
	}
	for i := range h.Len {
		put(rules.Pods, i, float64(len(w.Pods)))
		put(rules.GOGCMax, i, w.Setting.GOGC)
		put(rules.GOGCMin, i, w.Setting.GOGC)
		put(rules.Limit, i, w.Setting.Limit)
		put(rules.Request, i, w.Setting.Request)
		limit := w.Setting.GOMEMLIMIT
		if limit == 0 {
			limit = math.Inf(1)
		}
		put(rules.GOMEMLIMIT, i, limit)
	}
	return h
}

func add(a, b float64) float64 {
	if math.IsNaN(a) {
		return b
	}
	return a + b
}
