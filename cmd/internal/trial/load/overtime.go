package load

import (
	"cmp"
	"container/heap"
	"errors"
	"math/rand/v2"
	"slices"
	"time"
)

// OverTime is a load over time, in windows of one width from the start of what is measured.
// A request is in the window of its intended start. Columns have an entry for each window.
type OverTime struct {
	// StartUnix is the start by the wall clock, to set it against the logs of a server.
	StartUnix float64 `json:"start_unix_seconds"`
	// Start is the start since the program under load was started; nil for a load alone.
	Start *float64 `json:"start_seconds,omitempty"`
	// Window is 10 ms, or as many times twice that as the length of the load needs.
	Window    float64 `json:"window_seconds"`
	Intended  []int64 `json:"intended"`
	Succeeded []int64 `json:"succeeded"`
	Failed    []int64 `json:"failed"`
	// Max is the longest latency of those that were answered or timed out; null without any.
	Max []*float64 `json:"max_seconds"`
	// Slow counts those of SlowFrom or longer, the slowest percent of those that were answered
	// or timed out; SlowCut how many of them are in no window, because they were too many to keep.
	Slow     []int64  `json:"slow"`
	SlowFrom *float64 `json:"slow_from_seconds"`
	SlowCut  int64    `json:"slow_cut"`
}

// Kept are requests of a load that were answered or timed out, one by one.
type Kept struct {
	Start time.Time // of what is measured
	// Slow are the slowest percent, or the slowest of them where there were too many: SlowCut
	// more were as slow as the fastest of these or faster.
	Slow    []Request
	SlowCut int64
	// Some are chosen at random of all, or all where there were few. Of says of how many.
	Some []Request
	Of   int64
}

// A Request is when a request was to start, from the start of what is measured, and its
// latency.
type Request struct{ At, Took time.Duration }

const (
	firstWindow = 10 * time.Millisecond
	mostWindows = 1000
	// mostKept bounds each kind of requests that are kept, whatever the load: the slowest
	// percent of some 400,000.
	mostKept  = 4096
	slowShare = 0.99
)

// A window counts requests that were to start in it.
type window struct {
	succeeded, failed int64
	longest           time.Duration // -1 for none
}

func (w *window) add(o window) {
	w.succeeded, w.failed, w.longest = w.succeeded+o.succeeded, w.failed+o.failed, max(w.longest, o.longest)
}

// A keeper keeps requests over time, in bounded memory.
type keeper struct {
	width   time.Duration
	windows []window
	ended   int64 // requests that were answered or timed out
	slow    slowest
	some    []Request
	rng     *rand.Rand
}

func newKeeper() *keeper {
	return &keeper{width: firstWindow, rng: rand.New(rand.NewPCG(1, 2))}
}

// at returns the window of a time.
func (k *keeper) at(t time.Duration) *window {
	t = max(t, 0)
	for int(t/k.width) >= mostWindows {
		half := (len(k.windows) + 1) / 2
		for i := range half {
			w := k.windows[2*i]
			if 2*i+1 < len(k.windows) {
				w.add(k.windows[2*i+1])
			}
			k.windows[i] = w
		}
		k.windows, k.width = k.windows[:half], 2*k.width
	}
	i := int(t / k.width)
	for len(k.windows) <= i {
		k.windows = append(k.windows, window{longest: -1})
	}
	return &k.windows[i]
}

// add counts a request; took is negative for one that was neither answered nor timed out.
func (k *keeper) add(at, took time.Duration, failed bool) {
	w := window{succeeded: 1, longest: max(took, -1)}
	if failed {
		w.succeeded, w.failed = 0, 1
	}
	k.at(at).add(w)
	if took < 0 {
		return
	}
	k.ended++
	r := Request{at, took}
	if len(k.slow) < mostKept {
		heap.Push(&k.slow, r)
	} else if took > k.slow[0].Took {
		k.slow[0] = r
		heap.Fix(&k.slow, 0)
	}
	if len(k.some) < mostKept {
		k.some = append(k.some, r)
	} else if i := k.rng.Int64N(k.ended); i < mostKept {
		k.some[i] = r
	}
}

// result is what was kept of a load that started at a time.
func (k *keeper) result(start time.Time) (*OverTime, *Kept) {
	kept := &Kept{Start: start, Some: k.some, Of: k.ended}
	if k.ended > 0 {
		n := k.ended - rankOf(slowShare, k.ended) + 1
		kept.Slow = slices.Clone(k.slow)
		slices.SortFunc(kept.Slow, func(a, b Request) int { return cmp.Compare(b.Took, a.Took) })
		kept.Slow = kept.Slow[:min(n, int64(len(kept.Slow)))]
		kept.SlowCut = n - int64(len(kept.Slow))
	}
	out := &OverTime{StartUnix: float64(start.UnixMicro()) / 1e6, Window: k.width.Seconds(), SlowCut: kept.SlowCut,
		Intended: []int64{}, Succeeded: []int64{}, Failed: []int64{}, Max: []*float64{}, Slow: make([]int64, len(k.windows))}
	for _, w := range k.windows {
		out.Intended, out.Succeeded, out.Failed = append(out.Intended, w.succeeded+w.failed), append(out.Succeeded, w.succeeded), append(out.Failed, w.failed)
		var longest *float64
		if w.longest >= 0 {
			longest = new(w.longest.Seconds())
		}
		out.Max = append(out.Max, longest)
	}
	for _, r := range kept.Slow {
		out.Slow[max(r.At, 0)/k.width]++
	}
	if n := len(kept.Slow); n > 0 {
		out.SlowFrom = new(kept.Slow[n-1].Took.Seconds())
	}
	return out, kept
}

// slowest is a heap of requests with the fastest on top.
type slowest []Request

func (s slowest) Len() int           { return len(s) }
func (s slowest) Less(i, j int) bool { return s[i].Took < s[j].Took }
func (s slowest) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *slowest) Push(r any)        { *s = append(*s, r.(Request)) }
func (s *slowest) Pop() any {
	last := len(*s) - 1
	r := (*s)[last]
	*s = (*s)[:last]
	return r
}

// check says what is wrong with a load over time that was read: it has to have the counts
// of the load.
func (o *OverTime) check(c *Counts) error {
	n := len(o.Intended)
	if len(o.Succeeded) != n || len(o.Failed) != n || len(o.Max) != n || len(o.Slow) != n || n > 0 && !(o.Window > 0) || n > mostWindows {
		return errors.New("over_time: the columns are not of one length")
	}
	var intended, succeeded, failed int64
	for i := range n {
		if min(o.Intended[i], o.Succeeded[i], o.Failed[i], o.Slow[i]) < 0 || o.Intended[i] != o.Succeeded[i]+o.Failed[i] || o.Slow[i] > o.Intended[i] {
			return errors.New("over_time: the counts of a window do not add up")
		}
		intended, succeeded, failed = intended+o.Intended[i], succeeded+o.Succeeded[i], failed+o.Failed[i]
	}
	if intended != c.Intended || succeeded != c.Succeeded || failed != c.Failed {
		return errors.New("over_time: the windows are not of the load")
	}
	return nil
}
