package leak

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	// LeastCycles is the fewest GC cycles by which the growth of the live heap is judged.
	LeastCycles = 5
	// walkParts is to how many lows a longer series is thinned, and walkShare how much of the
	// earlier rate the last step has to have: less is a cache that fills.
	walkParts = 8
	walkShare = 0.7
	// walkChance is the highest probability of a series that counts as growth.
	walkChance = 0.01
	// Forced is how long after a GC cycle the runtime forces the next, unless GOGC is off.
	Forced = 2 * time.Minute
)

// A walk is how a series drifts, if it is a random walk with a drift: few values, at any
// distances, whose steps vary more the longer they take.
type walk struct {
	at          []Point
	drift, err  float64 // a second: the mean, and its standard error
	degrees     int
	first, last Point
}

// walkOf thins a series to its lows and returns how it drifts; false with fewer than
// LeastCycles values.
func walkOf(all []Point) (w walk, ok bool) {
	if len(all) < LeastCycles {
		return w, false
	}
	w.at = all
	if len(all) > walkParts {
		w.at = nil
		for i := range walkParts {
			part := all[i*len(all)/walkParts : (i+1)*len(all)/walkParts]
			w.at = append(w.at, slices.MinFunc(part, func(a, b Point) int { return cmp.Compare(a.Value, b.Value) }))
		}
	}
	w.first, w.last = w.at[0], w.at[len(w.at)-1]
	over := w.last.At - w.first.At
	w.drift = (w.last.Value - w.first.Value) / over
	sum, steps := 0.0, len(w.at)-1
	for i, p := range w.at[1:] {
		took := p.At - w.at[i].At
		if !(took > 0) {
			return w, false
		}
		off := p.Value - w.at[i].Value - w.drift*took
		sum += off * off / took
	}
	w.degrees = steps - 1
	w.err = math.Sqrt(sum / float64(w.degrees) / over)
	return w, true
}

// rises reports whether each value is above the one before, the last step hardly slower than
// those before it.
func (w *walk) rises() bool {
	for i, p := range w.at[1:] {
		if p.Value <= w.at[i].Value {
			return false
		}
	}
	before := w.at[len(w.at)-2]
	end := (w.last.Value - before.Value) / (w.last.At - before.At)
	return end >= walkShare*(before.Value-w.first.Value)/(before.At-w.first.At)
}

// judgeWalk says how a series of the live heap grows, one value of each GC cycle, ascending
// in time; false if it does not, or by less than most. It is judged with fewer values than
// by [Judge]. now is what all objects are now, live or not: no less than a heap that still
// grows. looks is how often it was judged until now.
func judgeWalk(all []Point, now Point, most float64, looks int) (Trend, bool) {
	w, ok := walkOf(all)
	if !ok || !w.rises() || w.last.Value-w.first.Value < most {
		return Trend{}, false
	}
	if now.Value < w.last.Value+walkShare*w.drift*(now.At-w.last.At) {
		return Trend{}, false
	}
	if len(all) > walkParts { // as in Judge
		if peaks := highest(all); peaks[1]-peaks[0] < slowed*(w.last.Value-w.first.Value) {
			return Trend{}, false
		}
	}
	// Seen at equal distances, what rises and falls about as often seems to grow.
	if !Enough(len(all)) && w.regular() {
		return Trend{}, false
	}
	wide := student95(w.degrees) * w.err
	t := Trend{From: w.first.Value, To: w.last.Value, Slope: w.drift, Low: w.drift - wide, High: w.drift + wide}
	if w.err > 0 {
		t.Chance = studentAbove(w.drift/w.err, w.degrees)
	}
	t.Chance = min(t.Chance*float64(max(looks, 1)), 1)
	return t, t.Chance <= walkChance && t.Low > 0
}

// regular reports whether the values are at about equal distances.
func (w *walk) regular() bool {
	low, high := math.Inf(1), 0.0
	for i, p := range w.at[1:] {
		low, high = min(low, p.At-w.at[i].At), max(high, p.At-w.at[i].At)
	}
	return high < 1.2*low
}

// staysBelow reports whether a series of the live heap has grown by less than most, with a
// confidence of 95%, over most of the time since begin.
func staysBelow(all []Point, begin, now, most float64) bool {
	w, ok := walkOf(all)
	if !ok {
		return false
	}
	over := w.last.At - w.first.At
	return over >= (now-begin)/2 && (w.drift+student95(w.degrees)*w.err)*over < most
}

// studentAbove is the probability of a value above t of Student's distribution.
func studentAbove(t float64, degrees int) float64 {
	// The integral of the density over the angle atan(t/sqrt(degrees)), by Abramowitz and
	// Stegun 26.7.3 and 26.7.4.
	angle := math.Atan(t / math.Sqrt(float64(degrees)))
	sin, cos := math.Sincos(angle)
	sum, term := 0.0, 1.0
	if degrees%2 == 1 {
		term = cos
	}
	for k := 2 + degrees%2; k <= degrees; k += 2 {
		sum += term
		term *= cos * cos * float64(k-1) / float64(k)
	}
	if degrees%2 == 1 {
		return 0.5 - (angle+sin*sum)/math.Pi
	}
	return 0.5 - sin*sum/2
}

// student95 bounds 95% of Student's distribution, both sides.
func student95(degrees int) float64 {
	low, high := 0.0, 20.0 // 12.7 with one degree
	for range 60 {
		if mid := (low + high) / 2; studentAbove(mid, degrees) > 0.025 {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}
