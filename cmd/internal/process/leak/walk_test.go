package leak

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// spacings are when GC cycles end within 300 seconds.
var spacings = map[string]func(r *rand.Rand) []float64{
	"doubling": func(r *rand.Rand) (at []float64) {
		for t := 2 + 8*r.Float64(); t < 300; t *= 2 {
			at = append(at, t)
		}
		return at
	},
	"every 60 s": func(r *rand.Rand) (at []float64) {
		for t := 60 * r.Float64(); t < 300; t += 60 {
			at = append(at, t)
		}
		return at
	},
	"within 5 s of every 60 s": func(r *rand.Rand) (at []float64) {
		for t := 60 * r.Float64(); t < 300; t += 55 + 10*r.Float64() {
			at = append(at, t)
		}
		return at
	},
	"at random": func(r *rand.Rand) (at []float64) {
		for t := 30 * r.Float64(); t < 300; t += 10 + 60*r.Float64() {
			at = append(at, t)
		}
		return at
	},
	"every 2 s": func(r *rand.Rand) (at []float64) {
		for t := 2 * r.Float64(); t < 300; t += 2 {
			at = append(at, t)
		}
		return at
	},
}

// walks returns in how many of 500 simulations the live heap grows, and in how many it is
// said to stay, as it is seen after 300 seconds.
func walks(m model, cycles func(*rand.Rand) []float64) (grows, stays int) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 5))
		f := m(r)
		var all []Point
		top := 0.0
		for _, at := range cycles(r) {
			all = append(all, Point{at, f(at)})
			top = max(top, all[len(all)-1].Value)
		}
		if _, g := judgeWalk(all, Point{300, f(300)}, top/20, 1); g {
			grows++
		}
		if staysBelow(all, 0, 300, top/20) {
			stays++
		}
	}
	return grows, stays
}

// TestWalkSteady is about what does not keep growing.
func TestWalkSteady(t *testing.T) {
	for name, m := range steady {
		for when, cycles := range spacings {
			grows, stays := walks(m, cycles)
			t.Logf("%s, GC cycles %s: grows in %d of 500, stays in %d", name, when, grows, stays)
			if grows > 2 {
				t.Errorf("%s, GC cycles %s: found in %d of 500", name, when, grows)
			}
		}
	}
}

// TestWalkLeaking is about what does.
func TestWalkLeaking(t *testing.T) {
	for name, m := range leaking {
		for when, cycles := range spacings {
			grows, stays := walks(m, cycles)
			t.Logf("%s, GC cycles %s: grows in %d of 500, stays in %d", name, when, grows, stays)
			if stays > 12 {
				t.Errorf("%s, GC cycles %s: said to stay in %d of 500", name, when, stays)
			}
			few := strings.Contains(when, "every 60 s") // at equal distances, and fewer than 12
			if name == "steadily" && grows < 450 && !few {
				t.Errorf("%s, GC cycles %s: found in %d of 500", name, when, grows)
			}
		}
	}
}

// TestStudent compares with tables.
func TestStudent(t *testing.T) {
	for degrees, want := range map[int]float64{1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365} {
		if got := student95(degrees); math.Abs(got-want) > 0.001 {
			t.Errorf("%d degrees of freedom: %v, want %v", degrees, got, want)
		}
	}
	for degrees, want := range map[int]float64{3: 0.0012, 4: 0.00072, 6: 0.0003} {
		q := map[int]float64{3: 9.62, 4: 7.87, 6: 6.39}[degrees]
		if got := studentAbove(q, degrees); math.Abs(got/want-1) > 0.2 {
			t.Errorf("%d: above %v with %v, want %v", degrees, q, got, want)
		}
	}
}
