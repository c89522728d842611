package document

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
	"github.com/foliomem/folio/cmd/internal/trial"
)

// at returns the runs of an arm by their place.
func at(a *RunArm) map[int]float64 {
	out := make(map[int]float64)
	for i, n := range a.At {
		out[n] = a.V[i]
	}
	return out
}

// Every run of a search is there, at its place, whether it is of the race, of the final
// or failed; the arms are in the order of the table.
func TestRuns(t *testing.T) {
	f := resulttest.Search(6, 8)
	b := newTuned(f).everyRun()
	strip, order, tb := b.Charts[0], b.Charts[1], b.Tables[0]
	r := strip.Runs
	if strip.Kind != Strip || order.Kind != Order || order.From != strip || order.Runs != nil || r.Race != 3 || !strip.Link || !order.Link {
		t.Fatalf("%+v, %+v", strip, order)
	}
	var names []string
	for i := range r.Arms {
		names = append(names, r.Arms[i].Name)
	}
	if got, want := strings.Join(names, " "), "default GOGC=100 GOGC=150 GOGC=200 GOGC=250 GOGC=300"; got != want {
		t.Errorf("arms %s, want %s", got, want)
	}
	for i, a := range f.Arms {
		got := at(&r.Arms[i])
		for _, s := range a.Samples {
			v, ok := got[s.Sequence]
			if ok != s.OK() || ok && math.Abs(v-s.Wall) > 1e-5*s.Wall {
				t.Errorf("%s, run %d: %v, %t, want %v", a.Name, s.Sequence, v, ok, s.Wall)
			}
		}
	}
	lost := r.Arms[4]
	if lost.Lost != 1 || len(lost.V) != 2 || len(lost.Failed) != 1 || lost.Failed[0].Round != 2 || lost.Failed[0].Why != "exit code 3" {
		t.Errorf("an arm with a failed run: %+v", lost)
	}
	if a := r.Arms[0]; a.N != 8 || math.Abs(*a.Median-f.Arms[0].Measured.Median) > 1e-4 || *a.Lo != *f.Arms[0].Measured.Lo || a.race != 3 {
		t.Errorf("the default: %+v", a)
	}
	if got := cellsOf(tb.Rows[4]); got != "GOGC=250 1.723s  1.670s 1.777s 3 3 1 exit code 3" {
		t.Errorf("the row of a failed run: %s", got)
	}
	if got := cellsOf(tb.Rows[0]); !strings.HasSuffix(got, " 11 3  ") {
		t.Errorf("the row of the default: %s", got)
	}
	for _, want := range []string{"Hollow: race; median and interval are of the final."} {
		if !strings.Contains(strip.Caption, want) {
			t.Errorf("the caption does not say %q", want)
		}
	}
	if !strings.Contains(order.Caption, "Crosses at the bottom") {
		t.Errorf("caption of the order: %s", order.Caption)
	}
}

func cellsOf(r Row) string {
	var out []string
	for _, c := range r.Cells {
		out = append(out, c.Text)
	}
	return strings.Join(out, " ")
}

// Of many runs so many are drawn as can be seen, the same each time, among them the
// extremes, and the caption says so.
func TestManyRuns(t *testing.T) {
	f := resulttest.Tune(2000, "./prog")
	f.Arms[2].Samples[1234].Wall, f.Arms[2].Samples[1235].Wall = 0.5, 9
	f.Arms[3].Samples[1235].Wall, f.Arms[3].Samples[1234].Wall = 0.5, 9
	b, again := newTuned(f).everyRun(), newTuned(f).everyRun()
	if !reflect.DeepEqual(b, again) {
		t.Error("two pages of one result differ")
	}
	r := b.Charts[0].Runs
	for _, a := range r.Arms {
		if len(a.V) != 300 || len(a.At) != 300 || len(a.Round) != 300 || a.runs != 2000 || !slices.IsSorted(a.At) {
			t.Errorf("%s: %d of %d runs", a.Name, len(a.V), a.runs)
		}
	}
	for _, name := range []string{"GOGC=200", "GOGC=400"} {
		i := slices.IndexFunc(r.Arms, func(a RunArm) bool { return a.Name == name })
		if v := r.Arms[i].V; slices.Min(v) != 0.5 || slices.Max(v) != 9 {
			t.Errorf("%s: drawn from %v to %v", name, slices.Min(v), slices.Max(v))
		}
	}
	if c := b.Charts[0]; !strings.Contains(c.Caption, "300 of 2,000 runs drawn of each setting") || c.X.Scale != Log {
		t.Errorf("%s: %s", c.X.Scale, c.Caption)
	}
}

// Runs of results that do not number them are in the order of their rounds.
func TestPlaces(t *testing.T) {
	s := func(round, sequence int) *trial.Sample { return &trial.Sample{Round: round, Sequence: sequence} }
	arms := []ranArm{{samples: []*trial.Sample{s(1, 0), s(2, 0), s(3, 0)}}, {samples: []*trial.Sample{s(1, 0), s(3, 0)}}}
	if got := fmt.Sprint(places(arms)); got != "[[1 3 4] [2 5]]" {
		t.Errorf("by round: %s", got)
	}
	arms = []ranArm{{samples: []*trial.Sample{s(1, 2), s(2, 7)}}, {samples: []*trial.Sample{s(1, 1), s(2, 9)}}}
	if got := fmt.Sprint(places(arms)); got != "[[2 3] [1 4]]" {
		t.Errorf("by number: %s", got)
	}
}

// One run, or none with a figure, is not a picture; programs that are compared, and runs
// of several files, have one.
func TestWhoHasRuns(t *testing.T) {
	failed := resulttest.Run(3)
	resulttest.Fail(&failed.Arms[0], 0)
	for name, f := range map[string]*result.File{"one run": resulttest.Run(1), "failed runs": failed} {
		if b := everyRun(f); b != nil {
			t.Errorf("%s: %+v", name, b)
		}
	}
	if b := everyRun(resulttest.Run(2)); b == nil || b.Charts[0].Link || *b.Charts[0].Runs.Arms[0].Median != 2.005 {
		t.Errorf("two runs: %+v", b)
	}
	b := abRuns(resulttest.AB())
	if r := b.Charts[0].Runs; len(r.Arms) != 2 || r.Arms[1].Name != "HEAD" || len(r.Arms[1].V) != 10 || *r.Arms[1].Median != 0.5 || r.Arms[1].N != 10 {
		t.Errorf("a comparison: %+v", r)
	}
}
