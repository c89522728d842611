package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

// mostOther is how much of a program's samples may be runtime work that no rule knows,
// in percent: more means that a release of Go has brought functions that need a class.
const mostOther = 3

// other writes how much of each program's time is "other runtime work": the median of
// the rounds. It needs no perf.
func (b *bench) other(w io.Writer, list []program, rounds int) error {
	fmt.Fprintf(w, "other runtime work, %s, %d rounds\n\n", runtime.Version(), rounds)
	t := table.New(w, "program", "samples", "median", "greatest", fmt.Sprintf("at most %d%%", mostOther))
	for _, p := range list {
		var parts []float64
		samples := 0
		for range rounds {
			s, n, err := b.underFolio(p)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			parts = append(parts, 100*s[profile.Other])
			samples += n
		}
		slices.Sort(parts)
		median, verdict := parts[len(parts)/2], "yes"
		if median > mostOther {
			verdict = "no"
		}
		t.Rowf("%s | %d | %.1f%% | %.1f%% | %s", p.name, samples, median, parts[len(parts)-1], verdict)
	}
	return nil
}
