package synthetic

import (
	"math"
	"reflect"
	"testing"
)

// A seed is a workload: twice the same, and no other's.
func TestSeeds(t *testing.T) {
	for _, kind := range Kinds {
		a, b, c := New(kind, 1, 2), New(kind, 1, 2), New(kind, 2, 2)
		if !reflect.DeepEqual(a, b) || reflect.DeepEqual(a.Pods, c.Pods) {
			t.Errorf("%s: seeds do not tell workloads apart", kind)
		}
		if long := New(kind, 1, 3); len(long.Pods[0]) != 3*perDay {
			t.Errorf("%s: %d moments", kind, len(long.Pods[0]))
		}
		for _, p := range a.Pods {
			for _, m := range p {
				for _, v := range []float64{m.Live, m.Alloc, m.Stacks, m.OffHeap, m.Cache, m.CPU} {
					if !(v > 0) || math.IsInf(v, 0) {
						t.Fatalf("%s: %+v", kind, m)
					}
				}
			}
		}
	}
	for _, s := range HeldOut {
		for _, k := range Known {
			if s == k {
				t.Errorf("seed %d is known and held out", s)
			}
		}
	}
}

// Each kind has what it is called after.
func TestKinds(t *testing.T) {
	mean := func(p []Moment, from, to int, f func(Moment) float64) (sum float64) {
		for _, m := range p[from:to] {
			sum += f(m) / float64(to-from)
		}
		return sum
	}
	live := func(m Moment) float64 { return m.Live }
	for _, seed := range Known {
		p := New("growing", seed, 9).Pods[0]
		if first, last := mean(p, 0, perDay, live), mean(p, 7*perDay, 8*perDay, live); last < 1.1*first {
			t.Errorf("growing %d: %.0f, then %.0f", seed, first, last)
		}
		p = New("leaking", seed, 3).Pods[0]
		if p[2*perDay-1].Leaked <= p[perDay].Leaked {
			t.Errorf("leaking %d does not", seed)
		}
		p = New("daily", seed, 1).Pods[0]
		lo, hi := math.Inf(1), 0.0
		for _, m := range p {
			lo, hi = min(lo, m.Live), max(hi, m.Live)
		}
		if hi < 1.5*lo {
			t.Errorf("daily %d: %.0f to %.0f", seed, lo, hi)
		}
		p = New("off-heap", seed, 1).Pods[0]
		if mean(p, 0, perDay, func(m Moment) float64 { return m.OffHeap }) < .5*mean(p, 0, perDay, live) {
			t.Errorf("off-heap %d is on it", seed)
		}
		p = New("page-cache-heavy", seed, 1).Pods[0]
		if mean(p, perDay/2, perDay, func(m Moment) float64 { return m.Cache }) < .5*mean(p, perDay/2, perDay, live) {
			t.Errorf("page-cache-heavy %d is light", seed)
		}
	}
	bursts := 0
	for _, seed := range Known {
		p := New("bursty", seed, 7).Pods[0]
		m, hi := mean(p, 0, len(p), live), 0.0
		for _, one := range p {
			hi = max(hi, one.Live)
		}
		if hi > 1.4*m {
			bursts++
		}
	}
	if bursts < len(Known)*3/4 {
		t.Errorf("%d of %d bursty workloads have bursts", bursts, len(Known))
	}
}
