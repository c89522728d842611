package delay

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
)

func TestOverlapIsATenth(t *testing.T) {
	spans := newTimes([]Span{{5, 6}, {1, 2}, {1.5, 3}, {9, 9}})
	if want := []Span{{1, 3}, {5, 6}}; !reflect.DeepEqual(spans.spans, want) || spans.total != 3 {
		t.Fatalf("%v, %v s", spans.spans, spans.total)
	}
	for _, c := range []struct {
		r    Span
		want bool
	}{
		{Span{0, 1}, false}, {Span{3, 5}, false}, {Span{2, 2.5}, true}, {Span{2.9, 3.9}, true}, {Span{2.95, 3.95}, false},
		{Span{0, 30}, true}, {Span{0, 30.5}, false}, {Span{4, 4}, false}, {Span{8.5, 9.5}, false},
	} {
		if got := spans.overlaps(c.r); got != c.want {
			t.Errorf("%v: %v", c.r, got)
		}
	}
}

func TestEpisodes(t *testing.T) {
	got := episodes([]Span{{5, 6}, {1, 3}, {1.5, 2}, {3.009, 3.1}, {3.2, 3.3}})
	if len(got) != 3 || len(got[0].requests) != 3 || got[0].from != 1 || got[0].to != 3.1 || got[1].to != 3.3 || got[2].from != 5 {
		t.Errorf("%v", got)
	}
	if episodes(nil) != nil {
		t.Error("episodes of nothing")
	}
}

// small is a run of 100 s with 20 requests a second of 10 ms, of which every hundredth
// takes a second: ten in GC cycles with assists, five in others, five in none.
func small() Run {
	r := Run{Span: Span{0, 100}, Causes: map[Cause][]Span{Throttled: {}}}
	for i := range 2000 {
		at := float64(i) / 20
		s := Span{at, at + 0.01}
		if i%100 == 0 {
			s.To = at + 1
			r.Slow = append(r.Slow, s)
			switch i / 100 % 4 {
			case 0, 1:
				r.Causes[Assists] = append(r.Causes[Assists], Span{at, at + 0.5})
				r.Causes[Cycle] = append(r.Causes[Cycle], Span{at, at + 0.5})
			case 2:
				r.Causes[Cycle] = append(r.Causes[Cycle], Span{at, at + 0.5})
			}
		}
		r.Some = append(r.Some, s)
	}
	return r
}

func TestCountsAndShares(t *testing.T) {
	c := Of(small())
	if c.Slow != 20 || c.Some != 2000 || c.Episodes != 20 || len(c.Causes) != 3 {
		t.Fatalf("%+v", c)
	}
	// A cycle of half a second has 10 requests, one of them slow.
	want := []Overlap{{Cause: Throttled}, {Cause: Assists, Seconds: 5, Slow: 10, Some: 100}, {Cause: Cycle, Seconds: 7.5, Slow: 15, Some: 150}}
	for i, o := range c.Causes {
		o.Chance, o.draws = 0, nil
		if !reflect.DeepEqual(o, want[i]) {
			t.Errorf("%+v, want %+v", o, want[i])
		}
	}
	a := Merge([]*Counts{c, nil})
	if a.Runs != 1 || a.Slow != 20 || a.State != Found || a.Cause != Cycle {
		t.Fatalf("%+v", a)
	}
	cycle, assists, quota := a.Of(Cycle), a.Of(Assists), a.Of(Throttled)
	if cycle.Slow != 0.75 || cycle.All != 0.075 || assists.Slow != 0.5 || quota.Slow != 0 || quota.All != 0 || quota.Found || quota.P != 1 {
		t.Errorf("%+v", a.Causes)
	}
	// In three of four blocks of 5 s, those that begin in 1.3 s of them overlap a cycle by a tenth.
	if math.Abs(cycle.Chance-0.75*0.26) > 0.05 || cycle.Excess != cycle.Slow-cycle.Chance || cycle.Lo != nil {
		t.Errorf("by chance %v", cycle.Chance)
	}
	if !cycle.Found || !assists.Found || assists.Part != 0.5 || cycle.Part != 0.25 || quota.Part != 0 || a.None != 0.25 {
		t.Errorf("parts %v, %v and none %v", assists.Part, cycle.Part, a.None)
	}
	if a.Of(Faults) != nil {
		t.Error("page faults are known")
	}
}

