package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/foliomem/folio/cmd/fleet/bench/backtest/replay"
	"github.com/foliomem/folio/cmd/fleet/bench/backtest/synthetic"
	"github.com/foliomem/folio/cmd/fleet/internal/recommend"
)

const (
	gib    = 1 << 30
	perDay = 24 * 60
)

// options of a backtest.
type options struct {
	Learn, Replay int // days
	Prices        recommend.Prices
}

// defaults is a week, and the week after.
func defaults() options {
	return options{Learn: 7, Replay: 7, Prices: recommend.Prices{Core: .0218, GiB: .0029}}
}

// A result is of one workload: outcomes of the replayed days.
type result struct {
	Kind   string
	Seed   uint64
	Hours  float64
	Pods   int
	Before replay.Outcome
	After  replay.Outcome
	// Oracle knows the days: the least cost of all settings that end no more pods, and
	// squeeze no more page cache, than the present one. Fastest is the least CPU time of
	// those that keep the limit.
	Oracle, Fastest replay.Outcome
	Advice          *recommend.Advice
	Refused         string // why there is no recommendation
}

// cost is money for the GC and the memory that is taken.
func (o options) cost(x replay.Outcome) float64 { return x.GC*o.Prices.Core + x.Taken*o.Prices.GiB }

// judge tests one workload.
func judge(kind string, seed uint64, o options) (*result, error) {
	w := synthetic.New(kind, seed, o.Learn+o.Replay)
	from, to := o.Learn*perDay, (o.Learn+o.Replay)*perDay
	r := &result{Kind: kind, Seed: seed, Hours: float64(o.Replay * 24), Pods: len(w.Pods)}
	r.Before = replay.Play(w, w.Setting, from, to)
	a, err := recommend.Of(observe(w, from), recommend.Options{Prices: o.Prices})
	var little *recommend.TooLittleError
	switch {
	case errors.As(err, &little):
		r.Refused, r.After = little.Error(), r.Before
	case err != nil:
		return nil, err
	default:
		s, err := setting(a.Advised, w.Setting)
		if err != nil {
			return nil, fmt.Errorf("%s %d: %w", kind, seed, err)
		}
		r.Advice, r.After = a, replay.Play(w, s, from, to)
	}
	r.oracle(w, o, from, to)
	return r, nil
}

// setting is what a container has after the patch.
func setting(a recommend.Setting, s synthetic.Setting) (synthetic.Setting, error) {
	if a.GOGC != "" {
		v, err := strconv.ParseFloat(a.GOGC, 64)
		if err != nil {
			return s, err
		}
		s.GOGC = v
	}
	for _, f := range []struct {
		to   *float64
		from *float64
	}{{&s.GOMEMLIMIT, a.GOMEMLIMIT}, {&s.Limit, a.Limit}, {&s.Request, a.Request}} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	return s, nil
}

// oracle tries all settings on the days to come.
func (r *result) oracle(w *synthetic.Workload, o options, from, to int) {
	r.Oracle, r.Fastest = r.Before, r.Before
	least, fastest := o.cost(r.Before), r.Before.GC
	for _, gogc := range []float64{25, 50, 75, 100, 125, 150, 200, 250, 300, 400, 600, 800, 1200} {
		for _, share := range []float64{0, .8} {
			s := w.Setting
			s.GOGC, s.GOMEMLIMIT = gogc, share*s.Limit
			x := replay.Play(w, s, from, to)
			if x.Kills > r.Before.Kills || x.CacheSqueezed > r.Before.CacheSqueezed {
				continue
			}
			x.Taken = x.Quantile(.99) / gib * r.Hours * float64(len(w.Pods))
			if c := o.cost(x); c < least {
				least, r.Oracle = c, x
			}
			if x.GC < fastest {
				fastest, r.Fastest = x.GC, x
			}
		}
	}
}

// harmed says that the recommendation ended pods that would not have been, or more often.
func (r *result) harmed() bool { return r.After.Kills > r.Before.Kills }
