package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// A request is when one ended, and what it took from its intended start.
type request struct {
	at     time.Time
	took   time.Duration
	failed bool
}

// ended is called by the load for each request.
func (b *bench) ended(_, took time.Duration, failed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ends.IsZero() {
		b.requests = append(b.requests, request{time.Now(), took, failed})
	}
}

// latencies says how many requests failed while the service ran, and the highest p99 of a block with
// the settings from before and with others, from when they were set.
func (b *bench) latencies(f *result.File) []string {
	failed := 0
	for _, r := range b.requests {
		if r.failed {
			failed++
		}
	}
	var before, others float64
	for _, block := range f.Live.Blocks {
		p99, ok := b.p99(f.Created, block.Start, block.End)
		switch {
		case !ok:
		case block.Setting == f.Arms[0].Name:
			before = max(before, p99)
		default:
			others = max(others, p99)
		}
	}
	out := []string{fmt.Sprintf("%d of %d", failed, len(b.requests)), "", ""}
	if before > 0 && others > 0 { // else no block has enough requests
		out[1], out[2] = unit.Seconds(before), fmt.Sprintf("%s (%.2fx)", unit.Seconds(others), others/before)
	}
	return out
}

// p99 is that of the requests that ended from one moment to another, in seconds since a search began.
func (b *bench) p99(began time.Time, from, to float64) (seconds float64, ok bool) {
	second := func(s float64) time.Time { return began.Add(time.Duration(s * float64(time.Second))) }
	var took []time.Duration
	for _, r := range b.requests {
		if r.at.After(second(from)) && r.at.Before(second(to)) {
			took = append(took, r.took)
		}
	}
	if len(took) < 100 { // none is beyond it
		return 0, false
	}
	slices.SortFunc(took, cmp.Compare)
	return took[len(took)*99/100].Seconds(), true
}
