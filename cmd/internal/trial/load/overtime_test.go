package load

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func sum(v []int64) (n int64) {
	for _, x := range v {
		n += x
	}
	return n
}

// Windows are of the intended start, and the slowest percent is kept whole.
func TestOverTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := time.Now()
		r := fake(t, Options{Rate: 100, Warmup: time.Second, Duration: 10 * time.Second}, func(since time.Duration, w http.ResponseWriter, _ *http.Request) {
			// From 3 s to 3.5 s nothing is answered, which is 2 s from the start of what is measured.
			if since >= 3*time.Second && since < 3500*time.Millisecond {
				time.Sleep(3500*time.Millisecond - since)
			}
			if since == 7*time.Second {
				w.WriteHeader(http.StatusInternalServerError)
			}
		})
		o := r.OverTime
		if o.Window != 0.01 || len(o.Intended) != 1000 || sum(o.Intended) != 1000 || sum(o.Succeeded) != 999 || o.Failed[600] != 1 {
			t.Fatalf("%v s, %d windows, %d intended, %d succeeded, failed then: %d", o.Window, len(o.Intended), sum(o.Intended), sum(o.Succeeded), o.Failed[600])
		}
		for i, want := range map[int]float64{199: 0, 200: 0.5, 201: 0.49, 249: 0.01, 250: 0} {
			if o.Max[i] == nil || *o.Max[i] != want {
				t.Errorf("window %d: max %v, want %v", i, o.Max[i], want)
			}
		}
		// Nobody waited for the one that failed: its latency is none.
		if o.Max[600] != nil {
			t.Errorf("the failed request has a latency of %v", *o.Max[600])
		}
		// 999 have a latency: from rank 990 on they are 10.
		if o.SlowFrom == nil || *o.SlowFrom != 0.41 || o.SlowCut != 0 || sum(o.Slow) != 10 || sum(o.Slow[200:210]) != 10 {
			t.Errorf("slow from %v: %v", o.SlowFrom, o.Slow[195:215])
		}
		if k := r.Kept; !k.Start.Equal(before.Add(time.Second)) || len(k.Slow) != 10 || k.Slow[0] != (Request{2 * time.Second, 500 * time.Millisecond}) ||
			len(k.Some) != 999 || k.Of != 999 {
			t.Errorf("kept from %v: %v, %d of %d", k.Start, k.Slow, len(k.Some), k.Of)
		}
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var again Result
		if err := json.Unmarshal(data, &again); err != nil || again.Check() != nil || again.Kept != nil || *again.OverTime.Max[200] != 0.5 {
			t.Errorf("read back: %v, %v", err, again.Check())
		}
	})
}

// What was not sent, or was in flight at the end, has a window and no latency; what timed
// out has the time that it waited.
func TestOverTimeOfFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fake(t, Options{Rate: 10, Duration: time.Second, Timeout: 300 * time.Millisecond, MaxInFlight: 2},
			func(_ time.Duration, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		if f := r.Failures; f.NotSent+f.Timeout != 10 || f.NotSent == 0 {
			t.Fatalf("%+v", r.Failures)
		}
		o := r.OverTime
		if sum(o.Failed) != 10 || int64(len(r.Kept.Some)) != r.Failures.Timeout || r.Kept.Of != r.Failures.Timeout {
			t.Errorf("%d failed, %d with a latency, %d timed out", sum(o.Failed), len(r.Kept.Some), r.Failures.Timeout)
		}
		if o.Max[0] == nil || *o.Max[0] != 0.3 || o.Max[20] != nil || o.Failed[20] != 1 {
			t.Errorf("max %v", o.Max)
		}
	})
}

// However long a load is, memory is bounded, the counts add up, and the slowest are kept.
func TestKeeperIsBounded(t *testing.T) {
	for _, n := range []int{0, 1, 2, 99, 100, 5000, 100_000, 600_000} {
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		k := newKeeper()
		var all []Request
		for i := range n {
			r := Request{time.Duration(i) * 777 * time.Microsecond, time.Duration(rng.ExpFloat64() * 1e6)}
			all = append(all, r)
			k.add(r.At, r.Took, i%7 == 0)
		}
		o, kept := k.result(time.Unix(100, 0))
		if len(o.Intended) > mostWindows || len(kept.Slow) > mostKept || len(kept.Some) > mostKept || kept.Of != int64(n) || o.StartUnix != 100 {
			t.Errorf("%d requests: %d windows, %d slow, %d kept", n, len(o.Intended), len(kept.Slow), len(kept.Some))
		}
		c := Counts{Intended: int64(n), Failed: int64((n + 6) / 7)}
		c.Succeeded = c.Intended - c.Failed
		if err := o.check(&c); err != nil {
			t.Errorf("%d requests: %v", n, err)
		}
		slices.SortStableFunc(all, func(a, b Request) int { return cmp.Compare(b.Took, a.Took) })
		slow := 0
		if n > 0 {
			slow = n - int(rankOf(0.99, int64(n))) + 1
		}
		if sum(o.Slow) != int64(len(kept.Slow)) || len(kept.Slow) != min(slow, mostKept) || kept.SlowCut != int64(slow-len(kept.Slow)) {
			t.Errorf("%d requests: %d of %d slow ones, %d cut", n, len(kept.Slow), slow, kept.SlowCut)
		}
		for i, r := range kept.Slow {
			if r.Took != all[i].Took {
				t.Errorf("%d requests: slow one %d took %v, want %v", n, i, r.Took, all[i].Took)
				break
			}
		}
		longest := 0.0
		for _, v := range o.Max {
			longest = max(longest, *v)
		}
		if n > 0 && longest != all[0].Took.Seconds() {
			t.Errorf("%d requests: the longest %v s, want %v", n, longest, all[0].Took)
		}
	}
}

func TestOverTimeIsChecked(t *testing.T) {
	k := newKeeper()
	k.add(0, time.Millisecond, false)
	k.add(0, -1, true)
	counts := Counts{Intended: 2, Succeeded: 1, Failed: 1}
	for name, break_ := range map[string]func(*OverTime){
		"":        func(*OverTime) {},
		"column":  func(o *OverTime) { o.Max = nil },
		"count":   func(o *OverTime) { o.Succeeded[0]++ },
		"slow":    func(o *OverTime) { o.Slow[0] = 3 },
		"total":   func(o *OverTime) { o.Intended[0], o.Failed[0] = 3, 2 },
		"window":  func(o *OverTime) { o.Window = 0 },
		"reverse": func(o *OverTime) { o.Intended[0], o.Failed[0] = 0, -1 },
	} {
		o, _ := k.result(time.Unix(0, 0))
		break_(o)
		if err := o.check(&counts); (err == nil) != (name == "") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
