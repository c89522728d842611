package load

import (
	"iter"
	"math"
	"math/rand/v2"
	"time"
)

// An arrival is when a request is to start, from the start of the load.
type arrival struct {
	at       time.Duration
	measured bool // false in the warm-up
}

// arrivals returns all of a load, in order. They depend on the options alone.
func (o *Options) arrivals() iter.Seq[arrival] {
	if o.Arrivals == Poisson {
		return o.poisson
	}
	return o.constant
}

// constant is i/rate from the start of the warm-up, and i/rate from the start of what is
// measured: rates and durations that multiply to a whole number give exactly that many.
func (o *Options) constant(yield func(arrival) bool) {
	at := func(i int64) time.Duration { return time.Duration(math.Round(float64(i) * 1e9 / o.Rate)) }
	for i := range requests(o.Rate, o.Warmup) {
		if !yield(arrival{at: at(i)}) {
			return
		}
	}
	for i := range requests(o.Rate, o.Duration) {
		if !yield(arrival{o.Warmup + at(i), true}) {
			return
		}
	}
}

// poisson has gaps with an exponential distribution. The number of arrivals varies with
// the seed, by about the square root of rate times duration.
func (o *Options) poisson(yield func(arrival) bool) {
	rng := rand.New(rand.NewPCG(o.Seed, 0))
	for t := 0.0; ; {
		t += rng.ExpFloat64() / o.Rate
		at := time.Duration(t * 1e9)
		if at >= o.Warmup+o.Duration || !yield(arrival{at, at >= o.Warmup}) {
			return
		}
	}
}
