package arenavet

import (
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/foliomem/folio/arenavet/internal/flow"
	"github.com/foliomem/folio/internal/test/testenv"
)

// Each package of testdata has what its analyzer must report, marked, among what it
// must not.
func TestAnalyzers(t *testing.T) {
	testenv.Long(t)
	for _, tt := range []struct {
		a    *analysis.Analyzer
		pkgs []string
	}{
		{Use, []string{"use", "facts/use"}},
		{Free, []string{"free"}},
		{Escape, []string{"escape"}},
		{Append, []string{"appends"}},
		{Goroutine, []string{"goroutine"}},
		{Handle, []string{"handle"}},
		{Mapping, []string{"mapping"}},
		{Finalizer, []string{"finalizer"}},
		{GCTune, []string{"tune", "autos"}},
		{flow.Analyzer, []string{"facts/lib"}},
	} {
		t.Run(tt.a.Name, func(t *testing.T) {
			analysistest.Run(t, analysistest.TestData(), tt.a, tt.pkgs...)
		})
	}
}

func TestFixes(t *testing.T) {
	for pkg, a := range map[string]*analysis.Analyzer{"fixfree": Free, "fixescape": Escape, "fixappend": Append} {
		analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), a, pkg)
	}
}

func TestAnalyzersAreValid(t *testing.T) {
	if err := analysis.Validate(Analyzers()); err != nil {
		t.Fatal(err)
	}
	for _, a := range Analyzers() {
		if !strings.HasPrefix(a.Doc, "check for ") || !strings.HasSuffix(a.URL, "#"+a.Name) {
			t.Errorf("%s: %q, %s", a.Name, a.Doc, a.URL)
		}
	}
}

// Programs that come close to mistakes and are none, for all analyzers that follow
// values.
func TestNoFalseAlarms(t *testing.T) {
	all := &analysis.Analyzer{
		Name: "all", Doc: "all findings", Requires: []*analysis.Analyzer{flow.Analyzer},
		Run: func(pass *analysis.Pass) (any, error) {
			for _, f := range pass.ResultOf[flow.Analyzer].(flow.Findings) {
				pass.Report(f.Diagnostic)
			}
			return nil, nil
		},
	}
	analysistest.Run(t, analysistest.TestData(), all, "clean")
}
