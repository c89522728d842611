package report

import (
	"math"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
)

func TestTargetValue(t *testing.T) {
	s := goSample(1)
	for _, tt := range []struct {
		target *result.Target
		want   float64
	}{
		{nil, s.Wall}, {&result.Target{Name: "wall"}, s.Wall}, {&result.Target{Name: "cpu"}, s.CPU}, {&result.Target{Name: "op/s"}, 1250},
		{&result.Target{Name: "ns/op", Benchmarks: []string{"Insert-2 ns/op"}}, 800},
	} {
		if v, ok := tt.target.Value(s); !ok || math.Abs(v-tt.want) > 1e-9 {
			t.Errorf("%+v: %v, %v, want %v", tt.target, v, ok, tt.want)
		}
		if _, ok := tt.target.Value(failedSample(1)); ok {
			t.Errorf("%+v: a failed sample counts", tt.target)
		}
	}
	for _, absent := range []*result.Target{{Name: "none"}, {Name: "ns/op", Benchmarks: []string{"Gone-2 ns/op"}}} {
		if v, ok := absent.Value(s); ok {
			t.Errorf("%+v: %v", absent, v)
		}
	}
}

// On a machine that becomes slower, what ran longest has the worse medians. Still no
// other mark of the plot may be below and to the left of a letter: those are what
// nothing beats.
func TestPlotAgreesWithFront(t *testing.T) {
	res, err := search(t, &fake{perCycle: 20_000, drift: 10_000}, tune.Options{MaxRounds: 10})
	if err != nil {
		t.Fatal(err)
	}
	tn := &Tune{File: tuneFile(res)}
	front := frontOf(tn.File)
	type cell struct{ x, y int }
	var dots, letters []cell
	for y, line := range tn.plot(front)[:plotHeight] {
		_, line, _ = strings.Cut(line, "│")
		for x, r := range []rune(line)[:min(plotWidth, len([]rune(line)))] {
			switch {
			case r == finalist || r == leftEarly:
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
		t.Log("\n" + strings.Join(tn.plot(front), "\n"))
	}
}
