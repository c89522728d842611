package html

import (
	"math"
	"strings"

	"github.com/foliomem/folio/internal/metric"
	"github.com/foliomem/folio/internal/report"
	"github.com/foliomem/folio/internal/stat"
	"github.com/foliomem/folio/internal/trial"
)

// A target is what a file optimises, or judges by.
type target struct {
	spec *metric.Spec
	keys []string // of the benchmarks behind ns/op
}

// targetOf returns the metric of a file: wall time where none was named.
func targetOf(f *report.File) target {
	t := target{spec: &metric.Spec{Name: metric.Wall}}
	if m := f.Metric; m != nil {
		t.spec = &metric.Spec{Name: m.Name, Higher: m.Higher}
		if m.Name != metric.Wall && m.Name != metric.CPU && m.Name != metric.Bench {
			// Only its presence counts here: it says that the unit is the user's own.
			t.spec.Pattern = anything
		}
		t.keys = m.Benchmarks
	}
	return t
}

// label names the metric as tables do.
func (t target) label() string {
	switch {
	case t.spec.Name != metric.Bench:
		return t.spec.Name
	case len(t.keys) > 1:
		return "time/op (" + itoa(len(t.keys)) + " benchmarks)"
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

// value returns the metric of a sample.
func (t target) value(s *trial.Sample) (float64, bool) {
	if !s.OK() {
		return 0, false
	}
	switch {
	case t.spec.Name == metric.Wall:
		return s.Wall, true
	case t.spec.Name == metric.CPU:
		return s.CPU, true
	case t.spec.Name != metric.Bench:
		v, ok := s.Metrics[t.spec.Name]
		return v, ok
	}
	var all []float64
	for _, k := range t.keys {
		v, ok := s.Metrics[k]
		if !ok {
			return 0, false
		}
		all = append(all, v)
	}
	v := stat.GeoMean(all)
	return v, !math.IsNaN(v)
}

func (t target) values(samples []*trial.Sample) (out []float64) {
	for _, s := range samples {
		if v, ok := t.value(s); ok {
			out = append(out, v)
		}
	}
	return out
}

// rounds returns the metric by round.
func (t target) rounds(samples []*trial.Sample) map[int]float64 {
	out := make(map[int]float64)
	for _, s := range samples {
		if v, ok := t.value(s); ok {
			out[s.Round] = v
		}
	}
	return out
}

// paired compares two arms within the rounds that both ran in.
func (t target) paired(base, arm []*trial.Sample) stat.Summary {
	b, a := t.rounds(base), t.rounds(arm)
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
