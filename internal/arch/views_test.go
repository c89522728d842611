package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// views are the packages that show results.
var views = []string{"internal/report", "internal/html", "internal/compare"}

// works are packages that measure, rank, search and suggest. Views use their types; what
// views call of them is here, each with its reason.
var works = []string{"trial", "tune", "lab", "diagnose", "inspect", "collapser", "where", "suggest", "advice", "analysis", "goheap", "gctune", "perf", "procmem", "goruntime"}

var viewsCall = map[string]string{
	"trial.ParseTHP":    "a type, from text",
	"trial.Quote":       "text of a command",
	"trial.CommandName": "text of a command",
	"diagnose.Rules":    "folio doctor list",
	"inspect.KindTitle": "a name",
	"inspect.Pages":     "a sentence of two figures",
	"lab.Experiments":   "folio lab list",
}

// called returns the functions of works that a file calls, as "package.Function".
func called(file *ast.File) (out []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if ok && x.Obj == nil && slices.Contains(works, x.Name) && ast.IsExported(sel.Sel.Name) {
			out = append(out, x.Name+"."+sel.Sel.Name)
		}
		return true
	})
	return out
}

// A view shows what a result says. What it would work out itself could differ from what
// the terminal, the page or the file says.
func TestViewsWorkNothingOut(t *testing.T) {
	files, used := 0, make(map[string]bool)
	for _, dir := range views {
		err := filepath.WalkDir("../../"+dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			files++
			for _, f := range called(file) {
				used[f] = true
				if viewsCall[f] == "" {
					t.Errorf("%s calls %s: views show results, and work nothing out: do it in internal/analysis, and keep it in the result", strings.TrimPrefix(path, "../../"), f)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for f := range viewsCall {
		if !used[f] {
			t.Errorf("%s: is an exception, and is not called", f)
		}
	}
	if files < 20 {
		t.Errorf("only %d files", files)
	}
}

// The check must be able to fail.
func TestWorkInViewsIsFound(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package p\nfunc f() { s := diagnose.NewSheet(1); s.Suggest(); _ = diagnose.Clean; _ = tune.Status(x) }\n", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := called(file); !slices.Equal(got, []string{"diagnose.NewSheet", "tune.Status"}) {
		t.Errorf("found %q", got)
	}
}
