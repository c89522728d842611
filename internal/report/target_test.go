package report

import (
	"math"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/trial"
	"github.com/foliomem/folio/internal/tune"
)

func TestTargetValue(t *testing.T) {
	s := goSample(1)
	for _, tt := range []struct {
		target *Target
		want   float64
	}{
		{nil, s.Wall}, {&Target{Name: "wall"}, s.Wall}, {&Target{Name: "cpu"}, s.CPU}, {&Target{Name: "op/s"}, 1250},
		{&Target{Name: "ns/op", Benchmarks: []string{"Insert-2 ns/op"}}, 800},
	} {
		if v, ok := tt.target.Value(s); !ok || math.Abs(v-tt.want) > 1e-9 {
			t.Errorf("%+v: %v, %v, want %v", tt.target, v, ok, tt.want)
		}
		if _, ok := tt.target.Value(failedSample(1)); ok {
			t.Errorf("%+v: a failed sample counts", tt.target)
		}
	}
	for _, absent := range []*Target{{Name: "none"}, {Name: "ns/op", Benchmarks: []string{"Gone-2 ns/op"}}} {
		if v, ok := absent.Value(s); ok {
			t.Errorf("%+v: %v", absent, v)
		}
	}
}

// An arm that ran in the slow rounds only is not worse for it.
func TestEvened(t *testing.T) {
	wall := func(seconds ...float64) (out []*trial.Sample) {
		for i, s := range seconds {
			if s > 0 {
				out = append(out, &trial.Sample{Round: i + 1, Wall: s})
			}
		}
		return out
	}
	var target *Target
	got := target.Evened(wall(2, 2, 2, 4, 4), wall(1, 1, 1, 2, 2), wall(0, 0, 0, 3, 3), nil)
	for i, want := range []float64{2, 1, 1.5} {
		if math.Abs(got[i]-want) > 1e-9 {
			t.Errorf("arm %d: %v, want %v", i, got[i], want)
		}
	}
	if !math.IsNaN(got[3]) {
		t.Errorf("an arm without a sample: %v", got[3])
	}
	if got := target.Evened(nil, wall(1)); !math.IsNaN(got[0]) || !math.IsNaN(got[1]) {
		t.Errorf("without a default: %v", got)
	}
}

// On a machine that becomes slower, what stays in the race has the worse medians.
// Still no dot of the plot may be below and to the left of a letter: those are what
// nothing beats.
func TestPlotAgreesWithFront(t *testing.T) {
	res, err := search(t, &fake{perCycle: 20_000, drift: 10_000}, tune.Options{MaxRounds: 10})
	if err != nil {
		t.Fatal(err)
	}
	tn, _ := tuneText(t, res)
	type cell struct{ x, y int }
	var dots, letters []cell
	for y, line := range tn.plot(res.Front())[:plotHeight] {
		_, line, _ = strings.Cut(line, "│")
		for x, r := range []rune(line)[:min(plotWidth, len([]rune(line)))] {
			switch {
			case r == '·':
				dots = append(dots, cell{x, y})
			case r != ' ':
				letters = append(letters, cell{x, y})
			}
		}
	}
	if len(dots) == 0 || len(letters) < 2 {
		t.Fatalf("%d dots, %d letters", len(dots), len(letters))
	}
	for _, l := range letters {
		for _, d := range dots {
			if d.x < l.x && d.y > l.y {
				t.Errorf("the dot at %v beats the letter at %v", d, l)
			}
		}
	}
	if t.Failed() {
		t.Log("\n" + strings.Join(tn.plot(res.Front()), "\n"))
	}
}
