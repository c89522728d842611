package live

import (
	"context"
	"errors"
	"math"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/load"
)

// A source counts the requests of a process. read returns all since some time.
type source interface {
	read(ctx context.Context) (totals, error)
	close()
}

// errNoAnswer says that the counters could not be read this time.
var errNoAnswer = errors.New("no answer")

// totals are counters of requests.
type totals struct {
	count, errors float64
	buckets       []bucket // by bound, each with all that took no longer; nil if latencies are not counted
}

type bucket struct{ most, count float64 }

// since returns the requests since earlier totals.
func (t totals) since(before totals) *trial.Requests {
	r := &trial.Requests{Count: t.count - before.count, Errors: t.errors - before.errors}
	between := t.between(before)
	r.P50, r.P99 = quantile(0.5, between), quantile(0.99, between)
	return r
}

// between returns the buckets of what came since; nil if the two do not have the same bounds.
func (t totals) between(before totals) []bucket {
	if len(t.buckets) != len(before.buckets) {
		return nil
	}
	out := slices.Clone(t.buckets)
	for i, b := range before.buckets {
		if out[i].most != b.most || out[i].count < b.count {
			return nil
		}
		out[i].count -= b.count
	}
	return out
}

// quantile returns a quantile of latencies in seconds, as histogram_quantile of Prometheus does:
// by a straight line within a bucket. nil if it is not known: there are no requests, or it is
// above the last bound.
func quantile(q float64, buckets []bucket) *float64 {
	if len(buckets) == 0 || buckets[len(buckets)-1].count <= 0 {
		return nil
	}
	rank := q * buckets[len(buckets)-1].count
	i := sort.Search(len(buckets), func(i int) bool { return buckets[i].count >= rank })
	if i == len(buckets) || math.IsInf(buckets[i].most, 1) {
		return nil
	}
	lo, below := 0.0, 0.0
	if i > 0 {
		lo, below = buckets[i-1].most, buckets[i-1].count
	}
	v := buckets[i].most
	if n := buckets[i].count - below; n > 0 {
		v = lo + (buckets[i].most-lo)*(rank-below)/n
	}
	return &v
}

// longer returns how many of the requests took longer than a time.
func longer(than float64, buckets []bucket) float64 {
	if len(buckets) == 0 {
		return 0
	}
	all := buckets[len(buckets)-1].count
	i := sort.Search(len(buckets), func(i int) bool { return buckets[i].most >= than })
	if i == len(buckets) {
		return 0
	}
	lo, below := 0.0, 0.0
	if i > 0 {
		lo, below = buckets[i-1].most, buckets[i-1].count
	}
	if b := buckets[i]; !math.IsInf(b.most, 1) && b.most > lo {
		below += (b.count - below) * (than - lo) / (b.most - lo)
	}
	return all - below
}

// A generator puts folio's own load on the process, until it is closed.
type generator struct {
	stop context.CancelFunc
	done chan struct{}

	mu     sync.Mutex
	counts []float64 // by bounds: not added up
	all    totals
	result *load.Result // once it has ended
	err    error
}

// bounds are those of the generator's buckets, 3% apart, from 10 µs to some minutes.
var bounds = func() (out []float64) {
	for v := 1e-5; v < 300; v *= 1.03 {
		out = append(out, v)
	}
	return append(out, math.Inf(1))
}()

func startGenerator(ctx context.Context, o load.Options) *generator {
	ctx, stop := context.WithCancel(ctx)
	g := &generator{stop: stop, done: make(chan struct{}), counts: make([]float64, len(bounds))}
	o.Duration, o.Warmup, o.Each = longest(o.Rate), 0, g.each
	go func() {
		defer close(g.done)
		r, err := load.Run(ctx, o)
		g.mu.Lock()
		defer g.mu.Unlock()
		g.result, g.err = r, err
	}()
	return g
}

// longest is how long a load of a rate may last.
func longest(rate float64) time.Duration {
	return time.Duration(min(load.MaxDuration.Seconds(), load.MaxRequests/rate/2) * float64(time.Second))
}

func (g *generator) each(_, took time.Duration, failed bool) {
	i, _ := slices.BinarySearch(bounds, took.Seconds())
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all.count++
	if failed {
		g.all.errors++
		i = len(bounds) - 1 // it was not answered in any time
	}
	g.counts[i]++
}

func (g *generator) read(context.Context) (totals, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return totals{}, g.err
	}
	t := g.all
	sum := 0.0
	for i, n := range g.counts {
		sum += n
		t.buckets = append(t.buckets, bucket{bounds[i], sum})
	}
	return t, nil
}

func (g *generator) close() {
	g.stop()
	<-g.done
}
