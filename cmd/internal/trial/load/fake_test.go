package load

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A pipeListener accepts connections within the process: with it a load and its server
// run on the fake clock of testing/synctest, on which times are exact.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.done:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fake runs a load against handler on a fake clock, which starts at the load's start.
func fake(t *testing.T, o Options, handler func(since time.Duration, w http.ResponseWriter, r *http.Request)) *Result {
	t.Helper()
	return fakeContext(t, t.Context(), o, handler)
}

func fakeContext(t *testing.T, ctx context.Context, o Options, handler func(since time.Duration, w http.ResponseWriter, r *http.Request)) *Result {
	t.Helper()
	l := newPipeListener()
	start := time.Now()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler(time.Since(start), w, r) })}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(l) }()
	o.dial = l.dial
	if o.wait == nil {
		o.wait = func(until time.Time) bool { return sleep(ctx, until) }
	}
	if o.URLs == nil {
		o.URLs = []string{"http://server/"}
	}
	r, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	server.Close()
	<-ended
	if err := r.Check(); err != nil {
		t.Errorf("the result does not agree with itself: %v", err)
	}
	return r
}

// above counts requests that took longer than d, those that failed too.
func above(r *Result, d time.Duration) (n int64) {
	for i, v := range r.Latency.Histogram.Nanoseconds {
		if v > int64(d) {
			n += r.Latency.Histogram.Counts[i]
		}
	}
	return n + r.Failed
}

// A server that stalls for 500 ms is seen by every request that came meanwhile, by the
// time that it waited from its intended start. A closed loop on one connection would have
// sent one request in that time.
func TestStallIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate = 100
		r := fake(t, Options{Rate: rate, Warmup: time.Second, Duration: 10 * time.Second}, func(since time.Duration, _ http.ResponseWriter, _ *http.Request) {
			// From 3 s to 3.5 s nothing is answered, else all at once.
			if since >= 3*time.Second && since < 3500*time.Millisecond {
				time.Sleep(3500*time.Millisecond - since)
			}
		})
		if r.Intended != 1000 || r.Succeeded != 1000 || r.Failed != 0 || !r.Complete {
			t.Errorf("%+v", r.Counts)
		}
		// Those that came at 3.00, 3.01, ... 3.49 s took 500, 490, ... 10 ms.
		for _, tt := range []struct {
			longer time.Duration
			n      int64
		}{{0, 50}, {5 * time.Millisecond, 50}, {95 * time.Millisecond, 41}, {245 * time.Millisecond, 26}, {495 * time.Millisecond, 1}, {501 * time.Millisecond, 0}} {
			if got := above(r, tt.longer); got != tt.n {
				t.Errorf("%d requests took longer than %v, want %d", got, tt.longer, tt.n)
			}
		}
		// Rank 990 of 1000 is the eleventh from above: 400 ms.
		if want := *seconds(bucket(int64(400 * time.Millisecond))); r.Latency.P99 == nil || *r.Latency.P99 != want {
			t.Errorf("p99 is %v, want %v", r.Latency.P99, want)
		}
		if *r.Latency.P50 != 0 || *r.Latency.P90 != 0 || *r.Lateness.Max != 0 || r.Late || r.Lateness.LateStarts != 0 {
			t.Errorf("p50 %v, p90 %v, lateness %+v", *r.Latency.P50, *r.Latency.P90, r.Lateness)
		}
		if r.Elapsed != 9.99 {
			t.Errorf("elapsed %v", r.Elapsed)
		}
	})
}

// A server that never answers does not slow down the arrivals: as many as may be in
// flight are sent, the rest counted as not sent, and those in flight time out.
func TestMaxInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fake(t, Options{Rate: 1000, Duration: time.Second, MaxInFlight: 300, Timeout: 2 * time.Second},
			func(_ time.Duration, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		want := Failures{NotSent: 700, Timeout: 300}
		if r.Intended != 1000 || r.Failures != want || r.Succeeded != 0 || r.Failed != 1000 {
			t.Errorf("%+v", r.Counts)
		}
		if r.Latency.P50 != nil || r.Latency.Max != nil || r.Latency.SlowestAnswer != nil || *r.Lateness.Max != 0 || r.Late {
			t.Errorf("latency %+v, lateness %+v", r.Latency, r.Lateness)
		}
		if !r.Complete || r.Elapsed != 2.299 { // the last to be sent was request 299
			t.Errorf("complete %v, elapsed %v", r.Complete, r.Elapsed)
		}
	})
}

// Of 1000 requests one in twenty times out: percentiles up to the 95th are known, those
// above fall among failures.
func TestTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		var mu sync.Mutex
		r := fake(t, Options{Rate: 100, Duration: 10 * time.Second, Timeout: time.Second}, func(_ time.Duration, _ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			n++
			slow := n%20 == 0
			mu.Unlock()
			if slow {
				select {
				case <-time.After(time.Minute):
				case <-r.Context().Done():
				}
			}
		})
		if r.Failures != (Failures{Timeout: 50}) || r.Succeeded != 950 {
			t.Errorf("%+v", r.Counts)
		}
		if r.Latency.P90 == nil || r.Latency.P99 != nil || r.Latency.P999 != nil || r.Latency.Max != nil || *r.Latency.SlowestAnswer != 0 {
			t.Errorf("%+v", r.Latency)
		}
	})
}

