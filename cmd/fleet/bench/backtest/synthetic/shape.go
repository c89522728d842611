package synthetic

import "math"

// A shape is what a workload does over time. Sizes are shares of the live heap unless
// stated.
type shape struct {
	live, stacks float64 // bytes
	alloc        float64 // live heaps a second
	off, cache   float64
	cpu          float64 // cores
	day, weekend float64 // how much of it comes and goes with the day and the week
	noise        float64
	phase        float64 // of the day
	growth       float64 // of the live heap, a day
	leak         float64 // of the live heap, a day
	restart      float64 // days until the leak begins anew; 0 never
	bursts       float64 // a day
	height       float64 // of a burst, the median
	tail         float64 // standard deviation of its logarithm
	length       float64 // minutes, the median
	walk         float64 // of what is off the heap, a day
	jumps        float64 // of it, a day
	cacheFollows bool    // the cache grows with use, and is dropped at times

}

// change makes the shape of a kind.
func change(kind string, w world, s *shape) {
	switch kind {
	case "growing":
		s.growth, s.day = w.between(.02, .09), w.between(.05, .25)
	case "daily":
		s.day, s.weekend = w.between(.3, .7), w.between(.1, .5)
	case "bursty":
		s.bursts, s.height, s.tail, s.length = w.log(.3, 6), w.between(.3, 1.2), w.between(.2, .5), w.log(3, 40)
	case "leaking":
		s.leak = w.log(.04, .4)
		if w.chance(.5) {
			s.restart = w.between(2, 6)
		}
	case "off-heap":
		s.off, s.walk, s.jumps = w.between(1, 5), w.between(.01, .08), w.between(0, .6)
	case "page-cache-heavy":
		s.cache, s.cacheFollows, s.day = w.between(2, 8), true, w.between(.1, .4)
	}
}

// pod makes one pod of it.
func (s *shape) pod(w world, n int) []Moment {
	out := make([]Moment, n)
	size := 1 + .1*(2*w.Float64()-1) // no two pods have the same load
	bursts := s.burst(w, n)
	wander, off, cache, leaked, since := 0.0, 1.0, .5, 0.0, 0.0
	const keep = .995 // of the wandering, a minute
	for i := range out {
		days := float64(i) / float64(perDay)
		use := size * (1 + s.growth*days) * s.season(days)
		wander = keep*wander + math.Sqrt(1-keep*keep)*w.NormFloat64()
		use *= math.Exp(s.noise * wander)
		b := bursts[i]
		if s.leak > 0 {
			leaked += s.leak * s.live * size / float64(perDay) * s.season(days)
			if since++; s.restart > 0 && since > s.restart*float64(perDay) {
				leaked, since = 0, 0
			}
		}
		if s.walk > 0 {
			off = max(off+s.walk*w.NormFloat64()/math.Sqrt(float64(perDay)), .5)
			if w.chance(s.jumps / float64(perDay)) {
				off *= w.between(.9, 1.15)
			}
		}
		if s.cacheFollows {
			cache += (1 - cache) * .002 * use
			if w.chance(1 / (2 * float64(perDay))) {
				cache *= w.between(.3, .9)
			}
		} else {
			cache = 1
		}
		out[i] = Moment{
			Live: s.live * use * (1 + b), Leaked: leaked, Alloc: s.alloc * s.live * use * (1 + 1.5*b),
			Stacks: s.stacks * use * (1 + b), OffHeap: s.off*s.live*size*off + 20*mib, Cache: s.cache * s.live * cache, CPU: s.cpu * use * (1 + b),
		}
	}
	return out
}

// season is the day, from 1 - day to 1 + day, and the weekend.
func (s *shape) season(days float64) float64 {
	v := 1 + s.day*math.Sin(2*math.Pi*(days+s.phase))
	if d := int(math.Floor(days)) % 7; d >= 5 {
		v *= 1 - s.weekend
	}
	return v
}

// burst returns how much more there is at each moment: it comes at once and goes slowly.
func (s *shape) burst(w world, n int) []float64 {
	out := make([]float64, n)
	if s.bursts == 0 {
		return out
	}
	for at := 0.0; ; {
		at += w.ExpFloat64() / s.bursts * float64(perDay)
		if at >= float64(n) {
			return out
		}
		height, length := s.height*math.Exp(s.tail*w.NormFloat64()), s.length*math.Exp(.4*w.NormFloat64())
		for i := int(at); i < n; i++ {
			past := float64(i) - at
			left := height * math.Exp(-max(0, past-length)/10)
			if left < .01 {
				break
			}
			out[i] += left
		}
	}
}
