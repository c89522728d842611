package main

import (
	"fmt"
	"io"
	"math"

	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/base/stat"
)

const mib = 1 << 20

// values are a figure of all rounds; NaN where it was not measured.
func values(rs []result, key string) []float64 {
	out := make([]float64, len(rs))
	for i, r := range rs {
		v, ok := r.figures[key]
		if !ok {
			v = math.NaN()
		}
		out[i] = v
	}
	return out
}

// cell is the median of a figure, in a unit.
func cell(rs []result, key, format string, unit float64) string {
	v := known(values(rs, key))
	if len(v) == 0 {
		return "-"
	}
	return fmt.Sprintf(format, stat.Median(v)/unit)
}

func known(v []float64) (out []float64) {
	for _, x := range v {
		if !math.IsNaN(x) {
			out = append(out, x)
		}
	}
	return out
}

// speedup is how many times faster an arm is than another, by the times of the rounds in
// which both have one.
func speedup(base, of []float64) string {
	var b, v []float64
	for i := range min(len(base), len(of)) {
		if !math.IsNaN(base[i]) && !math.IsNaN(of[i]) {
			b, v = append(b, of[i]), append(v, base[i])
		}
	}
	if len(b) == 0 {
		return "-"
	}
	s := stat.PairedRatio(b, v)
	return fmt.Sprintf("%.3fx [%.3f, %.3f]", s.Median, s.Lo, s.Hi)
}

// best is, for each round, the time of the arm that is fastest in all other rounds.
func best(arms [][]float64) []float64 {
	if len(arms) == 0 {
		return nil
	}
	out := make([]float64, len(arms[0]))
	for round := range out {
		out[round] = math.NaN()
		least := math.Inf(1)
		for _, times := range arms {
			others := known(append(append([]float64(nil), times[:round]...), times[round+1:]...))
			if len(times) == 1 {
				others = known(times)
			}
			// One that was killed in any round is not the best.
			if len(known(times)) == len(times) && stat.Median(others) < least {
				least, out[round] = stat.Median(others), times[round]
			}
		}
	}
	return out
}

// A pass is one of the two indexes that each process makes.
type pass struct{ name, time, cpu string }

var passes = []pass{{"first", "first_seconds", "first_cpu_seconds"}, {"second", "op_seconds", "cpu_seconds"}}

func compareTable(w io.Writer, arms []arm, results [][]result) {
	t := table.New(w, "pass", "arm", "documents/s", "to the default", "to the best patched", "CPU s", "faults of both",
		"peak RSS, MiB", "peak of the cgroup, MiB", "on huge pages", "killed")
	for _, p := range passes {
		var rivals [][]float64
		for i, a := range arms {
			if a.build == patched {
				rivals = append(rivals, values(results[i], p.time))
			}
		}
		champion := best(rivals)
		for i, a := range arms {
			killed := 0
			for _, r := range results[i] {
				if r.killed {
					killed++
				}
			}
			times := values(results[i], p.time)
			t.Row(p.name, a.name, perSecond(results[i], p), speedup(values(results[0], p.time), times), speedup(champion, times),
				cell(results[i], p.cpu, "%.1f", 1), cell(results[i], "faults", "%.0f", 1), cell(results[i], "peak_rss_bytes", "%.0f", mib),
				cell(results[i], "cgroup_peak_bytes", "%.0f", mib), cell(results[i], "huge_fraction", "%.0f%%", 0.01),
				fmt.Sprintf("%d of %d", killed, len(results[i])))
		}
	}
}

// perSecond is the median of the documents per second in a pass.
func perSecond(rs []result, p pass) string {
	var v []float64
	for _, r := range rs {
		if r.figures[p.time] > 0 {
			v = append(v, r.figures["documents"]/r.figures[p.time])
		}
	}
	if len(v) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", stat.Median(v))
}

func curveTable(w io.Writer, arms []arm, results [][]result) {
	t := table.New(w, "arm", "peak RSS, MiB", "to the default", "first pass, documents/s", "to the default", "second pass, documents/s",
		"to the default", "CPU s, first", "second")
	for i, a := range arms {
		rss := stat.PairedRatio(values(results[0], "peak_rss_bytes"), values(results[i], "peak_rss_bytes"))
		row := []string{a.name, cell(results[i], "peak_rss_bytes", "%.0f", mib), fmt.Sprintf("%.2fx", rss.Median)}
		for _, p := range passes {
			row = append(row, perSecond(results[i], p), speedup(values(results[0], p.time), values(results[i], p.time)))
		}
		for _, p := range passes {
			row = append(row, cell(results[i], p.cpu, "%.1f", 1))
		}
		t.Row(row...)
	}
}
