package document

import (
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/report"
)

// A target is what a file optimizes, or judges by.
type target struct {
	*result.Target                // nil: wall time
	spec           *result.Metric // the same, as texts of it are made
}

// targetOf returns the metric of a file: wall time where none was named.
func targetOf(f *result.File) target { return target{f.Metric, f.Metric.Spec()} }

// label names the metric as tables do.
func (t target) label() string { return t.Label() }

func (t target) text(v float64) string { return report.Metric(t.spec, v) }

// scale converts what is stored to what an axis shows.
func (t target) scale(v float64) float64 {
	if t.spec.Name == result.MetricBench {
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

// spread prints how well a median is known, behind it.
func spread(s stat.Summary) string {
	if text := s.SpreadText(); text != "" {
		return " " + text
	}
	return ""
}

// shapes of arms, by what they set: color alone would not survive a copier.
const (
	shapeGOGC = iota
	shapeDefault
	shapeLimit
	shapeBoth
	shapeTHP
)

// kindOf says which family of settings an arm is of.
func kindOf(s result.Setting) (shape int, name string) {
	switch {
	case s.THP != "" && s.THP != "system":
		return shapeTHP, "THP " + s.THP
	case s.MemLimit != nil && s.GOGC != nil && *s.GOGC == result.Off:
		return shapeLimit, "GOGC=off with GOMEMLIMIT"
	case s.MemLimit != nil:
		return shapeBoth, "GOMEMLIMIT with GOGC"
	case s.SetsGo():
		return shapeGOGC, "GOGC"
	case s.Build != nil:
		return shapeDefault, "another build"
	}
	return shapeDefault, "default"
}
