package document

import (
	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/result"
)

// SetNotes completes the notes, so that the result has all that is shown of it: first are
// what the command noted, then what explains figures, then what was noted before.
func SetNotes(f *result.File, first []string) {
	notes := noted(first)
	switch {
	case len(f.Arms) == 0 || len(f.Arms[0].Samples) == 0:
	case f.Kind == result.KindTune:
	case len(result.Usable(f.Arms[0].Samples)) > 1:
		for _, fig := range figure.All {
			if i, ok := f.Arms[0].Summary.Figures[fig.Key]; ok && !fig.Pooled {
				warn(notes, i.Summary().SpreadText() == "", i.Warnings)
			}
		}
	}
	for _, n := range f.Notes {
		notes.Add(n)
	}
	f.Notes = notes.Texts()
}

// byRuntime is the figure that stands in where nothing was sampled.
const byRuntime = "gc_runtime_cpu_seconds"

// SetLabNotes does it for a lab.
func SetLabNotes(f *result.Lab, first []string) {
	notes := noted(first)
	for i := range f.Experiments {
		e := &f.Experiments[i]
		for _, a := range labOf(e).ran {
			if len(e.Figures) > 0 {
				x := last(a).Figures[e.Figures[0].Key]
				warn(notes, x.N > 0 && x.Summary().SpreadText() == "", x.Warnings)
			}
			for _, fig := range e.Figures {
				warn(notes, true, a.Against[fig.Key].Warnings)
			}
		}
		for _, n := range e.Notes {
			notes.Add(e.Name + ": " + n)
		}
	}
	f.Notes = notes.Texts()
}

func noted(texts []string) *stat.Notes {
	out := &stat.Notes{}
	for _, n := range texts {
		out.Add(n)
	}
	return out
}

func warn(notes *stat.Notes, unknown bool, warnings []string) {
	for _, w := range warnings {
		if unknown {
			notes.Add(w)
		}
	}
}
