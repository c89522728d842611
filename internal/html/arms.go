package html

import (
	"strings"

	"github.com/foliomem/folio/internal/metric"
	"github.com/foliomem/folio/internal/report"
	"github.com/foliomem/folio/internal/stat"
	"github.com/foliomem/folio/internal/trial"
)

// A target is what a file optimises, or judges by.
type target struct {
	*report.Target              // nil: wall time
	spec           *metric.Spec // the same, as texts of it are made
}

// targetOf returns the metric of a file: wall time where none was named.
func targetOf(f *report.File) target {
	t := target{f.Metric, &metric.Spec{Name: metric.Wall}}
	if m := f.Metric; m != nil {
		t.spec = &metric.Spec{Name: m.Name, Higher: m.Higher}
		if m.Name != metric.Wall && m.Name != metric.CPU && m.Name != metric.Bench {
			// Only its presence counts here: it says that the unit is the user's own.
			t.spec.Pattern = anything
		}
	}
	return t
}

// label names the metric as tables do.
func (t target) label() string {
	switch {
	case t.spec.Name != metric.Bench:
		return t.spec.Name
	case len(t.Benchmarks) > 1:
		return "time/op (" + itoa(len(t.Benchmarks)) + " benchmarks)"
	}
	return "time/op"
}

func (t target) text(v float64) string { return report.Metric(t.spec, v) }

// scale converts what is stored to what an axis shows.
func (t target) scale(v float64) float64 {
	if t.spec.Name == metric.Bench {
		return v / 1e9
	}
	return v
}

func (t target) axis() Axis {
	a := Axis{Label: t.label(), Scale: Log, Format: Seconds}
	if t.spec.Pattern != nil {
		a.Format = Count
	}
	if t.spec.Higher {
		a.Label += ", more is better"
	}
	return a
}

func (t target) values(samples []*trial.Sample) (out []float64) {
	for _, s := range samples {
		if v, ok := t.Value(s); ok {
			out = append(out, v)
		}
	}
	return out
}

// paired compares two arms within the rounds that both ran in.
func (t target) paired(base, arm []*trial.Sample) stat.Summary {
	b, a := t.Rounds(base), t.Rounds(arm)
	var bs, as []float64
	for round, v := range a {
		if w, ok := b[round]; ok {
			bs, as = append(bs, w), append(as, v)
		}
	}
	return stat.PairedRatio(bs, as)
}

// memory is what Folio goes by: the peak of all processes together.
func memory(samples []*trial.Sample) stat.Summary {
	var v []float64
	for _, s := range samples {
		if m, ok := s.Memory(); ok && s.OK() {
			v = append(v, m)
		}
	}
	return stat.Summarize(v)
}

// shapes of arms, by what they set: colour alone would not survive a copier.
const (
	shapeGOGC = iota
	shapeDefault
	shapeLimit
	shapeBoth
	shapeTHP
)

// kindOf says which family of settings an arm is of.
func kindOf(s report.Setting) (shape int, name string) {
	switch {
	case s.THP != "" && s.THP != "system":
		return shapeTHP, "THP " + s.THP
	case s.MemLimit != nil && s.GOGC != nil && *s.GOGC == trial.Off:
		return shapeLimit, "GOGC=off with GOMEMLIMIT"
	case s.MemLimit != nil:
		return shapeBoth, "GOMEMLIMIT with GOGC"
	case s.GOGC != nil || s.GOMAXPROCS != nil:
		return shapeGOGC, "GOGC"
	}
	return shapeDefault, "default"
}

// percentChange prints a ratio as a signed percentage.
func percentChange(ratio float64) string {
	return strings.Replace(formatf("%+.1f%%", 100*(ratio-1)), "-", "−", 1)
}
