package leak

import (
	"math"
	"slices"
)

// A Point is what something was at one time.
type Point struct {
	At    float64 // seconds
	Value float64
}

// A Trend is how something grows.
type Trend struct {
	From, To float64 // the level at the beginning and at the end
	Slope    float64 // a second
	// Low and High bound the slope with a confidence of 95%.
	Low, High float64
	// Chance is the probability of such a sequence where nothing grows, for this one
	// sequence: readings in any order are as likely, and sampling errors are normal.
	Chance float64
}

const (
	// parts is into how many stretches of time the readings are divided; fewParts where there
	// are few. The lowest of each is what counts: what rises and falls has lows that do not
	// rise.
	parts, fewParts = 8, 6
	// Least is the fewest readings by which anything is judged.
	Least = 2 * fewParts
	// slowed is by how much growth may slow down from one half to the other: what slows
	// down more is about to end, as a cache that fills.
	slowed = 0.25
	// endShare is how much of the mean growth the last quarter has to have.
	endShare = 0.25
)

// Enough reports whether there are enough readings to judge by.
func Enough(n int) bool { return n >= Least }

func partsOf(n int) int {
	if n >= 2*parts {
		return parts
	}
	return fewParts
}

// Judge says how a sequence grows, ascending in time; false if it does not, or by less than
// most. noise is the standard deviation of the difference of two readings by sampling alone.
func Judge(all []Point, noise, most float64) (Trend, bool) {
	if !Enough(len(all)) {
		return Trend{}, false
	}
	lows := lowest(all, partsOf(len(all)))
	if len(lows) < partsOf(len(all)) {
		return Trend{}, false
	}
	for i := 1; i < len(lows); i++ {
		if lows[i].Value <= lows[i-1].Value {
			return Trend{}, false
		}
	}
	first, mid, last := lows[0], lows[len(lows)/2], lows[len(lows)-1]
	growth := last.Value - first.Value
	early := (mid.Value - first.Value) / (mid.At - first.At)
	late := (last.Value - mid.Value) / (last.At - mid.At)
	before := lows[len(lows)-1-len(lows)/4]
	end := (last.Value - before.Value) / (last.At - before.At)
	mean := growth / (last.At - first.At)
	if growth < most || late < slowed*early || end < endShare*mean {
		return Trend{}, false
	}
	// What is highest rises with it, unlike that of a slow rise and fall, and what was read
	// last still rises, unlike a cache that has just been filled.
	if peaks := highest(all); peaks[1]-peaks[0] < slowed*growth {
		return Trend{}, false
	}
	if rest := all[len(all)*3/4:]; len(rest) < 3 {
		return Trend{}, false
	} else if still, _, _ := slope(rest); still < endShare*mean {
		return Trend{}, false
	}
	t := Trend{From: first.Value, To: last.Value, Chance: 1 / factorial(len(lows))}
	if noise > 0 {
		t.Chance = max(t.Chance, math.Erfc(growth/noise/math.Sqrt2)/2)
	}
	t.Slope, t.Low, t.High = slope(lows)
	return t, t.Low > 0
}

// lowest returns the lowest reading of each stretch of time; of a stretch without a reading
// there is none.
func lowest(all []Point, parts int) (out []Point) {
	begin, end := all[0].At, all[len(all)-1].At
	if !(end > begin) {
		return nil
	}
	last := -1
	for _, p := range all {
		i := min(int((p.At-begin)/(end-begin)*float64(parts)), parts-1)
		switch {
		case i != last:
			out = append(out, p)
			last = i
		case p.Value < out[len(out)-1].Value:
			out[len(out)-1] = p
		}
	}
	return out
}

// highest returns the highest reading of the first and of the last three eighths.
func highest(all []Point) (out [2]float64) {
	n := len(all) * 3 / 8
	for i, part := range [][]Point{all[:n], all[len(all)-n:]} {
		out[i] = part[0].Value
		for _, p := range part {
			out[i] = max(out[i], p.Value)
		}
	}
	return out
}

// slope is Theil and Sen's: the median of the slopes of all pairs, with an interval of
// 95% by Kendall's statistic.
func slope(all []Point) (median, low, high float64) {
	var s []float64
	for i, a := range all {
		for _, b := range all[i+1:] {
			s = append(s, (b.Value-a.Value)/(b.At-a.At))
		}
	}
	slices.Sort(s)
	n := float64(len(all))
	c := 1.96 * math.Sqrt(n*(n-1)*(2*n+5)/18)
	at := func(i float64) float64 { return s[min(max(int(math.Round(i)), 0), len(s)-1)] }
	m := float64(len(s))
	median = s[len(s)/2]
	if len(s)%2 == 0 {
		median = (s[len(s)/2-1] + s[len(s)/2]) / 2
	}
	return median, at((m-c)/2 - 1), at((m + c) / 2)
}

func factorial(n int) float64 { return math.Gamma(float64(n + 1)) }
