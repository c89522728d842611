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
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

const module = "github.com/foliomem/folio"

// packages are those of the modules but fleet.
var packages = []string{"./...", "./arenavet/...", "./cmd/..."}

// rooms is the order of rooms, from the bottom up: no room imports one above it. The first
// three are the module of what programs import; the rest is the tool's.
var rooms = [][]string{
	{"internal/base/"},
	{"internal/system/"},
	{"page", "internal/library/", "arena", "goheap", "gctune", "auto"},
	{"arenavet"},
	{"cmd/internal/base/"},
	{"cmd/internal/program/"},
	{"cmd/internal/process/"},
	{"cmd/internal/trial", "cmd/internal/lab"},
	{"cmd/internal/result"},
	{"cmd/internal/view/"},
	{"cmd/folio", "cmd/bench/"},
}

// roomless are tests, and what documentation shows.
var roomless = []string{"internal/test/", "cmd/internal/test/", "examples/"}

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
	for _, p := range list(t, packages...) {
		path := short(p.ImportPath)
		own := room(path)
		if own < 0 {
			if !slices.ContainsFunc(roomless, func(r string) bool { return strings.HasPrefix(path, r) }) {
				t.Errorf("%s is in no room: add it to rooms, and to docs/architecture.md", path)
			}
			continue
		}
		for _, imp := range p.Imports {
			if !strings.HasPrefix(imp, module+"/") {
				continue
			}
			to := room(short(imp))
			if to < 0 && strings.HasPrefix(path, "cmd/bench/") { // what tests share is for benchmarks, too
				continue
			}
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
	cmd.Dir = "../../../.."
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

// Whoever imports folio/arena into a service takes what its module requires into the service's
// module graph, audits and versions.
func TestLibrariesStayLight(t *testing.T) {
	mod, err := os.ReadFile("../../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	required := regexp.MustCompile(`(?m)^\s*(?:require\s+)?(\S+)\s+v\d\S*`).FindAllSubmatch(mod, -1)
	if len(required) != 1 || string(required[0][1]) != "golang.org/x/sys" {
		t.Errorf("go.mod requires %q: the module of what users import requires golang.org/x/sys only", required)
	}
}

func TestEveryPackageHasADoc(t *testing.T) {
	testenv.Alone(t)
	for _, p := range list(t, packages...) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", short(p.ImportPath))
		}
	}
}

func TestFilesStaySmall(t *testing.T) {
	const most = 500
	files := 0
	err := filepath.WalkDir("../../../..", func(path string, d os.DirEntry, err error) error {
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
		if strings.Contains(file, "testdata/") || file == "cmd/internal/test/arch/arch_test.go" {
			continue
		}
		text, err := os.ReadFile(filepath.Join("../../../..", file))
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
