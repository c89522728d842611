package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestSummarizeInterval(t *testing.T) {
	// Five measurements cannot bound a median at 95%; six can, by their extremes.
	five := Summarize([]float64{5, 1, 4, 2, 3})
	if five.HasInterval || five.Median != 3 || five.Lo != 1 || five.Hi != 5 || len(five.Warnings) == 0 {
		t.Errorf("five: %+v", five)
	}
	six := Summarize([]float64{6, 1, 5, 2, 4, 3})
	if !six.HasInterval || six.Median != 3.5 || six.Lo != 1 || six.Hi != 6 || len(six.Warnings) != 0 {
		t.Errorf("six: %+v", six)
	}
	if none := Summarize(nil); none.N != 0 || !math.IsNaN(none.Median) {
		t.Errorf("none: %+v", none)
	}
}

func TestSummarizeKeepsInput(t *testing.T) {
	v := []float64{3, 1, 2}
	Summarize(v)
	Compare(v, v)
	if v[0] != 3 || v[1] != 1 || v[2] != 2 {
		t.Errorf("input was reordered: %v", v)
	}
}

func TestCompare(t *testing.T) {
	slow := []float64{10, 11, 10.5, 10.2, 10.8, 10.1}
	fast := []float64{5, 5.5, 5.2, 5.1, 5.3, 5.4}
	c := Compare(slow, fast)
	if !c.Different || c.Delta() != "-49.3%" {
		t.Errorf("slow against fast: %+v %s", c, c.Delta())
	}
	// Three against three cannot reach p < .05, however far apart they are.
	c = Compare(slow[:3], fast[:3])
	if c.Different || c.Delta() != "~" {
		t.Errorf("three against three: %+v %s", c, c.Delta())
	}
	if c = Compare(nil, fast); c.Different || !math.IsNaN(c.Ratio) || c.Delta() != "~" {
		t.Errorf("empty base: %+v", c)
	}
}

func TestNotesNumberOnce(t *testing.T) {
	var n Notes
	if a, b, c := n.Add("x"), n.Add("y"), n.Add("x"); a != 1 || b != 2 || c != 1 || len(n.Texts()) != 2 {
		t.Errorf("got %d %d %d, %v", a, b, c, n.Texts())
	}
}

// A round that is twice as slow must not make the arms that ran in it look slow.
func TestEffectsRemoveRounds(t *testing.T) {
	y := map[string]map[int]float64{
		"a": {0: 1, 1: 2, 2: 1},
		"b": {0: 1.1, 1: 2.2, 2: 1.1, 3: 3.3},
		"c": {1: 4, 3: 6}, // ran only in the slow rounds
	}
	e := Effects(y)
	for arm, want := range map[string]float64{"b": 1.1, "c": 2} {
		if got := e[arm] / e["a"]; math.Abs(got-want) > 1e-6 {
			t.Errorf("%s/a = %v, want %v", arm, got, want)
		}
	}
}

func TestEffectsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		arms := rapid.SliceOfN(rapid.Float64Range(0.5, 4), 2, 8).Draw(t, "arms")
		y := make(map[string]map[int]float64)
		for r := range 9 {
			mood := math.Exp(rng.NormFloat64())
			for i, a := range arms {
				name := string(rune('a' + i))
				if y[name] == nil {
					y[name] = make(map[int]float64)
				}
				y[name][r] = a * mood
			}
		}
		e := Effects(y)
		for i := range arms {
			got, want := e[string(rune('a'+i))]/e["a"], arms[i]/arms[0]
			if math.Abs(got/want-1) > 1e-6 {
				t.Fatalf("arm %d: %v, want %v", i, got, want)
			}
		}
	})
}

// CanDiffer is what the test itself says of sides that do not overlap.
func TestCanDiffer(t *testing.T) {
	for n1 := range 8 {
		for n2 := range 8 {
			low, high := make([]float64, n1), make([]float64, n2)
			for i := range low {
				low[i] = float64(i)
			}
			for i := range high {
				high[i] = float64(100 + i)
			}
			if got, want := CanDiffer(n1, n2), Compare(low, high).Different; got != want {
				t.Errorf("%d and %d: %t, the test says %t", n1, n2, got, want)
			}
		}
	}
}
