package shortage

import "time"

// fastest is the growth, as a share of the limit in a second, that is noticed in time: at
// it the last 5% of the limit last 200 ms.
const fastest = 0.05 / 0.2

// Between two looks: how long at most and at least, and how many times what a look costs.
const (
	slowest = time.Second
	least   = 20 * time.Millisecond
	rest    = 1500 // a look takes less than 0.07% of a CPU
)

// pace is how long to wait for the next look at something that has so much left of its
// limit, as a share, before it is too much. cost is what a look takes.
func pace(left float64, cost time.Duration) time.Duration {
	// Half the time in which the fastest growth would be there.
	wait := time.Duration(max(left, 0) / fastest / 2 * float64(time.Second))
	return min(max(wait, least, cost*rest), slowest)
}

// costs keeps what looks cost: the least of the last ones, for others were interrupted.
type costs struct {
	last [8]time.Duration
	n    int
}

func (c *costs) add(d time.Duration) {
	c.last[c.n%len(c.last)] = d
	c.n++
}

func (c *costs) least() time.Duration {
	out := time.Duration(0)
	for i, d := range c.last[:min(c.n, len(c.last))] {
		if i == 0 || d < out {
			out = d
		}
	}
	return out
}
