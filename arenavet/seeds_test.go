package arenavet

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"
)

// A seed is a mistake for a package of testdata/programs: a text archive with pairs of
// old and new text.
type seed struct {
	file, analyzer, message string
	edits                   [][2]string
}

func readSeed(t *testing.T, path string) (s seed) {
	t.Helper()
	a := txtar.Parse([]byte(readFile(t, path)))
	for line := range strings.Lines(string(a.Comment)) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if k == "file" {
			s.file = v
		} else {
			s.analyzer, s.message = k, v
		}
	}
	for i := 0; i+1 < len(a.Files); i += 2 {
		text := func(n int) string { return strings.TrimSuffix(string(a.Files[n].Data), "\n") }
		s.edits = append(s.edits, [2]string{text(i), text(i + 1)})
	}
	return s
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// source is a package as it was loaded, from whose files variants are made.
type source struct {
	*packages.Package
	files map[string]string
}

func load(t *testing.T, patterns ...string) []source {
	t.Helper()
	pkgs, err := packages.Load(&packages.Config{Mode: loaded}, patterns...)
	if err != nil || packages.PrintErrors(pkgs) > 0 {
		t.Fatal(err, pkgs)
	}
	var out []source
	for _, p := range pkgs {
		s := source{p, map[string]string{}}
		for _, f := range p.CompiledGoFiles {
			s.files[f] = readFile(t, f)
		}
		out = append(out, s)
	}
	return out
}

// with returns the package with another text of a file.
func (s source) with(t *testing.T, file, text string, extra map[string]*types.Package) *packages.Package {
	t.Helper()
	p := *s.Package
	p.Fset = token.NewFileSet()
	p.Syntax = nil
	for _, f := range p.CompiledGoFiles {
		content := s.files[f]
		if f == file {
			content = text
		}
		parsed, err := parser.ParseFile(p.Fset, f, content, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		p.Syntax = append(p.Syntax, parsed)
	}
	p.TypesInfo = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Instances: map[*ast.Ident]types.Instance{}, Scopes: map[ast.Node]*types.Scope{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, FileVersions: map[*ast.File]string{},
	}
	imports := importer(func(path string) *types.Package {
		found := extra[path]
		if q := s.Imports[path]; q != nil {
			found = q.Types
		}
		if found == nil {
			t.Fatalf("a seed imports %s, which the package does not", path)
		}
		return found
	})
	var err error
	p.Types, err = (&types.Config{Importer: imports, Sizes: p.TypesSizes}).Check(p.PkgPath, p.Fset, p.Syntax, p.TypesInfo)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

type importer func(path string) *types.Package

func (f importer) Import(path string) (*types.Package, error) { return f(path), nil }

type finding struct {
	analyzer, message string
	at                token.Position
}

// check runs all analyzers on one package, without facts of others.
func check(t *testing.T, p *packages.Package) (out []finding) {
	t.Helper()
	results := map[*analysis.Analyzer]any{}
	var run func(a *analysis.Analyzer)
	run = func(a *analysis.Analyzer) {
		if _, done := results[a]; done {
			return
		}
		for _, r := range a.Requires {
			run(r)
		}
		pass := &analysis.Pass{
			Analyzer: a, Fset: p.Fset, Files: p.Syntax, Pkg: p.Types, TypesInfo: p.TypesInfo, TypesSizes: p.TypesSizes, ResultOf: results,
			Report:            func(d analysis.Diagnostic) { out = append(out, finding{a.Name, d.Message, p.Fset.Position(d.Pos)}) },
			ReadFile:          os.ReadFile,
			ImportObjectFact:  func(types.Object, analysis.Fact) bool { return false },
			ImportPackageFact: func(*types.Package, analysis.Fact) bool { return false },
			ExportObjectFact:  func(types.Object, analysis.Fact) {},
			ExportPackageFact: func(analysis.Fact) {},
		}
		var err error
		if results[a], err = a.Run(pass); err != nil {
			t.Fatalf("%s: %v", a.Name, err)
		}
	}
	for _, a := range Analyzers() {
		run(a)
	}
	return out
}

// The packages of testdata/programs are free of mistakes; each mistake that is put into
// them is found, where it is.
func TestSeeds(t *testing.T) {
	const most = 15
	total := 0
	extra := map[string]*types.Package{}
	for _, p := range load(t, "sync") {
		extra[p.PkgPath] = p.Types
	}
	for _, s := range load(t, "./testdata/programs/...") {
		t.Run(s.Name, func(t *testing.T) {
			if got := check(t, s.Package); len(got) > 0 {
				t.Fatalf("as it is: %v", got)
			}
			dir := filepath.Dir(s.CompiledGoFiles[0])
			seeds, _ := filepath.Glob(filepath.Join(dir, "*.seed"))
			for _, path := range seeds {
				total++
				t.Run(filepath.Base(path), func(t *testing.T) {
					seed := readSeed(t, path)
					file := filepath.Join(dir, seed.file)
					text := s.files[file]
					for _, e := range seed.edits {
						if strings.Count(text, e[0]) != 1 {
							t.Fatalf("the text occurs %d times:\n%s", strings.Count(text, e[0]), e[0])
						}
						text = strings.Replace(text, e[0], e[1], 1)
					}
					before, _, ok := strings.Cut(text, "// the mistake")
					if !ok {
						t.Fatal("no line has the comment \"the mistake\"")
					}
					line := strings.Count(before, "\n") + 1
					got := check(t, s.with(t, file, text, extra))
					found := false
					for _, f := range got {
						found = found || f.analyzer == seed.analyzer && f.at.Line == line && strings.Contains(f.message, seed.message)
					}
					if !found || len(got) > 2 {
						t.Errorf("want %s in line %d: %s; got %v", seed.analyzer, line, seed.message, got)
					}
				})
			}
		})
	}
	if total < most {
		t.Errorf("%d seeds, want %d or more", total, most)
	}
}
