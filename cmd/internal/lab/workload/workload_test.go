package workload

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	_ "github.com/foliomem/folio/internal/test/testenv" // temporary files are gone with the tests
)

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// What is written out is a module with all the files of its directory here.
func TestWrite(t *testing.T) {
	index, malloc, auto := filepath.Join(t.TempDir(), "index"), filepath.Join(t.TempDir(), "malloc"), t.TempDir()
	assist := filepath.Join(t.TempDir(), "assist")
	a, err := Index(index, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Malloc(malloc)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Index(auto, &Folio{Dir: "/a b", Go: "1.26.0"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := Assist(assist)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Source{a, b, c, e} {
		if moduleOf(read(t, filepath.Join(s.Dir, "go.mod"))) == "" {
			t.Errorf("%s is not a module", s.Dir)
		}
	}
	for name, dir := range map[string]string{"_index": index, "_malloc": malloc, "_assist": assist} {
		files, err := os.ReadDir(name)
		if err != nil || len(files) < 3 {
			t.Fatalf("%s: %v, %v", name, files, err)
		}
		for _, f := range files {
			if read(t, filepath.Join(name, f.Name())) != read(t, filepath.Join(dir, strings.TrimSuffix(f.Name(), ".txt"))) {
				t.Errorf("%s was not written as it is", f.Name())
			}
		}
	}
	if len(a.Flags) > 0 || !slices.Equal(c.Flags, []string{"-tags=folioauto"}) {
		t.Errorf("flags %q, %q", a.Flags, c.Flags)
	}
	mod := read(t, filepath.Join(auto, "go.mod"))
	for _, want := range []string{"\ngo 1.26.0\n", "\nrequire github.com/foliomem/folio v0.0.0\n",
		"\nreplace github.com/foliomem/folio => `/a b`\n"} {
		if strings.Count(mod, want) != 1 {
			t.Errorf("want %q in\n%s", want, mod)
		}
	}
	d, err := Index(t.TempDir(), &Folio{Version: "v1.2.3"})
	if err != nil || !slices.Contains(d.Flags, "-mod=mod") {
		t.Fatalf("%+v, %v", d, err)
	}
	if mod := read(t, filepath.Join(d.Dir, "go.mod")); !strings.HasSuffix(mod, "\nrequire github.com/foliomem/folio v1.2.3\n") {
		t.Error(mod)
	}
	if _, err := Malloc(filepath.Join(index, "main.go")); err == nil || !strings.HasPrefix(err.Error(), "write the program malloc: ") {
		t.Errorf("into a file: %v", err)
	}
}

// Folio needs no later version of what both require: the sums are for these.
func TestRequires(t *testing.T) {
	sys := regexp.MustCompile(`golang.org/x/sys (v\S+)`)
	own, program := sys.FindStringSubmatch(read(t, "../../../../go.mod")), sys.FindStringSubmatch(read(t, "_index/go.mod.txt"))
	if own == nil || program == nil || own[1] != program[1] {
		t.Errorf("folio requires %q, the program %q: make them the same, with the sums", own, program)
	}
	if sums := read(t, "_index/go.sum.txt"); !strings.Contains(sums, "github.com/blevesearch/bleve/v2 v2.5.7 h1:") {
		t.Error("no sum for bleve v2.5.7")
	}
}

func TestFindFolio(t *testing.T) {
	here, err := FindFolio()
	if err != nil {
		t.Fatal(err) // tests are built from source that is there
	}
	if moduleOf(read(t, filepath.Join(here.Dir, "go.mod"))) != module || here.Go == "" {
		t.Errorf("%+v", here)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "go.mod"), []byte("module example.com/other\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ file, version, want string }{
		{filepath.Join(here.Dir, "a", "b", "c.go"), "v1.0.0", here.Dir + " "},
		{filepath.Join(other, "c.go"), "v1.0.0", " v1.0.0"},
		{"github.com/foliomem/folio@v1.0.0/c.go", "v1.0.0", " v1.0.0"},
		{"github.com/foliomem/folio/c.go", "", "the source of folio is not where it was built from"},
	} {
		f, err := findFolio(tt.file, tt.version)
		got := ""
		if err != nil {
			got, _, _ = strings.Cut(err.Error(), ",")
		} else {
			got = f.Dir + " " + f.Version
		}
		if got != tt.want {
			t.Errorf("%s, %q: %q, want %q", tt.file, tt.version, got, tt.want)
		}
	}
	for _, tt := range []struct {
		info debug.BuildInfo
		want string
	}{
		{debug.BuildInfo{Main: debug.Module{Path: module, Version: "v1.2.3"}}, "v1.2.3"},
		{debug.BuildInfo{Main: debug.Module{Path: module, Version: "(devel)"}}, ""},
		{debug.BuildInfo{Main: debug.Module{Path: module, Version: "v0.0.0-20260101000000-0123456789ab+dirty"}}, ""},
		{debug.BuildInfo{Main: debug.Module{Path: "x", Version: "v9"}, Deps: []*debug.Module{{Path: module, Version: "v1.2.3"}}}, "v1.2.3"},
		{debug.BuildInfo{Main: debug.Module{Path: "x"},
			Deps: []*debug.Module{{Path: module, Version: "v1.2.3", Replace: &debug.Module{Path: ".."}}}}, ""},
	} {
		if got := versionOf(&tt.info); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.info, got, tt.want)
		}
	}
}

func TestDocuments(t *testing.T) {
	root := t.TempDir()
	for name, size := range map[string]int{
		"src/b/b.go": 100, "src/a/a.go": 200, "src/a/testdata/x.go": 10, "src/a/empty.go": 0,
		"src/a/table.go": largest + 1, "src/a/a.s": 5, "src/c.go": largest, "misc/x.go": 7,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), make([]byte, size), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		count int
		size  uint64
		want  string
	}{
		{10, 1 << 20, "a/a.go b/b.go c.go"}, {2, 1 << 20, "a/a.go b/b.go"}, {10, 300, "a/a.go b/b.go"},
		{10, 299, "a/a.go"}, {10, 150, ""}, {0, 1 << 20, ""},
	} {
		paths, err := Documents(root, tt.count, tt.size)
		var got []string
		for _, p := range paths {
			name, _ := filepath.Rel(filepath.Join(root, "src"), p)
			got = append(got, name)
		}
		if strings.Join(got, " ") != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%d of %d bytes: %q, %v; want %s", tt.count, tt.size, got, err, tt.want)
		}
	}
	if _, err := Documents(filepath.Join(root, "none"), 1, 1); err == nil || !strings.Contains(err.Error(), "find documents in ") {
		t.Errorf("no GOROOT: %v", err)
	}
	file := filepath.Join(root, "list")
	if err := WriteDocuments(file, []string{"/a", "/b c"}); err != nil || read(t, file) != "/a\n/b c\n" {
		t.Errorf("%v, %q", err, read(t, file))
	}
}

// The files of a go.mod come from outside: from wherever folio was built.
func FuzzModule(f *testing.F) {
	f.Add("module github.com/foliomem/folio\n\ngo 1.26.0\n")
	f.Add("// a comment\nmodule \"x\"\n")
	f.Fuzz(func(t *testing.T, mod string) {
		for _, got := range []string{moduleOf(mod), goOf(mod)} {
			if !strings.Contains(mod, got) || strings.ContainsAny(got, " \t\n\"") {
				t.Errorf("%q in %q", got, mod)
			}
		}
	})
}

// Everything in the directories is in the program.
func TestEmbedded(t *testing.T) {
	for _, name := range []string{"_assist", "_index", "_malloc"} {
		here, err := os.ReadDir(name)
		if err != nil {
			t.Fatal(err)
		}
		there, err := fs.ReadDir(source, name)
		if err != nil || len(here) != len(there) {
			t.Errorf("%s: %d files, %d of them embedded: %v", name, len(here), len(there), err)
		}
	}
}
