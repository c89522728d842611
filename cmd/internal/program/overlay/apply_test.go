package overlay

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree makes a toolchain of a few files.
func tree(t *testing.T, version string, files map[string]string) *Toolchain {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &Toolchain{Root: root, Version: version, OS: "linux", Arch: "amd64"}
}

func patchOf(t *testing.T, name, edits string) *Patch {
	t.Helper()
	p, err := parse(strings.Replace(header, "name: x", "name: "+name, 1) + edits)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRender(t *testing.T) {
	goTree := tree(t, "go1.26.1", map[string]string{"src/a.go": "one\n\ttwo\nthree\n\ttwo\nxtwo\n"})
	x := patchOf(t, "x", "edit src/a.go\nfind 2\n|	two\nafter\n|	after\n\nedit src/a.go\nfind 1\n|three\nreplace\n|3\n\nnew src/n.go\n|package n\n")
	y := patchOf(t, "y", "edit src/a.go\nfind 1\n|one\nbefore\n|zero\n\nedit src/a.go\ngo: go1.25\nfind 9\n|nothing\nbefore\n|zero\n")
	got, err := render(goTree, []*Patch{x, y}, goTree.read)
	if err != nil {
		t.Fatal(err)
	}
	want := "zero\none\n\ttwo\n\tafter\n3\n\ttwo\n\tafter\nxtwo\n"
	if len(got) != 2 || got["src/a.go"] != want || got["src/n.go"] != "package n\n" {
		t.Errorf("%q", got)
	}
}

func TestRefused(t *testing.T) {
	files := map[string]string{"src/a.go": "one\ntwo\ntwo\n"}
	edit := func(find, count string) string {
		return "edit src/a.go\nfind " + count + "\n|" + find + "\nreplace\n|x\n"
	}
	for name, c := range map[string]struct {
		version string
		patches []string
		want    []string
	}{
		"too often": {"go1.26.1", []string{edit("two", "1")},
			[]string{"patch p0 does not fit go1.26.1, src/a.go", `"two" stands there 2 times, want 1`}},
		"too rarely":     {"go1.26.1", []string{edit("three", "1")}, []string{"0 times, want 1"}},
		"part of a line": {"go1.26.1", []string{edit("on", "1")}, []string{"0 times, want 1"}},
		"other version":  {"go1.24.9", []string{edit("one", "1")}, []string{"does not fit go1.24.9", "it is written for go1.25 and go1.26"}},
		"development":    {"devel go1.27-8a91b2c3 Mon Jan 5", []string{edit("one", "1")}, []string{"it is written for go1.25 and go1.26"}},
		"no version":     {"weekly", []string{edit("one", "1")}, []string{"it is written for go1.25 and go1.26"}},
		"no file":        {"go1.26.1", []string{"edit src/b.go\nfind 1\n|x\nafter\n|y\n"}, []string{"src/b.go", "there is no such file"}},
		"file is there":  {"go1.26.1", []string{"new src/a.go\n|x\n"}, []string{"src/a.go", "there is such a file already"}},
		"same new file": {"go1.26.1", []string{"new src/n.go\n|x\n", "new src/n.go\n|y\n"},
			[]string{"patch p1", "there is such a file already"}},
		"same lines": {"go1.26.1", []string{edit("one", "1"), edit("one", "1")}, []string{"patch p1", "the same lines as p0"}},
	} {
		goTree := tree(t, c.version, files)
		var patches []*Patch
		for i, text := range c.patches {
			patches = append(patches, patchOf(t, "p"+string(rune('0'+i)), text))
		}
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		o, err := Apply(goTree, patches, "", "")
		var refused *RefusedError
		if !errors.As(err, &refused) {
			t.Errorf("%s: %+v, %v", name, o, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q, want %q", name, err, want)
			}
		}
		if left, err := os.ReadDir(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "folio", "overlay")); err != nil || len(left) > 0 {
			t.Errorf("%s: a refused patch left %v, %v", name, left, err)
		}
	}
	needs := patchOf(t, "p", "edit src/a.go\nfind 1\n|one\nreplace\n|x\n")
	needs.Experiment = "arenas"
	if err := needs.Fits(tree(t, "go1.26.1", files)); err == nil || !strings.Contains(err.Error(), "GOEXPERIMENT=arenas") {
		t.Errorf("without the experiment: %v", err)
	}
}

func TestIdle(t *testing.T) {
	linux := &Toolchain{OS: "linux", Arch: "arm64"}
	for effect, idle := range map[string]bool{"": false, "linux": false, "arm64": false, "linux/arm64": false,
		"linux/amd64": true, "darwin amd64": true} {
		p := &Patch{Effect: strings.Fields(effect)}
		if got := p.Idle(linux); (got != "") != idle {
			t.Errorf("%q: %q", effect, got)
		}
	}
}

// What is in the cache is what is built: whoever changed it, it is mended.
func TestApplyMendsTheCache(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	goTree := tree(t, "go1.26.1", map[string]string{"src/a.go": "one\n"})
	patches := []*Patch{patchOf(t, "x", "edit src/a.go\nfind 1\n|one\nreplace\n|1\n")}
	first, err := Apply(goTree, patches, "", "")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(filepath.Dir(first.File), "src", "a.go")
	if err := os.WriteFile(file, []byte("evil\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := Apply(goTree, patches, "", "")
	if err != nil || again.File != first.File {
		t.Fatalf("%+v, %v", again, err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "1\n" {
		t.Errorf("%q, %v", data, err)
	}
	if strings.Join(again.Patched, " ") != "src/a.go" || len(again.Added) != 0 {
		t.Errorf("%+v", again)
	}
}

func TestUserOverlay(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	goTree := tree(t, "go1.26.1", map[string]string{"src/a.go": "one\n"})
	patches := []*Patch{patchOf(t, "x", "edit src/a.go\nfind 1\n|one\nafter\n|patched\n")}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("mine.go", "mine\none\n")
	write("o.json", `{"Replace": {"own.go": "mine.go", "`+goTree.path("src/a.go")+`": "mine.go", "gone.go": ""}}`)
	o, err := Apply(goTree, patches, "o.json", dir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := userReplacements(o.File, "")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(all.Replace[goTree.path("src/a.go")]); err != nil || string(data) != "mine\none\npatched\n" {
		t.Errorf("the patch is on top of the user's file: %q, %v", data, err)
	}
	if got, ok := all.Replace[filepath.Join(dir, "gone.go")]; !ok || got != "" ||
		all.Replace[filepath.Join(dir, "own.go")] != filepath.Join(dir, "mine.go") {
		t.Errorf("%v", all.Replace)
	}
	write("bad.json", "{")
	for _, file := range []string{"bad.json", "none.json"} {
		if _, err := Apply(goTree, patches, file, dir); err == nil || !strings.Contains(err.Error(), "-overlay") ||
			!strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestCacheThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", file)
	goTree := tree(t, "go1.26.1", map[string]string{"src/a.go": "one\n"})
	if _, err := Apply(goTree, []*Patch{patchOf(t, "x", "edit src/a.go\nfind 1\n|one\nafter\n|two\n")}, "",
		""); err == nil || !strings.Contains(err.Error(), "write the patched files") {
		t.Error(err)
	}
}

// Apply patches into the cache of the user.
func Apply(t *Toolchain, patches []*Patch, user, dir string) (*Overlay, error) {
	s, err := findStore("")
	if err != nil {
		return nil, err
	}
	return s.apply(t, patches, user, dir)
}
