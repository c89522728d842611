package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// moments measures arms in rounds of random order on a machine whose speed is given,
// as a factor, at each trial.
func moments(rng *rand.Rand, costs []float64, rounds int, noise float64, speed func(at int) float64) []Moment {
	var out []Moment
	for range rounds {
		for _, a := range rng.Perm(len(costs)) {
			out = append(out, Moment{Arm: a, At: len(out), Cost: costs[a] * speed(len(out)) * math.Exp(noise*rng.NormFloat64())})
		}
	}
	return out
}

// worst returns how far the ratios to the first arm are off at most, as logs.
func worst(d Drift, costs []float64) (off float64) {
	for a := range costs {
		off = math.Max(off, math.Abs(math.Log(d.Effect[a]/d.Effect[0])-math.Log(costs[a]/costs[0])))
	}
	return off
}

var drifts = map[string]func(int) float64{
	"steady": func(int) float64 { return 1 },
	"ramp":   func(at int) float64 { return 1 + float64(at)/40 },
	"wave":   func(at int) float64 { return 1 + 0.3*math.Sin(float64(at)/6) },
	"step":   func(at int) float64 { return map[bool]float64{true: 2, false: 1}[at > 25] },
}

// What the machine does within a round counts against no arm.
func TestDriftWithinRounds(t *testing.T) {
	costs := []float64{1, 1.1, 0.8, 2, 1, 1, 0.9, 1.3, 1, 1, 1, 1.05, 1.2}
	for name, speed := range drifts {
		rng := rand.New(rand.NewPCG(1, 2))
		var fit, rounds []float64
		for range 40 {
			m := moments(rng, costs, 3, 0.01, speed)
			fit = append(fit, worst(NewDrift(len(costs), m), costs))
			y := make(map[string]map[int]float64)
			for i, x := range m {
				name := string(rune('a' + x.Arm))
				if y[name] == nil {
					y[name] = make(map[int]float64)
				}
				y[name][i/len(costs)] = x.Cost
			}
			e := Effects(y)
			off := 0.0
			for a := range costs {
				off = math.Max(off, math.Abs(math.Log(e[string(rune('a'+a))]/e["a"])-math.Log(costs[a]/costs[0])))
			}
			rounds = append(rounds, off)
		}
		t.Logf("%s: worst arm off by %.1f%%, by rounds alone %.1f%%", name, 100*Median(fit), 100*Median(rounds))
		if limit := map[string]float64{"steady": 0.03, "ramp": 0.04, "wave": 0.12, "step": 0.12}[name]; Median(fit) > limit {
			t.Errorf("%s: the worst arm is off by %.3f", name, Median(fit))
		}
		if name == "ramp" && Median(fit) > Median(rounds)/2 {
			t.Errorf("%s: no better than rounds: %.3f, %.3f", name, Median(fit), Median(rounds))
		}
	}
}

// Arms that join later are compared with those before, by the arms that both ran with.
func TestDriftOfLateArms(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	costs := []float64{1, 0.8, 1.2, 0.7, 0.9}
	var off []float64
	for range 40 {
		m := moments(rng, costs[:3], 3, 0.01, drifts["ramp"])
		for range 3 { // the last two join; the first two stay
			for _, a := range []int{0, 1, 3, 4} {
				m = append(m, Moment{Arm: a, At: len(m), Cost: costs[a] * drifts["ramp"](len(m)) * math.Exp(0.01*rng.NormFloat64())})
			}
		}
		off = append(off, worst(NewDrift(len(costs), m), costs))
	}
	if Median(off) > 0.04 {
		t.Errorf("off by %.3f", Median(off))
	}
}

// A single disturbed trial moves an arm little, and the noise is the machine's.
func TestDriftOutlierAndNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	costs := []float64{1, 1, 1, 1, 1, 1}
	var off, noise []float64
	for range 60 {
		m := moments(rng, costs, 5, 0.05, drifts["wave"])
		m[7].Cost *= 3
		d := NewDrift(len(costs), m)
		off = append(off, math.Abs(math.Log(d.Effect[m[7].Arm]/d.Effect[(m[7].Arm+1)%6])))
		noise = append(noise, d.Noise)
	}
	if Median(off) > 0.15 {
		t.Errorf("one trial of five that took three times as long moves its arm by %.3f", Median(off))
	}
	if n := Median(noise); n < 0.04 || n > 0.09 {
		t.Errorf("noise %.3f of a machine with 0.05", n)
	}
}

func TestDriftLittle(t *testing.T) {
	d := NewDrift(2, nil)
	if len(d.Effect) != 2 || !math.IsNaN(d.Effect[0]) || !math.IsNaN(d.Noise) {
		t.Errorf("nothing: %+v", d)
	}
	d = NewDrift(2, []Moment{{Arm: 1, At: 5, Cost: 3}})
	if !math.IsNaN(d.Effect[0]) || math.IsNaN(d.Effect[1]) || len(d.Adjusted) != 1 {
		t.Errorf("one: %+v", d)
	}
	// The order of the moments does not matter, and all that is adjusted belongs to its own.
	rng := rand.New(rand.NewPCG(7, 8))
	m := moments(rng, []float64{1, 2}, 4, 0, drifts["steady"])
	rng.Shuffle(len(m), func(i, j int) { m[i], m[j] = m[j], m[i] })
	d = NewDrift(2, m)
	for i, x := range m {
		if r := d.Adjusted[i] / d.Effect[x.Arm]; math.Abs(r-1) > 1e-3 {
			t.Errorf("moment %d of arm %d: %v of its arm's", i, x.Arm, r)
		}
	}
}
