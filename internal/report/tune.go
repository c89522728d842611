package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/internal/count"
	"github.com/foliomem/folio/internal/metric"
	"github.com/foliomem/folio/internal/stat"
	"github.com/foliomem/folio/internal/trial"
	"github.com/foliomem/folio/internal/tune"
)

// A Tune is what folio tune shows.
type Tune struct {
	Title   string
	Program Program
	Result  *tune.Result
	Notes   *stat.Notes
	// Width is how many columns the plot may take with its legend; 0 when that is
	// not known.
	Width int
}

// Text prints the table of arms, the front and the recommendations.
func (t *Tune) Text(w io.Writer) error {
	r := t.Result
	p := &printer{w: w}
	p.line("%s", t.Title)
	p.line("%s, %s in %s, seed %d: %s", count.Of(len(r.Arms), "setting"), count.Of(r.Trials, "run"), r.Elapsed.Round(100*time.Millisecond), r.Seed, r.Ended)
	p.line("")
	if err := t.arms().write(w, ""); err != nil {
		return err
	}
	t.benchmarks(p)
	if front := r.Front(); len(front) > 1 {
		p.line("")
		for _, l := range t.plot(front) {
			p.line("%s", l)
		}
	}
	t.recommendations(p)
	for _, n := range r.Notes {
		t.Notes.Add(n)
	}
	p.notes(t.Notes)
	return p.err
}

// label is the heading of what is optimised.
func (t *Tune) label() string {
	m := t.Result.Objective
	if m.Name == metric.Bench && len(t.Result.Benchmarks) > 1 {
		return fmt.Sprintf("time/op (%d)", len(t.Result.Benchmarks))
	}
	if m.Name == metric.Bench {
		return "time/op"
	}
	return m.Name
}

// arms returns the table: the default first, then the others, best first.
func (t *Tune) arms() *table {
	r := t.Result
	tb := &table{left: map[int]bool{0: true, 2: true}}
	head := []string{"setting", t.label(), "", "vs default", "n"}
	if r.Objective.Name != metric.Wall {
		head = append(head, "wall")
	}
	if r.Objective.Name != metric.CPU {
		head = append(head, "cpu")
	}
	sampled := trial.Where(r.Arms[0].Samples) != nil
	head = append(head, "peak RSS", "faults", "GC share")
	if sampled {
		head = append(head, "memory tax")
	}
	tb.add(append(head, "")...)
	for _, a := range r.Ranked() {
		s := stat.Summarize(r.Values(a))
		delta := ""
		if a != r.Arms[0] {
			c := r.Compare(a)
			delta = c.Delta() + marks(t.Notes, c.Warnings)
		}
		row := []string{a.Name, Metric(r.Objective, s.Median), spreadOrNote(t.Notes, s), delta, fmt.Sprint(s.N)}
		if r.Objective.Name != metric.Wall {
			row = append(row, t.median(a, "wall_seconds", Seconds))
		}
		if r.Objective.Name != metric.CPU {
			row = append(row, t.median(a, "cpu_seconds", Seconds))
		}
		row = append(row, t.peak(a), t.median(a, "minor_faults", Count), t.median(a, "gc_cpu_fraction", Percent))
		if sampled {
			row = append(row, t.median(a, "memory_tax_fraction", Percent))
		}
		tb.add(append(row, status(a))...)
	}
	return tb
}

func status(a *tune.Arm) string {
	if a.Status == tune.Failed {
		return string(a.Status)
	}
	return ""
}

func (t *Tune) median(a *tune.Arm, key string, format func(float64) string) string {
	return format(stat.Median(trial.FigureOf(key).Values(a.Samples)))
}

func (t *Tune) peak(a *tune.Arm) string { return Bytes(t.Result.Memory(a)) }

