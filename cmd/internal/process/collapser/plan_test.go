package collapser

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/foliomem/folio/internal/system/page"
)

const size = 2 << 20

// window is the i-th of memory in windows of 2 MiB.
func window(i int, resident, huge uint64) page.Window {
	return page.Window{Range: page.Range{Start: uintptr(i) * size, End: uintptr(i+1) * size}, Resident: resident, Huge: huge}
}

func TestPlan(t *testing.T) {
	windows := []page.Window{
		window(1, size, size),
		window(2, size/10*9, 0),
		window(3, size, 0),
		window(4, size/10, 0),
		window(5, size, 0), // advised against
		window(6, 0, 0),
		window(7, size, 0),
		window(8, size, 0), // later
	}
	later := func(w page.Window) bool { return w.Range.Start == 8*size }
	p := NewPlan(windows, Options{MinDensity: 0.8}, []page.Range{windows[4].Range}, later)
	if got := starts(p.Todo); got != "[3 7 2]" {
		t.Errorf("todo %s", got)
	}
	p.Todo = nil
	if want := (Plan{Already: 1, Sparse: 1, OptedOut: 1, Deferred: 1, Bytes: 3 * size,
		Fill: size - size/10*9}); fmt.Sprint(p) != fmt.Sprint(want) {
		t.Errorf("%+v, want %+v", p, want)
	}
	for budget, want := range map[uint64]string{1: "[]", size - 1: "[]", size: "[3]", 3*size - 1: "[3 7]",
		3 * size: "[3 7 2]", math.MaxUint64: "[3 7 2]"} {
		p := NewPlan(windows, Options{MinDensity: 0.8, Budget: budget}, []page.Range{windows[4].Range}, later)
		if got := starts(p.Todo); got != want || len(p.Todo)+p.OverBudget != 3 || p.Bytes != uint64(len(p.Todo))*size {
			t.Errorf("budget %d: %s and %d beyond, want %s", budget, got, p.OverBudget, want)
		}
	}
}

func starts(windows []page.Window) string {
	out := []int{}
	for _, w := range windows {
		out = append(out, int(w.Range.Start/size))
	}
	return fmt.Sprint(out)
}

// TestPlanNeverTouches says what no plan may contain, whatever there is.
func TestPlanNeverTouches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var windows []page.Window
		var noHuge []page.Range
		n := rapid.IntRange(0, 50).Draw(t, "n")
		for i := range n {
			resident := uint64(rapid.IntRange(0, 512).Draw(t, "resident")) * 4096
			huge := uint64(0)
			if resident == size && rapid.Bool().Draw(t, "huge") {
				huge = size
			}
			windows = append(windows, window(i, resident, huge))
			if rapid.IntRange(0, 9).Draw(t, "advised") == 0 {
				noHuge = append(noHuge, page.Range{Start: uintptr(i)*size + size/2, End: uintptr(i)*size + size/2 + 4096})
			}
		}
		o := Options{MinDensity: rapid.Float64Range(0.5, 1).Draw(t, "density"), Budget: uint64(rapid.IntRange(0, 60*size).Draw(t, "budget"))}
		p := NewPlan(windows, o, noHuge, nil)
		last := 1.0
		for _, w := range p.Todo {
			switch {
			case w.Density() < o.MinDensity, w.Huge > 0:
				t.Fatalf("%+v is in the plan", w)
			case w.Density() > last:
				t.Fatal("not the densest first")
			}
			last = w.Density()
			for _, r := range noHuge {
				if r.Start < w.Range.End && w.Range.Start < r.End {
					t.Fatalf("%v is advised against", w.Range)
				}
			}
		}
		if o.Budget > 0 && p.Bytes > o.Budget {
			t.Fatalf("%d bytes of a budget of %d", p.Bytes, o.Budget)
		}
		empty := 0
		for _, w := range windows {
			if w.Resident == 0 {
				empty++
			}
		}
		if sum := len(p.Todo) + p.Already + p.Sparse + p.OptedOut + p.OverBudget + p.Deferred + empty; sum != n {
			t.Fatalf("%d of %d windows: %+v", sum, n, p)
		}
	})
}

func TestDensityHasAFloor(t *testing.T) {
	for _, d := range []float64{-1, 0.1, 0.49, 1.01, math.NaN(), math.Inf(1)} {
		if o, err := (Options{MinDensity: d}).withDefaults(); err == nil {
			t.Errorf("%v is taken: %+v", d, o)
		}
	}
	for in, want := range map[float64]float64{0: 0.8, 0.5: 0.5, 1: 1} {
		if o, err := (Options{MinDensity: in}).withDefaults(); err != nil || o.MinDensity != want {
			t.Errorf("%v: %+v, %v", in, o, err)
		}
	}
}
