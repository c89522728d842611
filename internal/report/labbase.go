package report

import (
	"fmt"
	"math"

	"golang.org/x/perf/benchfmt"

	"github.com/foliomem/folio/internal/figure"
	"github.com/foliomem/folio/internal/lab"
	"github.com/foliomem/folio/internal/stat"
)

// against prints how a figure of an arm differs from the base's, as benchstat does:
// -17.3% (p=0.002), or ~ where that is undecided.
func (l *Lab) against(o *lab.Outcome, base, a *lab.ArmResult, key string) string {
	if base == a || !base.Ran() {
		return ""
	}
	c := stat.Compare(base.Values(o.Params.Size, key), a.Values(o.Params.Size, key))
	if math.IsNaN(c.Ratio) {
		return ""
	}
	text := fmt.Sprintf("%s (p=%.3f)", c.Delta(), c.P)
	if note := marks(l.Notes, texts(c.Warnings)); note != "" {
		text += " " + note
	}
	return text
}

// across returns, for each arm but the base, the table of the figures: base, arm,
// difference, and their geometric means.
func (l *Lab) across(o *lab.Outcome) (out []labTable) {
	base := o.Arm(o.Experiment.Base)
	for _, a := range o.Arms {
		if a == base || !a.Ran() || !base.Ran() {
			continue
		}
		out = append(out, labTable{l.versus(o, base, a), a.Arm.Name + " against " + base.Arm.Name})
	}
	if len(out) == 0 && base.Ran() {
		out = append(out, labTable{l.versus(o, base, base), base.Arm.Name})
	}
	return out
}

// versus returns the table of an arm beside the base; of the base alone, if the arm
// is the base.
func (l *Lab) versus(o *lab.Outcome, base, a *lab.ArmResult) *table {
	t := &table{left: map[int]bool{0: true, 2: true, 4: true, 5: true}}
	head := []string{"benchmark", base.Arm.Name, "", "", "", "", "n"}
	if a != base {
		head[3], head[5] = a.Arm.Name, "vs "+base.Arm.Name
	}
	t.add(head...)
	var olds, news []float64
	for _, f := range o.Experiment.Figures {
		was, is := stat.Summarize(base.Values(o.Params.Size, f.Key)), stat.Summarize(a.Values(o.Params.Size, f.Key))
		if f.Minor || was.N == 0 || is.N == 0 {
			continue
		}
		olds, news = append(olds, was.Median), append(news, is.Median)
		row := []string{f.Label, figure.KindOf(f.Key).Format(was.Median), spreadOrNote(l.Notes, intervalOf(was)), "", "", "", fmt.Sprint(is.N)}
		if a != base {
			row[3], row[4], row[5] = figure.KindOf(f.Key).Format(is.Median), spreadOrNote(l.Notes, intervalOf(is)), l.against(o, base, a, f.Key)
		}
		t.add(row...)
	}
	row := []string{"geomean", figure.KindOf(o.Experiment.Figures[0].Key).Format(stat.GeoMean(olds)), "", "", "", "", ""}
	if a != base {
		mean := stat.GeoMean(news)
		row[3] = figure.KindOf(o.Experiment.Figures[0].Key).Format(mean)
		row[5] = fmt.Sprintf("%+.2f%%", 100*(mean/stat.GeoMean(olds)-1))
	}
	t.add(row...)
	return t
}

// across says that each figure is a benchmark of its own: then they have one unit.
func (e LabExperiment) across() bool {
	return len(e.Figures) > 1 && e.Figures[0].Unit == e.Figures[1].Unit
}

// writeAcross writes a result for each figure.
func (f *LabFile) writeAcross(w *benchfmt.Writer, e LabExperiment, a LabArm, p lab.Point) error {
	for _, fig := range e.Figures {
		v, ok := p.Figures[fig.Key]
		if !ok {
			continue
		}
		r := &benchfmt.Result{Config: f.config(a), Name: benchfmt.Name(fig.Label), Iters: 1, Values: []benchfmt.Value{{Value: v, Unit: fig.Unit}}}
		if err := w.Write(r); err != nil {
			return err
		}
	}
	return nil
}
