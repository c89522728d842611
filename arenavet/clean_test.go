package arenavet

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
	"golang.org/x/tools/go/packages"
)

// loaded is what analyzers need of packages.
const loaded = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes |
	packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule

// The examples, and the tests of this repository that use arenas and mappings,
// have no mistakes. Packages arena and page themselves are passed over.
func TestCleanCode(t *testing.T) {
	testenv.Long(t)
	pkgs, err := packages.Load(&packages.Config{Mode: loaded, Tests: true}, "../arena", "../page", "../gctune", "../auto", "../examples/...")
	if err != nil || packages.PrintErrors(pkgs) > 0 {
		t.Fatal(err)
	}
	checked := 0
	for _, p := range pkgs {
		if strings.HasSuffix(p.ID, ".test") {
			continue // a main that is generated
		}
		checked++
		for _, f := range check(t, p) {
			t.Errorf("%s: %s: %s", f.at, f.analyzer, f.message)
		}
	}
	if checked < 15 {
		t.Errorf("%d packages were checked", checked)
	}
}

// goArena has the names of Go's experimental package, which is not built
// without GOEXPERIMENT=arenas.
const goArena = `package arena
type Arena struct{ _ int }
func NewArena() *Arena
func (a *Arena) Free()
func New[T any](a *Arena) *T { return nil }
func MakeSlice[T any](a *Arena, len, cap int) []T { return nil }
func Clone[T any](s T) T { return s }`

// Go's own tests of its arenas have no mistakes, either; a copy with one has.
func TestGoArena(t *testing.T) {
	fset := token.NewFileSet()
	stub, err := parser.ParseFile(fset, "arena.go", goArena, 0)
	if err != nil {
		t.Fatal(err)
	}
	arena, err := (&types.Config{}).Check("arena", fset, []*ast.File{stub}, nil)
	if err != nil {
		t.Fatal(err)
	}
	extra := map[string]*types.Package{"arena": arena}
	for _, p := range load(t, "testing") {
		extra[p.PkgPath] = p.Types
	}
	file := filepath.Join(build.Default.GOROOT, "src", "arena", "arena_test.go")
	s := source{&packages.Package{PkgPath: "arena_test", CompiledGoFiles: []string{file},
		TypesSizes: types.SizesFor("gc", runtime.GOARCH)}, nil}
	text := readFile(t, file)
	if got := check(t, s.with(t, file, text, extra)); len(got) > 0 {
		t.Errorf("%v", got)
	}
	const use, mistake = "	tt.n = 1\n", "	a.Free()\n	tt.n = 1\n"
	if strings.Count(text, use) != 1 {
		t.Fatalf("%s has no %q any more", file, use)
	}
	got := check(t, s.with(t, file, strings.Replace(text, use, mistake, 1), extra))
	found := map[string]bool{}
	for _, f := range got {
		found[f.analyzer] = true
	}
	if !found[Use.Name] || !found[Free.Name] {
		t.Errorf("a Free too early, and twice: %v", got)
	}
}
