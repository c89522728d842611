package arenavet

import (
	"golang.org/x/tools/go/analysis"

	"github.com/foliomem/folio/arenavet/internal/flow"
)

// Analyzers returns all analyzers of the package.
func Analyzers() []*analysis.Analyzer {
	return []*analysis.Analyzer{Use, Free, Escape, Append, Goroutine, Handle, Mapping, Finalizer, GCTune}
}

const manual = "https://github.com/foliomem/folio/blob/main/docs/arenavet.md#"

// of makes the analyzer that reports the findings of a category.
func of(c flow.Category, name, doc string) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:     name,
		Doc:      doc,
		URL:      manual + name,
		Requires: []*analysis.Analyzer{flow.Analyzer},
		Run: func(pass *analysis.Pass) (any, error) {
			for _, f := range pass.ResultOf[flow.Analyzer].(flow.Findings) {
				if f.Category == c {
					d := f.Diagnostic
					d.Category = ""
					pass.Report(d)
				}
			}
			return nil, nil
		},
	}
}
