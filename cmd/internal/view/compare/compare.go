package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// Options are what is compared; nil means the default.
type Options struct {
	// All compares all figures, not the main ones only: wall and CPU time,
	// peak memory, page faults, the GC, and the program's own.
	All bool
}

// A Comparison is how two results differ.
type Comparison struct {
	Old, New string // names of the files
	Tables   []Table
	// Differs lists what differs beside the figures: command, machine, setting, time.
	Differs []Difference
	// OnlyOldSays and OnlyNewSays are what the other one does not say of itself.
	OnlyOldSays, OnlyNewSays []string
	// Unsaid is what both leave out, so that it may differ.
	Unsaid []string
	// Metric is the unit that both were measured for, "" where none was named.
	Metric string
	of     []string // the Go benchmarks that the metric is of
	// OnlyOld and OnlyNew are what only one of them has, with its units where both have others.
	OnlyOld, OnlyNew []string
	// Found, Gone and Still are findings of doctor.
	Found, Gone, Still []string
	Doctor             bool
	Notes              stat.Notes
}

// A Table is the comparison of a unit.
type Table struct {
	Unit   string
	Higher bool // more is better
	Rows   []Row
	// Mean is the ratio of the geometric means; 0 if there is none.
	Mean float64
}

// Label names what is compared.
func (t *Table) Label() string { return label(t.Unit) }

// label names a unit of the Go benchmark format: as the figure of a run that it is of. The time of
// an operation may be that of a run or of a Go benchmark.
func label(name string) string {
	if name == "sec/op" {
		return "time"
	}
	f, ok := figure.OfUnit(name)
	switch {
	case !ok || f.Unit != name:
		return name
	case f.Key == "peak_rss_bytes": // beside that of all processes
		return f.Label
	}
	return f.Short
}

// A Row is the comparison of what both have.
type Row struct {
	Name     string
	Old, New stat.Summary
	Test     stat.Comparison
	Once     bool // single looks: a difference, but no test
	Sampled  bool // known only of runs whose CPU time was sampled
	Partial  bool // of a GC trace that was seen in part: a lower bound
}

// Compare compares two results. Where both have a single setting, these are
// compared, whatever they are; else settings of the same name. So it is with
// programs and benchmarks. Results of different kinds or metrics are refused.
func Compare(before, after *Set, opts *Options) (*Comparison, error) {
	if err := refuse(before, after); err != nil {
		return nil, err
	}
	c := &Comparison{Old: before.Name, New: after.Name, Doctor: before.doctor && after.doctor}
	for _, text := range append(before.warnings(), after.warnings()...) {
		c.Notes.Add(text)
	}
	c.differ(before, after)
	c.Metric, c.of = before.metricUnit(), before.benchmarks()
	if c.Doctor {
		c.findings(before, after)
		return c, nil
	}
	if before.whole && after.whole {
		before.zero(after)
		after.zero(before)
	}
	all := opts != nil && opts.All
	single := len(before.arms) < 2 && len(after.arms) < 2
	match := func(k key, in *Set) (key, bool) {
		if _, ok := in.values[k]; ok {
			return k, true
		}
		if len(before.names) == 1 && len(after.names) == 1 {
			k.name = in.names[0] // two builds of a program have two names
		}
		if single && len(in.arms) == 1 {
			k.arm = in.arms[0]
		}
		_, ok := in.values[k]
		return k, ok
	}
	common := 0
	for _, k := range before.rows {
		other, ok := match(k, after)
		if !ok {
			continue // see oneSided
		}
		common++
		if !all && isMinor(k.unit) {
			continue
		}
		t := c.table(k.unit)
		t.Higher = before.moreIsBetter(k.unit) || after.moreIsBetter(k.unit)
		fig, _ := figure.OfUnit(k.unit)
		r := Row{Name: k.label(single), Once: before.once || after.once, Sampled: fig.BySamples,
			Partial: fig.OfGC && (before.partly(k) || after.partly(other))}
		r.Old, r.New = before.summary(k), after.summary(other)
		r.Test = stat.Compare(before.values[k], after.values[other])
		r.Test.Ratio = r.New.Median / r.Old.Median
		t.Rows = append(t.Rows, r)
	}
	lacks := func(in *Set) func(key) bool {
		return func(k key) bool { _, ok := match(k, in); return !ok }
	}
	c.OnlyOld = oneSided(before.rows, lacks(after), single, all)
	c.OnlyNew = oneSided(after.rows, lacks(before), single, all)
	if len(before.names) == 1 && len(after.names) == 1 && before.names[0] != after.names[0] {
		c.renamed(before.names[0], after.names[0])
	}
	if common == 0 {
		return nil, fmt.Errorf("%s and %s: %w", before.Name, after.Name, ErrNothing)
	}
	for i := range c.Tables {
		c.Tables[i].mean()
	}
	return c, nil
}

// summary is the one figure of all runs, as the result itself shows it: pooled, without an
// interval, else the median.
func (s *Set) summary(k key) stat.Summary {
	if v, ok := s.pooled[k]; ok {
		return stat.Summary{N: len(s.values[k]), Median: v}
	}
	return stat.Summarize(s.values[k])
}

// partly says that a GC trace of what was measured was seen in part.
func (s *Set) partly(k key) bool { return s.partial[key{k.name, k.arm, ""}] }

