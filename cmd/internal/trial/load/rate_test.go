package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// A model is a server with one queue: its latency grows as it gets busy, and beyond its
// capacity requests fail.
type model struct {
	service  float64 // seconds, unloaded p99
	capacity float64 // requests per second
	sends    float64 // what the generator can send
	start    time.Duration
	now      time.Time
	rates    []float64
	flaky    bool // every first try of a rate fails
	hiccups  bool // the generator is 2 ms late at times, whatever the rate
	tried    map[float64]bool
	dies     float64
	sick     bool // every answer is an error
}

func (m *model) measure(_ context.Context, rate float64, d time.Duration) (*Result, string, error) {
	m.now = m.now.Add(m.start + RateWarmup + d)
	m.rates = append(m.rates, rate)
	if m.dies > 0 && rate > m.dies {
		return nil, "the server ended under load", nil
	}
	n := int64(math.Round(rate * d.Seconds()))
	r := &Result{Complete: true, Counts: Counts{Intended: n, Succeeded: n}}
	p99 := math.Inf(1)
	if rate < m.capacity {
		p99 = m.service / (1 - rate/m.capacity)
	}
	if m.flaky && !m.tried[rate] && rate > unloadedRate {
		p99 *= 10
	}
	if m.tried == nil {
		m.tried = make(map[float64]bool)
	}
	m.tried[rate] = true
	r.Lateness.P99 = new(0.0)
	if late := 0.01; rate > m.sends {
		r.Late, r.Lateness.P99 = true, &late
	} else if late = 0.002; m.hiccups && rate > unloadedRate {
		r.Late, r.Lateness.P99 = true, &late
	}
	p99 += *r.Lateness.P99 // from the intended start
	if m.sick {
		r.Failed, r.Succeeded, r.Failures.Status = n, 0, n
		r.Errors = []ErrorText{{kindStatus, "500 Internal Server Error"}}
		return r, "", nil
	}
	r.Latency.P50 = new(m.service / 2)
	if math.IsInf(p99, 1) {
		r.Failed, r.Failures.Timeout = n/2, n/2
		r.Succeeded = n - r.Failed
		r.Errors = []ErrorText{{kindTimeout, "too slow"}}
		return r, "", nil
	}
	r.Latency.P99 = new(p99)
	return r, "", nil
}

func find(t *testing.T, m *model) (*RateSearch, error) {
	t.Helper()
	told := 0
	s, err := FindRate(t.Context(), RateOptions{Measure: m.measure, Now: func() time.Time { return m.now }, Progress: func(RateStep) { told++ }})
	if told != len(s.Steps) || told != len(m.rates) {
		t.Errorf("told of %d steps of %d, %d measured", told, len(s.Steps), len(m.rates))
	}
	if took := m.now.Sub(time.Time{}); took > RateTime+30*time.Second {
		t.Errorf("it took %v", took)
	}
	return s, err
}

// The p99 of the model is twice the unloaded one at half of its capacity.
func TestFindRate(t *testing.T) {
	for _, c := range []struct {
		model
		lo, hi float64 // of the highest
		by     RateBound
	}{
		{model{service: 0.004, capacity: 3000, sends: 1e9}, 1300, 1510, ByServer},
		{model{service: 0.004, capacity: 3000, sends: 1e9, flaky: true}, 1300, 1510, ByServer},
		{model{service: 0.004, capacity: 100_000, sends: 5000}, 4500, 5000, ByGenerator},
		// Below the bound with what the generator was late: the server was faster.
		{model{service: 0.004, capacity: 3000, sends: 1e9, hiccups: true}, 900, 1000, ByGenerator},
		{model{service: 0.004, capacity: 100, sends: 1e9}, 45, 65, ByServer},
		{model{service: 0.0001, capacity: 20_000, sends: 1e9}, 16_000, 18_100, ByServer}, // below 1 ms
		{model{service: 0.4, capacity: 40, sends: 1e9}, 17, 21, ByServer},
		{model{service: 0.004, capacity: 1e12, sends: 1e12}, MaxRate / 2, MaxRate, ByMaximum},
		{model{service: 0.004, capacity: 1e12, sends: 1e12, dies: 900}, 810, 900, ByServer},
		{model{service: 0.004, capacity: 100_000, sends: 1e9, start: 15 * time.Second}, 200, 3200, ByTime},
	} {
		m := c.model
		s, err := find(t, &m)
		if err != nil {
			t.Errorf("%+v: %v", c.model, err)
			continue
		}
		if s.Highest < c.lo || s.Highest > c.hi || s.By != c.by || s.Rate > 0.7*s.Highest || s.Rate < 0.6*s.Highest {
			t.Errorf("%+v: %v, highest %v by %s, tried %v", c.model, s.Rate, s.Highest, s.By, m.rates)
		}
		if s.Steps[0].Verdict != RateUnloaded || len(s.Steps) > 40 {
			t.Errorf("steps %v", s.Steps)
		}
		if says := strings.Contains(s.Text(), "bounded by the load generator"); says != (c.by == ByGenerator) || !strings.HasPrefix(s.Text(), fmt.Sprintf("--rate auto: %v requests/s, 70%% of %v", s.Rate, s.Highest)) {
			t.Error(s.Text())
		}
	}
}

func TestFindRateFails(t *testing.T) {
	for _, c := range []struct {
		model
		want string
	}{
		{model{service: 0.004, capacity: 3000, sends: 1}, "--rate auto: the load generator was late even at 20 requests/s: give generator and server CPUs of their own, or give --rate a number"},
		{model{service: 0.004, capacity: 10, sends: 1e9}, "--rate auto: at 20 requests/s: 20 of 40 requests failed: not answered in time; first: too slow"},
		{model{service: 0.004, capacity: 3000, sends: 1, sick: true}, "--rate auto: at 20 requests/s: 40 of 40 requests failed: answered with a status other than 2xx and 3xx; first: 500 Internal Server Error"},
		{model{service: 0.004, capacity: 3000, sends: 1e9, dies: 5}, "--rate auto: at 20 requests/s: the server ended under load"},
	} {
		m := c.model
		if _, err := find(t, &m); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v", c.model, err)
		}
	}
	broken := errors.New("broken")
	_, err := FindRate(t.Context(), RateOptions{Measure: func(context.Context, float64, time.Duration) (*Result, string, error) { return nil, "", broken }})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	m := model{service: 0.004, capacity: 3000, sends: 1e9}
	_, err = FindRate(ctx, RateOptions{Measure: func(ctx context.Context, rate float64, d time.Duration) (*Result, string, error) {
		if rate > 100 {
			cancel()
		}
		return m.measure(ctx, rate, d)
	}})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
