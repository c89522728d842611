package report

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/perf/benchfmt"

	"github.com/foliomem/folio/internal/console"
	"github.com/foliomem/folio/internal/lab"
	"github.com/foliomem/folio/internal/result"
	"github.com/foliomem/folio/internal/unit"
)

// BenchLab returns the samples in the Go benchmark format, a result for each size,
// so that "benchstat -col arm FILE" compares the arms.
func BenchLab(f *result.Lab) ([]byte, error) {
	var b bytes.Buffer
	w := benchfmt.NewWriter(&b)
	for _, e := range f.Experiments {
		units := make(map[string]string)
		for _, fig := range e.Figures {
			units[fig.Key] = fig.Unit
		}
		for _, a := range e.Arms {
			for _, s := range a.Samples {
				if !s.OK() {
					continue
				}
				for _, p := range lab.Points(s) {
					if across(e) {
						if err := writeAcross(f, w, e, a, p); err != nil {
							return nil, fmt.Errorf("write the Go benchmark format: %w", err)
						}
						continue
					}
					r := &benchfmt.Result{Config: labConfig(f, a), Name: benchfmt.Name(fmt.Sprintf("%s/size=%s", benchName([]string{e.Name}), unit.Exact(p.Size))), Iters: 1}
					for _, key := range slices.Sorted(maps.Keys(p.Figures)) {
						r.Values = append(r.Values, benchfmt.Value{Value: p.Figures[key], Unit: units[key]})
					}
					if err := w.Write(r); err != nil {
						return nil, fmt.Errorf("write the Go benchmark format: %w", err)
					}
				}
			}
		}
	}
	return []byte(console.Escape(b.String())), nil
}

func labConfig(f *result.Lab, a result.LabArm) []benchfmt.Config {
	out := hostConfig(f.Host)
	out.add("arm", a.Name)
	return out
}

// across says that each figure is a benchmark of its own: then they have one unit.
func across(e result.LabExperiment) bool {
	return len(e.Figures) > 1 && e.Figures[0].Unit == e.Figures[1].Unit
}

// writeAcross writes a result for each figure.
func writeAcross(f *result.Lab, w *benchfmt.Writer, e result.LabExperiment, a result.LabArm, p lab.Point) error {
	for _, fig := range e.Figures {
		v, ok := p.Figures[fig.Key]
		if !ok {
			continue
		}
		r := &benchfmt.Result{Config: labConfig(f, a), Name: benchfmt.Name(fig.Label), Iters: 1, Values: []benchfmt.Value{{Value: v, Unit: fig.Unit}}}
		if err := w.Write(r); err != nil {
			return err
		}
	}
	return nil
}
