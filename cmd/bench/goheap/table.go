package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/bench/internal/quiet"
	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/base/stat"
)

// A column of a table is a figure, in a unit, and perhaps its ratio to that of stock.
type column struct {
	title, key string
	format     string
	unit       float64
	ratio      bool
}

const mib = 1 << 20

// timed are the columns of workloads that are timed; the first is in the unit of the
// workload.
var timed = []column{
	{"", "op", "%.0f", 0, true},
	{"p99", "p99", "%.0f", 0, false},
	{"a GC cycle, ms", "gc", "%.0f", 1e-3, true},
	{"build, s", "build", "%.1f", 1, true},
	{"faults in build", "build faults", "%.0f", 1, true},
	{"user s", "user", "%.1f", 1, false},
	{"sys s", "sys", "%.2f", 1, false},
	{"live heap, MiB", "live", "%.0f", mib, false},
	{"RSS, MiB", "rss", "%.0f", mib, true},
	{"peak RSS, MiB", "peak", "%.0f", mib, false},
	{"coverage of the heap", "coverage", "%.0f%%", 0.01, false},
	{"80% after, s", "80%", "%.1f", 1, false},
}

// sized are those of workloads that are about memory only.
var sized = []column{
	{"RSS, MiB", "rss", "%.0f", mib, true},
	{"huge, MiB", "huge", "%.0f", mib, false},
	{"user s", "user", "%.2f", 1, false},
	{"sys s", "sys", "%.2f", 1, false},
}

// measure runs each arm once a round, in random order, and prints the table.
func (b *bench) measure(ctx context.Context, l workload, w io.Writer) error {
	arms := b.chosen(l)
	results := make([][]result, len(arms))
	defer b.machine.Release()
	err := quiet.Rounds(b.rounds, len(arms), func(_, i int) error {
		r, err := b.trial(ctx, l, arms[i])
		if err != nil {
			return fmt.Errorf("%s: %w", arms[i], err)
		}
		if b.verbose {
			fmt.Fprintf(os.Stderr, "%s: %s: %v\n", l.name, arms[i], r)
		}
		results[i] = append(results[i], r)
		return nil
	})
	if err != nil {
		return err
	}
	l.table(w, arms, results)
	return nil
}

func (l workload) table(w io.Writer, arms []string, results [][]result) {
	columns := slices.Clone(l.columns)
	for i, c := range columns {
		if c.unit == 0 { // of the workload
			unit := map[float64]string{1e-9: "ns", 1e-6: "µs", 1e-3: "ms"}[l.opUnit]
			columns[i].unit = l.opUnit
			columns[i].title = strings.TrimSpace(l.op+" "+c.title) + ", " + unit
		}
	}
	fmt.Fprintf(w, "\n%s: %s (%d rounds)\n\n", l.name, l.about, len(results[0]))
	head := []string{"arm"}
	for _, c := range columns {
		head = append(head, c.title)
	}
	t := table.New(w, head...)
	for i, arm := range arms {
		row := []string{arm}
		for _, c := range columns {
			row = append(row, c.cell(results[0], results[i], i > 0))
		}
		t.Row(row...)
	}
}

func values(rs []result, key string) (out []float64) {
	for _, r := range rs {
		if v, ok := r[key]; ok && !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	return out
}

func (c column) cell(base, rs []result, compare bool) string {
	v := values(rs, c.key)
	if len(v) == 0 {
		return "-"
	}
	text := fmt.Sprintf(c.format, stat.Median(v)/c.unit)
	if len(v) < len(rs) {
		text += fmt.Sprintf(" (%d of %d)", len(v), len(rs))
	}
	if b := values(base, c.key); c.ratio && compare && len(b) == len(v) {
		p := stat.PairedRatio(b, v)
		text += fmt.Sprintf(": %.3fx [%.3f, %.3f]", p.Median, p.Lo, p.Hi)
	}
	return text
}