// renamed notes that one program or benchmark is compared with another, where no
// fact says so.
func (c *Comparison) renamed(before, after string) {
	if !slices.ContainsFunc(c.Differs, func(d Difference) bool { return d.What == "command" }) {
		c.Differs = slices.Insert(c.Differs, 0, Difference{"name", before, after})
	}
}

// metricUnit is the unit of the metric that a result names.
func (s *Set) metricUnit() string {
	if s.target == nil {
		return ""
	}
	switch s.target.Name {
	case result.MetricWall, result.MetricBench:
		return "sec/op"
	case result.MetricCPU:
		return "cpu-sec/op"
	}
	return s.target.Name
}

// Headline returns the row that stands for the comparison: of the metric, else the
// first.
func (c *Comparison) Headline() (Table, Row, bool) {
	if len(c.Tables) == 0 || len(c.Tables[0].Rows) == 0 {
		return Table{}, Row{}, false
	}
	t := c.Tables[max(0, slices.IndexFunc(c.Tables, func(t Table) bool { return t.Unit == c.Metric && len(t.Rows) > 0 }))]
	for _, r := range t.Rows {
		if name, _, _ := strings.Cut(r.Name, " "); slices.Contains(c.of, name) {
			return t, r, true
		}
	}
	return t, t.Rows[0], true
}

// benchmarks are the names of the Go benchmarks that a result was measured for.
func (s *Set) benchmarks() []string {
	if s.target == nil || s.target.Name != result.MetricBench {
		return nil
	}
	var out []string
	for _, b := range s.target.Benchmarks {
		out = append(out, strings.TrimSuffix(b, " "+result.MetricBench))
	}
	return out
}

func (k key) label(single bool) string {
	if single || k.arm == "" {
		if k.arm == "" && !single {
			return k.name + " default"
		}
		return k.name
	}
	return k.name + " " + k.arm
}

func appendOnce(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// oneSided lists what the other side lacks: what was measured, where that is compared in no
// unit, else the units in which it is not. Minor units are left out unless all are asked for.
func oneSided(rows []key, lacks func(key) bool, single, all bool) (out []string) {
	var labels []string
	both, units := make(map[string]bool), make(map[string][]string)
	for _, k := range rows {
		of := k.label(single)
		if !lacks(k) {
			both[of] = true
			continue
		}
		labels = appendOnce(labels, of)
		if all || !isMinor(k.unit) {
			units[of] = append(units[of], label(k.unit))
		}
	}
	for _, of := range labels {
		switch {
		case !both[of]:
			out = append(out, of)
		case len(units[of]) > 0:
			out = append(out, of+": "+strings.Join(units[of], ", "))
		}
	}
	return out
}

func (c *Comparison) table(name string) *Table {
	i := slices.IndexFunc(c.Tables, func(t Table) bool { return t.Unit == name })
	if i < 0 {
		c.Tables = append(c.Tables, Table{Unit: name})
		i = len(c.Tables) - 1
	}
	return &c.Tables[i]
}

// mean compares the geometric means of several rows.
func (t *Table) mean() {
	if t.Unit == chargedUnit || t.Unit == apartUnit {
		return // parts of one thing
	}
	var before, after []float64
	for _, r := range t.Rows {
		if r.Old.Median <= 0 || r.New.Median <= 0 || r.Unknown() {
			return
		}
		before, after = append(before, r.Old.Median), append(after, r.New.Median)
	}
	if len(t.Rows) > 1 {
		t.Mean = stat.GeoMean(after) / stat.GeoMean(before)
	}
}

func (c *Comparison) findings(before, after *Set) {
	for _, r := range after.rules {
		if slices.Contains(before.rules, r) {
			c.Still = append(c.Still, r)
		} else {
			c.Found = append(c.Found, r)
		}
	}
	for _, r := range before.rules {
		if !slices.Contains(after.rules, r) {
			c.Gone = append(c.Gone, r)
		}
	}
}

// fewest is how many runs a side has at least for a test to say anything.
const fewest = 3

// Unknown says that no test can tell whether the figures differ: of too few runs, or of
// lower bounds.
func (r Row) Unknown() bool { return r.Partial || r.few() }

// few says that there are too few runs for a test, or for it ever to find a difference.
func (r Row) few() bool {
	return !r.Once && (min(r.Test.N1, r.Test.N2) < fewest || !stat.CanDiffer(r.Test.N1, r.Test.N2))
}

// Why says why it is unknown.
func (r Row) Why() string {
	if r.Partial {
		return "lower bounds: not all GC cycles were seen"
	}
	what := "run"
	if r.Sampled {
		what = "sampled run"
	}
	if r.Test.N1 == r.Test.N2 {
		return fmt.Sprintf("%s each: too few to tell", unit.Plural(r.Test.N1, what))
	}
	return fmt.Sprintf("%d and %s: too few to tell", r.Test.N1, unit.Plural(r.Test.N2, what))
}

// Delta is the difference as text, "~" where it is not decided, "unknown" where no test
// can tell.
func (r Row) Delta() string {
	switch {
	case r.Unknown():
		return "unknown"
	case r.Once && r.Old.Median == r.New.Median:
		return "same"
	case r.Once && r.Old.Median == 0:
		return "from 0"
	case r.Once:
		return unit.Change(r.Test.Ratio)
	case r.Test.Different && r.Old.Median == 0:
		return "from 0"
	}
	return r.Test.Delta()
}
