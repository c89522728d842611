package main

import (
	"math"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/fleet/bench/backtest/synthetic"
	"github.com/foliomem/folio/cmd/fleet/internal/recommend"
	"github.com/foliomem/folio/cmd/fleet/internal/rules"
	"github.com/foliomem/folio/internal/test/testenv"
)

// By workloads that were made before the recommendations: none is ended for lack of memory
// more often than without, none has less page cache, and all together they cost less.
func TestHeldOut(t *testing.T) {
	testenv.Long(t)
	for _, learn := range []int{7, 3} {
		o := defaults()
		o.Learn = learn
		var all total
		for _, kind := range synthetic.Kinds {
			for _, seed := range synthetic.HeldOut[:testenv.Some(4, len(synthetic.HeldOut))] {
				r, err := judge(kind, seed, o)
				if err != nil {
					t.Fatal(err)
				}
				all.add(r, o)
				if r.harmed() {
					t.Errorf("%d days, %s %d: %d over the limit, %d without the recommendation", learn, kind, seed, r.After.Kills, r.Before.Kills)
				}
				if r.After.CacheSqueezed > r.Before.CacheSqueezed {
					t.Errorf("%d days, %s %d: page cache has no room for %.1f hours, %.1f without the recommendation", learn, kind, seed, r.After.CacheSqueezed, r.Before.CacheSqueezed)
				}
				if o.cost(r.Oracle) > o.cost(r.Before) || r.Fastest.GC > r.Before.GC {
					t.Errorf("%s %d: the oracle is worse than nothing", kind, seed)
				}
				if learn < 6 && r.Advice != nil && r.Advice.Advised.Limit != nil && *r.Advice.Advised.Limit < *r.Advice.Present.Limit {
					t.Errorf("%s %d: the limit is lowered by %d days", kind, seed, learn)
				}
			}
		}
		if all.Refused > 0 || learn == 7 && all.CostAfter >= all.Cost {
			t.Errorf("%d days: %+v", learn, all)
		}
	}
}

// The backtest sees harm: half of what is needed ends pods.
func TestHarm(t *testing.T) {
	o := defaults()
	w := synthetic.New("daily", 3, o.Learn+o.Replay)
	half := .5 * w.Setting.Limit
	s, err := setting(recommend.Setting{Limit: &half}, w.Setting)
	if err != nil || s.Limit != half || s.GOGC != w.Setting.GOGC {
		t.Fatal(s, err)
	}
	r, err := judge("daily", 3, o)
	if err != nil {
		t.Fatal(err)
	}
	r.After.Kills = r.Before.Kills + 1
	var sum total
	sum.add(r, o)
	var b strings.Builder
	if !r.harmed() || sum.Harmed != 1 || header(&b) != nil || sum.row(&b, "daily") != nil || strings.Count(b.String(), "\n") != 3 {
		t.Errorf("%+v\n%s", sum, b.String())
	}
}

// What is recorded is what the workload did.
func TestObserve(t *testing.T) {
	w := synthetic.New("daily", 1, 1)
	h := observe(w, 1440)
	if h.Len != 720 {
		t.Fatalf("%d values", h.Len)
	}
	most := 0.0
	for _, p := range w.Pods {
		for _, m := range p {
			most = max(most, m.Live)
		}
	}
	live, source := h.Best(rules.LiveHeap)
	if peak := live.Quantile(1); source != rules.Agent || math.Abs(peak/most-1) > .1 {
		t.Errorf("peak %.0f, recorded %.0f of %s", most, peak, source)
	}
	if pods, _ := h.Best(rules.Pods); pods.Mean() != float64(len(w.Pods)) {
		t.Errorf("%v pods", pods.Mean())
	}
	if gc, _ := h.GC(); !(gc.Mean() > 0) {
		t.Error("no GC")
	}
}