// A generator that cannot start requests on time says so, measures from the intended
// start all the same, sends everything, and marks the run.
func TestLateGenerator(t *testing.T) {
	for _, tt := range []struct {
		name       string
		server     time.Duration // answers after this
		stall      time.Duration // three of each hundred that were started on time after this
		p99        time.Duration
		late       bool
		lateStarts int64
	}{
		// Each hundredth wake-up is 50 ms late, and so are the four that were due meanwhile,
		// by 40, 30, 20, 10 ms: 5% of all.
		{"fast server", 0, 0, 40 * time.Millisecond, true, 50},
		{"slow server", 800 * time.Millisecond, 0, 840 * time.Millisecond, false, 50},
		// The slowest answers are to others than those that were late.
		{"server with stalls", 0, 100 * time.Millisecond, 100 * time.Millisecond, false, 50},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			wait := func(until time.Time) bool {
				if n++; n%100 == 50 && time.Until(until) > 0 {
					until = until.Add(50 * time.Millisecond)
				}
				return sleep(t.Context(), until)
			}
			r := fake(t, Options{Rate: 100, Duration: 10 * time.Second, wait: wait}, func(at time.Duration, _ http.ResponseWriter, _ *http.Request) {
				if at%time.Second < 30*time.Millisecond {
					time.Sleep(tt.stall)
				}
				time.Sleep(tt.server)
			})
			l := r.Lateness
			if r.Succeeded != 1000 || r.Late != tt.late || l.LateStarts != tt.lateStarts || *l.Max != *seconds(bucket(int64(50 * time.Millisecond))) {
				t.Errorf("%s: %+v, late %v, lateness p99 %v max %v, %d starts", tt.name, r.Counts, r.Late, *l.P99, *l.Max, l.LateStarts)
			}
			// Rank 990 of 1000 is the eleventh from above: ten were 50 ms late, ten 40 ms.
			if *l.P99 != *seconds(bucket(int64(40 * time.Millisecond))) || *l.P50 != 0 {
				t.Errorf("%s: lateness p50 %v p99 %v", tt.name, *l.P50, *l.P99)
			}
			if want := *seconds(bucket(int64(tt.p99))); *r.Latency.P99 != want {
				t.Errorf("%s: p99 %v, want %v", tt.name, *r.Latency.P99, want)
			}
			want := *seconds(bucket(int64(tt.p99))) - max(*seconds(bucket(int64(tt.server))), *seconds(bucket(int64(tt.stall))))
			if l.Added == nil || *l.Added != want {
				t.Errorf("%s: adds %v to p99, want %v", tt.name, *l.Added, want)
			}
			if want := max(0.001, 0.1**r.Latency.P99); l.Bound != want {
				t.Errorf("%s: bound %v, want %v", tt.name, l.Bound, want)
			}
		})
	}
}

// A load that is interrupted has what was intended until then; what was in flight is
// counted as unanswered.
func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2505*time.Millisecond)
		defer cancel()
		r := fakeContext(t, ctx, Options{Rate: 10, Warmup: time.Second, Duration: time.Minute}, func(since time.Duration, _ http.ResponseWriter, r *http.Request) {
			if since > 2*time.Second {
				<-r.Context().Done()
			}
		})
		// At 1.0 to 2.0 s eleven are answered; at 2.1 to 2.5 s five are not.
		if r.Complete || r.Intended != 16 || r.Succeeded != 11 || r.Failures != (Failures{Unanswered: 5}) {
			t.Errorf("complete %v, %+v", r.Complete, r.Counts)
		}
		if len(r.Errors) != 0 {
			t.Errorf("an interruption is not an error: %v", r.Errors)
		}

		// In the warm-up nothing has been measured.
		ctx, cancel = context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		r = fakeContext(t, ctx, Options{Rate: 10, Warmup: time.Second, Duration: time.Minute}, func(time.Duration, http.ResponseWriter, *http.Request) {})
		if r.Complete || r.Intended != 0 || r.Latency.P50 != nil || r.Lateness.P50 != nil || r.Late {
			t.Errorf("complete %v, %+v", r.Complete, r.Counts)
		}
	})
}

// The warm-up has the rate of the rest, and is in no figure.
func TestWarmup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		n := 0
		r := fake(t, Options{Rate: 100, Warmup: 2 * time.Second, Duration: time.Second}, func(since time.Duration, w http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			n++
			mu.Unlock()
			if since < 2*time.Second {
				time.Sleep(100 * time.Millisecond)
				w.WriteHeader(http.StatusInternalServerError)
			}
		})
		if n != 300 || r.Intended != 100 || r.Succeeded != 100 || *r.Latency.Max != 0 || len(r.Errors) != 0 || r.Status["5xx"] != 0 {
			t.Errorf("%d requests, %+v", n, r)
		}
	})
}
