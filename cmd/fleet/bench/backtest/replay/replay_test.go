package replay

import (
	"math"
	"testing"

	"github.com/foliomem/folio/cmd/fleet/bench/backtest/synthetic"
)

const mib = 1 << 20

// steady is a pod that needs the same at all times.
func steady(minutes int) (*synthetic.Workload, []synthetic.Moment) {
	pod := make([]synthetic.Moment, minutes)
	for i := range pod {
		pod[i] = synthetic.Moment{Live: 100 * mib, Alloc: 200 * mib, Stacks: 10 * mib, OffHeap: 50 * mib, Cache: 30 * mib, CPU: 1}
	}
	return &synthetic.Workload{Pods: [][]synthetic.Moment{pod}, Cost: synthetic.Cost{PerByte: 1. / (1 << 30), PerCycle: 1e-3}}, pod
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Abs(b) }

// By hand: a goal of 100 + 110 * GOGC/100 MiB, 200 MiB/s over the runway, 110 MiB to mark.
func TestByHand(t *testing.T) {
	w, pod := steady(60)
	for _, gogc := range []float64{50, 100, 400} {
		Pod(w, pod, synthetic.Setting{GOGC: gogc}, func(i int, st State) {
			runway := 110 * gogc / 100
			cycles := 200 / runway
			if !near(st.Cycles, cycles) || !near(st.GC, cycles*(110./1024+1e-3)) || !near(st.Heap, (100+runway)*1.02*1.06*mib) {
				t.Fatalf("GOGC=%v, minute %d: %+v", gogc, i, st)
			}
		})
	}
	o := Play(w, synthetic.Setting{GOGC: 100, Request: 1 << 30}, 30, 60)
	if !near(o.Taken, .5) || len(o.Memory) != 30 || o.Kills != 0 || o.CacheSqueezed != 0 || !near(o.GC, .5*200/110*(110./1024+1e-3)) {
		t.Errorf("%+v", o)
	}
}

// A limit below what is live costs half of the CPU time and no more, and does not save
// from the container's limit; above, it does.
func TestLimits(t *testing.T) {
	w, _ := steady(60)
	free := Play(w, synthetic.Setting{GOGC: 400}, 0, 60)
	tight := Play(w, synthetic.Setting{GOGC: 400, GOMEMLIMIT: 200 * mib}, 0, 60)
	if tight.Peak >= free.Peak || tight.GC <= free.GC || tight.Thrashing > 0 {
		t.Errorf("GOMEMLIMIT: %+v, without %+v", tight, free)
	}
	below := Play(w, synthetic.Setting{GOGC: 400, GOMEMLIMIT: 90 * mib, Limit: 150 * mib}, 0, 60)
	if below.Thrashing < .99 || !near(below.GC, 1) || below.Kills == 0 {
		t.Errorf("below the live heap: %+v", below)
	}
	// 600 MiB of heap and 60 beside it.
	if o := Play(w, synthetic.Setting{GOGC: 400, Limit: 500 * mib}, 0, 60); o.Kills == 0 {
		t.Errorf("no kill: %+v", o)
	}
	if o := Play(w, synthetic.Setting{GOGC: 400, GOMEMLIMIT: 350 * mib, Limit: 500 * mib}, 0, 60); o.Kills != 0 || o.CacheSqueezed != 0 {
		t.Errorf("GOMEMLIMIT does not hold: %+v", o)
	}
	if o := Play(w, synthetic.Setting{GOGC: 100, Limit: 310 * mib}, 0, 60); o.Kills != 0 || o.CacheSqueezed < .99 {
		t.Errorf("page cache has no room: %+v", o)
	}
}

// What leaked is gone with the process that is ended, and leaks again.
func TestLeak(t *testing.T) {
	w, pod := steady(600)
	for i := range pod {
		pod[i].Leaked = float64(i) * mib
	}
	o := Play(w, synthetic.Setting{GOGC: 100, Limit: 800 * mib}, 0, 600)
	if o.Kills < 2 || o.Kills > 4 {
		t.Errorf("%d kills", o.Kills)
	}
}
