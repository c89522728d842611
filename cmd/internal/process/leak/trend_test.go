package leak

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// A model says what something is at each second of 300.
type model func(r *rand.Rand) func(t float64) float64

// sampled counts the objects of which the heap profile sees one in a few: each of them
// stays for a mean time, and is replaced.
func sampled(mean, life float64) model {
	return func(r *rand.Rand) func(float64) float64 {
		n, last := poisson(r, mean), 0.0
		return func(t float64) float64 {
			keep := math.Exp(-(t - last) / life)
			stay := 0
			for range n {
				if r.Float64() < keep {
					stay++
				}
			}
			n, last = stay+poisson(r, mean*(1-keep)), t
			return float64(n)
		}
	}
}

func poisson(r *rand.Rand, mean float64) (n int) {
	for t := r.ExpFloat64(); t < mean; t += r.ExpFloat64() {
		n++
	}
	return n
}

var steady = map[string]model{
	"constant": func(*rand.Rand) func(float64) float64 { return func(float64) float64 { return 1e6 } },
	"noise": func(r *rand.Rand) func(float64) float64 {
		return func(float64) float64 { return 1e6 + 1e5*r.NormFloat64() }
	},
	"a cache that grows and is full": func(r *rand.Rand) func(float64) float64 {
		full := 30 + 200*r.Float64()
		return func(t float64) float64 { return 1e6 * min(t/full, 1) }
	},
	"a cache that fills ever more slowly": func(r *rand.Rand) func(float64) float64 {
		of := 20 + 40*r.Float64()
		return func(t float64) float64 { return 1e6 * (1 - math.Exp(-t/of)) }
	},
	"sawtooth": func(r *rand.Rand) func(float64) float64 {
		period, phase := 5+60*r.Float64(), r.Float64()
		return func(t float64) float64 { _, f := math.Modf(t/period + phase); return 1e6 * f }
	},
	"sync.Pool": func(r *rand.Rand) func(float64) float64 {
		return func(float64) float64 { return math.Abs(1e5 * r.NormFloat64()) }
	},
	"a ring that is filled": func(r *rand.Rand) func(float64) float64 {
		full := 100 + 100*r.Float64()
		return func(t float64) float64 { return math.Floor(min(t, full)) * 1e4 }
	},
	"bursts": func(r *rand.Rand) func(float64) float64 {
		level := 0.0
		return func(float64) float64 {
			if r.Float64() < 0.1 {
				level += 1000 * r.Float64()
			}
			level *= 0.7
			return math.Floor(level)
		}
	},
	"waves of users": func(r *rand.Rand) func(float64) float64 {
		period := 30 + 90*r.Float64()
		return func(t float64) float64 { return 1e6 * (2 + math.Sin(2*math.Pi*t/period) + 0.1*r.NormFloat64()) }
	},
	"100 sampled objects, replaced fast":   sampled(100, 5),
	"100 sampled objects, replaced slowly": sampled(100, 100),
	"5 sampled objects":                    sampled(5, 50),
}

var leaking = map[string]model{
	"steadily": func(*rand.Rand) func(float64) float64 { return func(t float64) float64 { return 1e6 + 1e4*t } },
	"in steps": func(*rand.Rand) func(float64) float64 {
		return func(t float64) float64 { return 1e6 * math.Floor(t/11) }
	},
	"under a sawtooth": func(r *rand.Rand) func(float64) float64 {
		period := 5 + 10*r.Float64()
		return func(t float64) float64 { _, f := math.Modf(t / period); return 1e4*t + 1e6*f }
	},
	"with noise": func(r *rand.Rand) func(float64) float64 {
		return func(t float64) float64 { return 1e4*t + 1e5*r.NormFloat64() }
	},
	"ever faster": func(*rand.Rand) func(float64) float64 { return func(t float64) float64 { return 100 * t * t } },
	"sampled, 1 a second": func(r *rand.Rand) func(float64) float64 {
		n, last := 0, 0.0
		return func(t float64) float64 { n += poisson(r, t-last); last = t; return float64(n) }
	},
}

// found returns in how many of 500 simulations of 60 readings something grows.
func found(name string, m model) int {
	n := 0
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, uint64(len(name))))
		f := m(r)
		var all []Point
		top := 0.0
		for t := 0.0; t < 300; t += 5 * (0.5 + r.Float64()) { // as Watch spreads them
			v := f(t)
			all = append(all, Point{t, v})
			top = max(top, v)
		}
		noise := 0.0
		if top < 1000 { // counts of samples
			noise = math.Sqrt(all[0].Value + all[len(all)-1].Value)
		}
		if trend, grows := Judge(all, noise, 1); grows && trend.Chance < 0.01 {
			n++
			if trend.Low > trend.Slope || trend.High < trend.Slope || trend.Low <= 0 || trend.To <= trend.From {
				panic(fmt.Sprintf("%+v", trend))
			}
		}
	}
	return n
}

// TestSteady is about what does not keep growing.
func TestSteady(t *testing.T) {
	for name, m := range steady {
		if n := found(name, m); n > 2 {
			t.Errorf("%s: found in %d of 500", name, n)
		}
	}
}

// TestLeaking is about what does.
func TestLeaking(t *testing.T) {
	for name, m := range leaking {
		if n := found(name, m); n < 450 {
			t.Errorf("%s: found in %d of 500", name, n)
		}
	}
}

// TestSlope compares slopes with the truth.
func TestSlope(t *testing.T) {
	within := 0
	const trials = 500
	for seed := range uint64(trials) {
		r := rand.New(rand.NewPCG(seed, 3))
		var all []Point
		for at := 0.0; at < 300; at += 5 {
			all = append(all, Point{at, 100*at + 500*r.NormFloat64()})
		}
		trend, grows := Judge(all, 0, 1)
		if !grows {
			t.Fatal("not found")
		}
		if trend.Low <= 100 && 100 <= trend.High {
			within++
		}
	}
	if within < trials*90/100 {
		t.Errorf("the true slope is within the interval in %d of %d", within, trials)
	}
}

func TestLittle(t *testing.T) {
	if _, grows := Judge(nil, 0, 0); grows {
		t.Error("nothing grows")
	}
	same := make([]Point, 100)
	for i := range same {
		same[i] = Point{1, float64(i)}
	}
	if _, grows := Judge(same, 0, 0); grows {
		t.Error("all at one time")
	}
}
