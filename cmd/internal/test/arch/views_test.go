package arch

import (
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

// views show results, in the terminal, on a page, in the Go benchmark format, beside each
// other. They work nothing out: what they would, could differ from what another view, or
// the file, says. So they import the result, figures and ways to print, and nothing that
// measures, ranks or advises.
var views = map[string][]string{
	"cmd/internal/view/report":   nil,
	"cmd/internal/view/gobench":  nil,
	"cmd/internal/view/compare":  {"cmd/internal/view/gobench", "internal/base/input"},
	"cmd/internal/view/screen":   {"cmd/internal/view/report"},
	"cmd/internal/view/document": {"cmd/internal/view/compare", "cmd/internal/view/report"},
	"cmd/internal/view/html":     {"cmd/internal/view/document"},
	"cmd/internal/view/markdown": {"cmd/internal/view/document"},
	"cmd/internal/view/output":   {"cmd/internal/view/document", "cmd/internal/view/gobench", "cmd/internal/view/html", "cmd/internal/view/markdown"},
}

var viewsImport = []string{"internal/base/console", "cmd/internal/base/figure", "cmd/internal/result", "cmd/internal/base/stat", "internal/base/unit"}

// beside returns which of a view's imports are not allowed.
func beside(view string, imports []string) (out []string) {
	for _, i := range imports {
		name, own := strings.CutPrefix(i, module+"/")
		if own && !slices.Contains(viewsImport, name) && !slices.Contains(views[view], name) {
			out = append(out, name)
		}
	}
	return out
}

func TestViewsWorkNothingOut(t *testing.T) {
	testenv.Alone(t)
	seen := 0
	for _, p := range list(t, packages...) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if _, ok := views[name]; !ok {
			continue
		}
		seen++
		for _, b := range beside(name, p.Imports) {
			t.Errorf("%s imports %s: views show results, and work nothing out: do it in cmd/internal/result/analysis, and keep it in the result", name, b)
		}
	}
	if seen != len(views) {
		t.Errorf("%d of %d views exist", seen, len(views))
	}
}

// The check must be able to fail.
func TestWorkInViewsIsFound(t *testing.T) {
	imports := []string{"fmt", module + "/cmd/internal/result", module + "/cmd/internal/trial", module + "/cmd/internal/view/gobench"}
	if got := beside("cmd/internal/view/report", imports); !slices.Equal(got, []string{"cmd/internal/trial", "cmd/internal/view/gobench"}) {
		t.Errorf("found %q", got)
	}
}