func TestIntervalsNeedSixRuns(t *testing.T) {
	var runs []*Counts
	for n := 1; n <= 6; n++ {
		runs = append(runs, Of(small()))
		s := Merge(runs).Of(Cycle)
		if (s.Lo != nil) != (n == 6) || (s.Hi != nil) != (n == 6) {
			t.Errorf("%d runs: [%v, %v]", n, s.Lo, s.Hi)
		}
	}
	// The runs are the same: there is nothing to vary.
	if s := Merge(runs).Of(Cycle); math.Abs(*s.Lo-s.Excess) > 1e-9 || math.Abs(*s.Hi-s.Excess) > 1e-9 {
		t.Errorf("[%v, %v] of %v", *s.Lo, *s.Hi, s.Excess)
	}
}

// A pause is not what delays requests for a thousand times as long.
func TestShortPausesDelayNothing(t *testing.T) {
	r := small()
	for _, c := range r.Causes[Cycle] {
		r.Causes[Pause] = append(r.Causes[Pause], Span{c.From, c.From + 0.0005})
	}
	if a := Merge([]*Counts{Of(r)}); a.Of(Pause).Slow != 0 || a.Of(Pause).Found || a.Cause != Cycle {
		t.Errorf("%+v", a)
	}
}

func TestTooLittle(t *testing.T) {
	r := small()
	if Of(Run{Span: r.Span, Some: r.Some, Causes: r.Causes}) != nil || Of(Run{Span: r.Span, Slow: r.Slow}) != nil || Of(Run{Slow: r.Slow, Causes: r.Causes}) != nil {
		t.Error("counts of nothing")
	}
	if Merge(nil) != nil || Merge([]*Counts{nil}) != nil {
		t.Error("an answer of nothing")
	}
	// Nine requests are too few, and so are many in one episode.
	few, one := r, r
	few.Slow = r.Slow[:9]
	one.Slow = nil
	for i := range 100 {
		one.Slow = append(one.Slow, Span{float64(i) / 1000, 1})
	}
	for _, r := range []Run{few, one} {
		if a := Merge([]*Counts{Of(r)}); a.State != TooFew || a.Cause != "" || a.None != 1 || len(a.Causes) != 3 {
			t.Errorf("%+v", a)
		}
	}
	// A cause that is not known of every run is not known.
	other := small()
	delete(other.Causes, Throttled)
	if a := Merge([]*Counts{Of(r), Of(other)}); a.Of(Throttled) != nil || a.Of(Cycle) == nil {
		t.Errorf("%+v", a)
	}
	data, err := json.Marshal(Of(r))
	if err != nil {
		t.Fatal(err)
	}
	var again Counts
	if err := json.Unmarshal(data, &again); err != nil || Merge([]*Counts{&again}) != nil {
		t.Errorf("counts from a file are judged without their draws: %v", err)
	}
}

// What chance may do as well, or hides, is not said to be nothing.
func TestUnclear(t *testing.T) {
	always := small()
	always.Causes = map[Cause][]Span{Cycle: {{0, 99.5}}, Faults: {}}
	if a := Merge([]*Counts{Of(always)}); a.State != Unclear || a.Cause != Cycle || a.Of(Cycle).Slow != 1 || a.Of(Cycle).Chance < 0.95 || a.None != 1 {
		t.Errorf("%+v", a)
	}
	// Three of 20 overlap: what is above a tenth needs more than that.
	some := small()
	some.Causes = map[Cause][]Span{Faults: {{0, 0.2}, {5, 5.2}, {10, 10.2}}, Cycle: {{52, 52.2}}}
	for i := range some.Slow { // near each of the others there is a span, too
		at := some.Slow[i].From
		if i > 2 {
			some.Causes[Faults] = append(some.Causes[Faults], Span{at + 1.5, at + 1.6})
		}
	}
	a := Merge([]*Counts{Of(some)})
	if s := a.Of(Faults); s.Slow != 0.15 || s.Found || a.State == Found {
		t.Errorf("%+v", a)
	}
	nothing := small()
	nothing.Causes = map[Cause][]Span{Cycle: {{52, 52.2}}, Faults: {}}
	if a := Merge([]*Counts{Of(nothing)}); a.State != None || a.Cause != "" || a.Of(Cycle).Slow != 0 {
		t.Errorf("%+v", a)
	}
}

func TestCausesHaveTexts(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range Causes {
		if text := c.Text(); text == string(c) || seen[text] {
			t.Errorf("%s: %q", c, text)
		}
		seen[c.Text()] = true
	}
}
