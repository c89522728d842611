package arch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

const module = "github.com/foliomem/folio"

// layers lists the packages from the bottom up. A package may import only
// packages of lower layers: imports point downward.
var layers = [][]string{
	{"internal/base/ballast", "internal/base/spelling", "internal/base/unit", "internal/program/variant"},
	{"internal/base/advice", "internal/base/figure"},
	{"arenavet/internal/flow", "internal/base/config", "internal/base/console", "internal/program/gctrace",
		"internal/program/goversion", "internal/base/input", "internal/program/launch/killtest",
		"internal/base/scratch", "internal/base/stat", "internal/trial/load", "internal/system/cputime", "internal/system/sys", "internal/base/usage",
		"internal/test/commandtest", "internal/test/testenv", "internal/lab/settings", "internal/lab/workload"},
	{"internal/program/executable", "internal/program/overlay", "internal/program/toolchain", "internal/system/perf",
		"internal/system/procmem", "internal/system/spawn"},
	{"internal/program/build", "internal/system/shortage"},
	{"internal/program/symbol"},
	{"internal/program/layout"},
	{"arenavet", "gctune", "internal/program/codepatch/fixture", "internal/system/feature",
		"internal/program/goruntime", "internal/system/cgroup", "internal/process/host", "internal/trial/delay", "internal/trial/metric", "internal/trial/profile"},
	{"internal/program/callsite"},
	{"internal/program/codepatch", "page"},
	{"internal/library/heapmap"},
	{"arena", "goheap", "internal/program/launch", "internal/process/gccount", "internal/process/waterfall"},
	{"internal/process/remedy"},
	{"arena", "goheap", "internal/program/launch", "internal/process/waterfall"},
	{"internal/process/remedy", "internal/process/witness"},
	{"internal/process/inspect"},
	{"internal/process/collapser", "internal/process/history", "internal/process/oom"},
	{"internal/process/leak", "internal/trial"},
	{"internal/trial/ab", "internal/result/diagnose", "internal/result/suggest", "internal/lab/arenabench", "internal/trial/tune"},
	{"internal/lab"},
	{"auto", "internal/result"},
	{"internal/result/analysis", "internal/result/kubernetes", "internal/view/gobench"},
	{"internal/view/report"},
	{"internal/view/compare", "internal/view/screen"},
	{"internal/view/html"},
	{"cmd/folio"},
}

// rooms is the order of rooms, from the bottom up: no room imports one above it. What
// programs import needs base, system and library; the rest is the command's.
var rooms = [][]string{
	{"internal/base/"},
	{"internal/system/"},
	{"page", "internal/library/", "arena", "goheap", "gctune", "auto", "arenavet"},
	{"internal/program/"},
	{"internal/process/"},
	{"internal/trial", "internal/lab"},
	{"internal/result"},
	{"internal/view/"},
	{"cmd/"},
}

func room(path string) int {
	return slices.IndexFunc(rooms, func(r []string) bool {
		return slices.ContainsFunc(r, func(name string) bool {
			return path == name || strings.HasPrefix(path, strings.TrimSuffix(name, "/")+"/")
		})
	})
}

// TestRoomsPointDownward: two rooms that import each other are one room.
func TestRoomsPointDownward(t *testing.T) {
	testenv.Alone(t)
	arrows := 0
	for _, p := range list(t, "./...") {
		path := short(p.ImportPath)
		own := room(path)
		if own < 0 {
			if layer(path) >= 0 && !strings.HasPrefix(path, "internal/test/") {
				t.Errorf("%s is in no room: add it to rooms, and to docs/architecture.md", path)
			}
			continue
		}
		for _, imp := range p.Imports {
			if !strings.HasPrefix(imp, module+"/") {
				continue
			}
			to := room(short(imp))
			if to > own || to < 0 {
				t.Errorf("%s imports %s, which is in a room above it", path, short(imp))
			}
			if to < own {
				arrows++
			}
		}
	}
	if arrows < 100 {
		t.Errorf("%d imports between rooms: the check sees too little", arrows)
	}
}

// outside are packages of no layer: nothing imports them, or only their own
// neighbours do.
var outside = []string{"internal/test/arch", "examples/", "bench/"}

type goPackage struct {
	ImportPath string
	Name       string
	Doc        string
	Dir        string
	Standard   bool
	GoFiles    []string
	Imports    []string
	Deps       []string
	Module     *struct{ Path string }
}

