package gobench

import (
	"golang.org/x/perf/benchfmt"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// Lab returns the samples of a lab, a result for each size, so that "benchstat -col arm
// FILE" compares the arms. Where each figure is a benchmark of its own, each has a result.
func Lab(f *result.Lab) (out []*benchfmt.Result) {
	for _, e := range f.Experiments {
		for _, a := range e.Arms {
			config := hostConfig(f.Host)
			config.limits(f.Limits)
			config.add("arm", a.Name)
			for _, s := range a.Samples {
				if !s.OK() {
					continue
				}
				for _, p := range result.SizePoints(s) {
					out = append(out, ofPoint(e, config, p)...)
				}
			}
		}
	}
	return out
}

func ofPoint(e result.LabExperiment, config configKeys, p result.LabSizePoint) (out []*benchfmt.Result) {
	whole := &benchfmt.Result{Config: config, Name: append(nameOf([]string{e.Name}), "/size="+unit.Exact(p.Size)...), Iters: 1}
	for _, fig := range e.Figures {
		v, ok := p.Figures[fig.Key]
		if !ok {
			continue
		}
		value := benchfmt.Value{Value: v, Unit: fig.Unit}
		if e.Across {
			out = append(out, &benchfmt.Result{Config: config, Name: benchfmt.Name(fig.Label), Iters: 1, Values: []benchfmt.Value{value}})
			continue
		}
		whole.Values = append(whole.Values, value)
	}
	if !e.Across {
		out = append(out, whole)
	}
	return out
}
