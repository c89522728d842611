package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/stat"
)

// grid is every static setting that is tried.
func (w *workload) grid() (out []arm) {
	shares := w.shares
	if shares == nil {
		shares = []float64{0.9, 0.96}
	}
	for _, gogc := range []string{"100", "200", "400", "800", "1600", "3200", "off"} {
		for _, share := range shares {
			out = append(out, static(gogc, share))
		}
	}
	return out
}

func static(gogc string, share float64) arm {
	return arm{name: fmt.Sprintf("GOGC=%s GOMEMLIMIT=%.0f%%", gogc, 100*share), tuner: "none", gogc: gogc, share: share}
}

// parse reads settings such as "400 90%, off 96%".
func parse(text string) (out []arm, err error) {
	for _, item := range strings.Split(text, ",") {
		gogc, share, ok := strings.Cut(strings.TrimSpace(item), " ")
		v, err := strconv.ParseFloat(strings.TrimSuffix(share, "%"), 64)
		if !ok || err != nil {
			return nil, fmt.Errorf("-static %q: want GOGC PERCENT%%, such as 400 90%%", item)
		}
		out = append(out, static(gogc, v/100))
	}
	return out, nil
}

const finalists = 3

// keep is how much of the best's rate a setting must have after each round to stay
// in the search: one run is much noise.
func keep(round int) float64 { return min(0.8+0.08*float64(round), 0.95) }

// statics finds the best static settings.
func (b *bench) statics(ctx context.Context, l *workload) ([]arm, error) {
	if b.static != "" {
		return parse(b.static)
	}
	left := l.grid()
	found := make(map[string][]result)
	rate := func(a arm) float64 {
		// A setting that is killed at times is not a setting.
		if killed(found[a.name]) > 0 {
			return 0
		}
		return stat.Median(rates(found[a.name]))
	}
	for round := range b.search {
		rs, err := b.measure(ctx, l, left, 1, l.span(b.searchTime))
		if err != nil {
			return nil, err
		}
		for i, a := range left {
			found[a.name] = append(found[a.name], rs[i]...)
		}
		slices.SortStableFunc(left, func(a, b arm) int { return cmp.Compare(rate(b), rate(a)) })
		n := len(left)
		for n > 0 && (rate(left[n-1]) == 0 || n > finalists && rate(left[n-1]) < keep(round)*rate(left[0])) {
			n--
		}
		left = left[:n]
	}
	left = left[:min(finalists, len(left))]
	for _, a := range left {
		fmt.Fprintf(os.Stderr, "gctune: %s: %s: %.0f/s in the search\n", l.name, a.name, rate(a))
	}
	return left, nil
}