func list(t *testing.T, args ...string) []goPackage {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json"}, args...)...)
	cmd.Dir = "../../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var pkgs []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func short(path string) string { return strings.TrimPrefix(path, module+"/") }

func layer(path string) int {
	return slices.IndexFunc(layers, func(l []string) bool { return slices.Contains(l, path) })
}

func TestImportsPointDownward(t *testing.T) {
	testenv.Alone(t)
	seen := 0
	for _, p := range list(t, "./...") {
		path := short(p.ImportPath)
		if slices.ContainsFunc(outside, func(o string) bool { return strings.HasPrefix(path, o) }) {
			continue
		}
		own := layer(path)
		if own < 0 {
			t.Errorf("%s is in no layer: add it to layers, and to docs/architecture.md", path)
			continue
		}
		seen++
		for _, imp := range p.Imports {
			if !strings.HasPrefix(imp, module+"/") {
				continue
			}
			if l := layer(short(imp)); l < 0 || l >= own {
				t.Errorf("%s imports %s, which is not below it", path, short(imp))
			}
		}
	}
	if want := len(slices.Concat(layers...)); seen != want {
		t.Errorf("%d of the %d packages in layers exist", seen, want)
	}
}

// What fleet ships contains no tests' and benchmarks' machinery.
func TestFleetImportsNoBench(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../../../fleet", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if rel := strings.TrimPrefix(filepath.ToSlash(path), "../../../fleet/"); d.IsDir() && (rel == "bench" || rel == "internal/test") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		files++
		for _, i := range f.Imports {
			if p := i.Path.Value; strings.Contains(p, "/fleet/bench/") || strings.Contains(p, "/internal/test/") || p == `"testing"` {
				t.Errorf("%s imports %s, which is for tests and benchmarks", path, p)
			}
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files, %v", files, err)
	}
}

// light are the modules that packages which users import may pull in.
// Whoever imports folio/arena into a service takes all of its dependencies into
// the service's module graph, audits and binary; a measuring tool's command
// framework and statistics have no business there.
var light = []string{module, "golang.org/x/sys"}

// tools are public packages that no service imports: analysers are for programs
// that check others, and those bring x/tools anyway.
var tools = []string{"arenavet"}

// heavy returns the packages that p depends on from other modules than light.
func heavy(t *testing.T, path string) (out []string) {
	t.Helper()
	for _, dep := range list(t, "-deps", path) {
		if !dep.Standard && dep.Module != nil && !slices.Contains(light, dep.Module.Path) {
			out = append(out, dep.ImportPath)
		}
	}
	return out
}

func TestLibrariesStayLight(t *testing.T) {
	testenv.Alone(t)
	for _, p := range list(t, "./...") {
		path := short(p.ImportPath)
		public := p.Name != "main" && !slices.Contains(tools, path) && !strings.Contains("/"+path+"/", "/internal/") &&
			!slices.ContainsFunc(outside, func(o string) bool { return strings.HasPrefix(path, o) })
		if !public {
			continue
		}
		if h := heavy(t, p.ImportPath); len(h) > 0 {
			t.Errorf("%s pulls in %v: packages that users import may use the standard library and %v only", path, h, light[1:])
		}
	}
	// The check itself must be able to fail: the statistics do use x/perf.
	if len(heavy(t, module+"/internal/base/stat")) == 0 {
		t.Error("the check sees no dependency where there is one")
	}
}

func TestEveryPackageHasADoc(t *testing.T) {
	testenv.Alone(t)
	for _, p := range list(t, "./...") {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", short(p.ImportPath))
		}
	}
}

func TestFilesStaySmall(t *testing.T) {
	const most = 500
	files := 0
	err := filepath.WalkDir("../../..", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, ".pb.go") { // those protoc makes
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		lines := 0
		for sc := bufio.NewScanner(bytes.NewReader(data)); sc.Scan(); {
			lines++
		}
		if lines > most {
			t.Errorf("%s has %d lines, more than %d: split it by what it does", path, lines, most)
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files, %v", files, err)
	}
}

// TestTemporaryFilesOfTests: tests that make temporary files import testenv, which removes
// them even if the tests are killed.
func TestTemporaryFilesOfTests(t *testing.T) {
	makes, imports := map[string]bool{}, map[string]bool{}
	for _, file := range tracked(t, "*_test.go") {
		if strings.Contains(file, "testdata/") || file == "internal/test/arch/arch_test.go" {
			continue
		}
		text, err := os.ReadFile(filepath.Join("../../..", file))
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(file)
		for _, call := range []string{".TempDir()", "os.MkdirTemp(", "os.CreateTemp("} {
			makes[dir] = makes[dir] || bytes.Contains(text, []byte(call))
		}
		imports[dir] = imports[dir] || dir == "internal/test/testenv" || bytes.Contains(text, []byte(`"github.com/foliomem/folio/internal/test/testenv"`))
	}
	for dir, ok := range makes {
		if ok && !imports[dir] {
			t.Errorf("%s makes temporary files: import internal/test/testenv, which removes them", dir)
		}
	}
}