// benchmarks prints, when there are several, each Go benchmark under the
// default and under the fastest setting.
func (t *Tune) benchmarks(p *printer) {
	r := t.Result
	if r.Objective.Name != metric.Bench || len(r.Benchmarks) < 2 || len(r.Recommended) == 0 {
		return
	}
	fast := r.Recommended[0].Arm
	if fast == r.Arms[0] {
		return
	}
	tb := &table{left: map[int]bool{0: true}}
	tb.add("benchmark", "default", fast.Name, "")
	for _, key := range r.Benchmarks {
		base, values := metricValues(r.Arms[0], key), metricValues(fast, key)
		tb.add(strings.TrimSuffix(key, " "+metric.Bench), Seconds(stat.Median(base)/1e9), Seconds(stat.Median(values)/1e9), stat.Compare(base, values).Delta())
	}
	p.line("")
	if p.err == nil {
		p.err = tb.write(p.w, "")
	}
}

func metricValues(a *tune.Arm, key string) []float64 {
	var out []float64
	for _, s := range a.Samples {
		if v, ok := s.Metrics[key]; ok && s.OK() {
			out = append(out, v)
		}
	}
	return out
}

var goals = map[string]string{
	tune.Fastest:  "fastest",
	tune.Cheapest: "least memory within 2% of the fastest",
	tune.Within:   "best within --mem",
}

func (t *Tune) recommendations(p *printer) {
	r := t.Result
	if len(r.Recommended) == 0 {
		p.line("")
		p.line("Nothing can be recommended: too little was measured.")
		return
	}
	p.line("")
	var kept []*tune.Arm
	ways := false
	for _, rec := range r.Recommended {
		goal := goals[rec.Goal]
		if rec.Goal == tune.Within {
			goal = "best within " + trial.FormatBytes(r.MaxMemory)
		}
		p.line("%s: %s", goal, t.verdict(rec))
		p.line("  %s", t.Program.Line(rec.Arm.Setting))
		if rec.Arm != r.Arms[0] {
			if what := removed(trial.Where(r.Arms[0].Samples), trial.Where(rec.Arm.Samples), 4); what != "" {
				p.line("  processor time: %s", what)
			}
		}
		if !slices.Contains(kept, rec.Arm) { // else it has been said
			kept = append(kept, rec.Arm)
			ways = keep(p, rec.Keep, ways)
		}
	}
}

// keep prints how to have a setting for good. The ways to choose from differ little from
// one setting to another: they are said once. It reports whether they have been.
func keep(p *printer, lines []string, said bool) bool {
	if len(lines) == 0 {
		return said
	}
	head, some := strings.CutSuffix(lines[0], "these:")
	switch {
	case !some:
		p.line("  %s", lines[0])
	case said:
		p.line("  %s", head+"the above")
	default:
		p.line("  %s", lines[0])
		for _, l := range lines[1:] {
			p.line("    %s", l)
		}
	}
	return said || some
}

// verdict says in words how a recommended arm compares with the default.
func (t *Tune) verdict(rec tune.Recommendation) string {
	if rec.Arm == t.Result.Arms[0] {
		if rec.Why != "" {
			return "the default (" + rec.Why + ")"
		}
		return "the default"
	}
	out := rec.Arm.Name
	if rec.Time.Different {
		out += fmt.Sprintf(", %s %s", t.label(), rec.Time.Delta())
	} else {
		out += fmt.Sprintf(", %s not measurably different", t.label())
	}
	if m := rec.MemoryRatio; !math.IsNaN(m) {
		out += fmt.Sprintf(", peak RSS %+.0f%%", 100*(m-1))
	}
	return out
}

// Recommendations returns the answers in their JSON form.
func (t *Tune) Recommendations() []Recommendation {
	var out []Recommendation
	for _, rec := range t.Result.Recommended {
		out = append(out, Recommendation{
			Goal: rec.Goal, Arm: rec.Arm.Name, Setting: NewSetting(rec.Arm.Setting), Line: t.Program.Line(rec.Arm.Setting),
			MetricRatio: finite(rec.Time.Ratio), P: rec.Time.P, Different: rec.Time.Different,
			MemoryRatio: finite(rec.MemoryRatio), Why: rec.Why, Keep: rec.Keep,
		})
	}
	return out
}
