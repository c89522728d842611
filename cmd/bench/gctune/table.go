package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/base/stat"
)

func head(w io.Writer) *table.Table {
	return table.New(w, "workload, limit", "arm", "work/s", "against default", "against best static", "for each CPU second",
		"peak RSS", "GCs/s", "GC CPU", "killed", "target")
}

// rows writes what the arms did, the static setting marked that is fastest in all
// rounds together.
func rows(t *table.Table, l *workload, arms []arm, results [][]result) {
	best := fastest(arms, results, -1)
	reference := bestStatic(arms, results)
	for i, a := range arms {
		rs := results[i]
		name := a.name
		if i == best && best > 0 {
			name = "**" + name + "**"
		}
		target := ""
		if strings.HasPrefix(a.tuner, "folio") {
			target = verdict(rs, results[0], reference, l.period > 0)
		}
		t.Rowf("%s, %d MiB | %s | %s | %s | %s | %s | %s | %s | %s | %d of %d | %s",
			l.what, l.limit/mib, name, figure("%.0f", rs, rate), ratio(results[0], rs), ratio(reference, rs), text(paired(reference, rs, perCPU)),
			figure("%.0f MiB", rs, func(r result) float64 { return r.rss / mib }),
			figure("%.1f", rs, func(r result) float64 { return r.Cycles }),
			figure("%.1f%%", rs, func(r result) float64 { return 100 * r.GC }),
			killed(rs), len(rs), target)
	}
}

// fastest is the static setting that never was killed and is fastest in all rounds
// but one; 0 if there is none.
func fastest(arms []arm, results [][]result, but int) (best int) {
	most := 0.0
	for i, a := range arms {
		if !a.isStatic() || killed(results[i]) > 0 {
			continue
		}
		rs := slices.Clone(results[i])
		if but >= 0 && len(rs) > 1 {
			rs = slices.Delete(rs, but, but+1)
		}
		if m := stat.Median(rates(rs)); m > most {
			best, most = i, m
		}
	}
	return best
}

// bestStatic is what the best static setting did in each round: the one that is
// fastest in all the others. Were the round itself asked, the luckiest of several
// settings would be taken for the best, and look faster than anybody can be who
// has to choose one.
func bestStatic(arms []arm, results [][]result) []result {
	out := make([]result, len(results[0]))
	for round := range out {
		out[round] = results[fastest(arms, results, round)][round]
	}
	return out
}

// figure is a median as text, where anything survived.
func figure(format string, rs []result, f func(result) float64) string {
	if killed(rs) == len(rs) {
		return "-"
	}
	return fmt.Sprintf(format, stat.Median(column(rs, f)))
}

// verdict says whether gctune meets its targets.
func verdict(rs, base, best []result, phases bool) string {
	least := 0.97
	if phases {
		least = 1
	}
	var missed []string
	if killed(rs) > 0 {
		missed = append(missed, "killed")
	}
	if r := paired(best, rs, rate); !(r.Median >= least) {
		missed = append(missed, fmt.Sprintf("below %.2fx the best static", least))
	}
	// Where the default is killed there is nothing to compare with.
	if killed(base) == 0 {
		if r := paired(base, rs, rate); !(r.Median >= 0.99) {
			missed = append(missed, "below default by more than 1%")
		}
	}
	if missed == nil {
		return "met"
	}
	return "not met: " + strings.Join(missed, ", ")
}

func column(rs []result, f func(result) float64) (out []float64) {
	for _, r := range rs {
		if !r.killed {
			out = append(out, f(r))
		}
	}
	return out
}

func rate(r result) float64 { return r.Rate }

// perCPU is the work for each second of CPU time: other work on the machine
// disturbs it less.
func perCPU(r result) float64 {
	if r.CPU <= 0 {
		return 0
	}
	return r.Rate / r.CPU
}

func rates(rs []result) []float64 { return column(rs, rate) }

func killed(rs []result) (n int) {
	for _, r := range rs {
		if r.killed {
			n++
		}
	}
	return n
}

// paired is the ratio of a figure, round by round, of the rounds that both
// survived.
func paired(base, rs []result, figure func(result) float64) stat.Summary {
	var a, b []float64
	for i := range base {
		if !base[i].killed && !rs[i].killed {
			a, b = append(a, figure(base[i])), append(b, figure(rs[i]))
		}
	}
	return stat.PairedRatio(a, b)
}

func ratio(base, rs []result) string { return text(paired(base, rs, rate)) }

func text(r stat.Summary) string {
	if !(r.Median > 0) {
		return "-"
	}
	return fmt.Sprintf("%.3fx [%.3f, %.3f]", r.Median, r.Lo, r.Hi)
}
