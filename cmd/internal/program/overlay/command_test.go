package overlay

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTakeFlag(t *testing.T) {
	for _, c := range []struct {
		args      string
		firstEnds bool
		values    string
		rest      string
	}{
		{"", false, "", ""},
		{"-overlay x -v ./...", false, "x", "-v ./..."},
		{"--overlay=x -overlay=y .", false, "x y", "."},
		{"-o -overlay .", false, "", ""}, // an error: see below
		{". -overlay=x", false, "x", "."},
		{". -overlay=x", true, "", ". -overlay=x"},
		{"-v -overlay x . -overlay y", true, "x", "-v . -overlay y"},
		{"-o out -overlay x .", true, "x", "-o out ."},
		{"-race -tags a,b ./cmd -overlay y", true, "", "-race -tags a,b ./cmd -overlay y"},
		{"-overlay x . -args -overlay y", false, "x", ". -args -overlay y"},
		{". -- -overlay y", false, "", ". -- -overlay y"},
	} {
		values, rest, err := TakeFlag(strings.Fields(c.args), "overlay", c.firstEnds)
		if c.args == "-o -overlay ." {
			// As go itself would read it, -o takes -overlay; nobody means that.
			if err != nil || len(values) != 1 {
				t.Errorf("%q: %v, %v", c.args, values, err)
			}
			continue
		}
		if err != nil || strings.Join(values, " ") != c.values || strings.Join(rest, " ") != c.rest {
			t.Errorf("%q, %v: %q and %q, %v", c.args, c.firstEnds, values, rest, err)
		}
	}
	if _, _, err := TakeFlag([]string{"-v", "-overlay"}, "overlay", false); err == nil {
		t.Error("no error without a value")
	}
}

func TestPrepare(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module x\n\ngo 1.25\n", "mine.json": `{"Replace": {"a.go": "b.go"}}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"build -v .", "build -overlay=O -v ."},
		{"test -C " + dir + " -overlay mine.json ./... -run X", "test -C " + dir + " -overlay=O ./... -run X"},
		{"run -C=" + dir + " . -overlay mine.json", "run -C=" + dir + " -overlay=O . -overlay mine.json"},
	} {
		o, call, err := GoCommand{Args: strings.Fields(c.args)}.Prepare(context.Background())
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		if got := strings.ReplaceAll(strings.Join(call.Args, " "), o.File, "O"); got != c.want {
			t.Errorf("%s: %s, want %s", c.args, got, c.want)
		}
		all, err := userReplacements(o.File, "")
		if err != nil {
			t.Fatal(err)
		}
		_, mine := all.Replace[filepath.Join(dir, "a.go")]
		if want := strings.HasPrefix(c.args, "test"); mine != want {
			t.Errorf("%s: the user's overlay is in: %v, want %v", c.args, mine, want)
		}
		if by := all.Replace[o.Toolchain.path("src/runtime/mheap.go")]; !strings.HasPrefix(by, filepath.Dir(o.File)) {
			t.Errorf("%s: mheap.go is replaced by %q", c.args, by)
		}
		if !slices.Contains(o.Patched, "src/runtime/mheap.go") || !slices.Contains(o.Added, "src/runtime/folio_heap_hugepages.go") {
			t.Errorf("%s: %v, %v", c.args, o.Patched, o.Added)
		}
	}
	for _, args := range []string{"", "generate", "mod tidy", "build -overlay none.json"} {
		if _, _, err := (GoCommand{Args: strings.Fields(args)}).Prepare(context.Background()); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

func TestToolchain(t *testing.T) {
	for version, want := range map[string]string{
		"go1.26.8": "go1.26", "go1.25": "go1.25", "go1.26rc1": "go1.26", "go1.26.8 X:arenas": "go1.26",
		"devel go1.27-8a91b2c3 Mon Jan 5 10:00:00 2026 +0000": "go1.27", "go1.27-devel_8a91b2c3": "go1.27", "weekly.2011": "",
	} {
		if got := (&Toolchain{Version: version}).lang(); got != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
	if _, err := FindToolchain(context.Background(), "", "", append(os.Environ(), "GOTOOLCHAIN=go0.1")); err == nil ||
		!strings.Contains(err.Error(), "go env: ") {
		t.Errorf("a toolchain that there is not: %v", err)
	}
}

// TestPrepareWithoutCache: where the cache cannot be used, the patched files are in the
// directory of the build, and one note says so and why. Where that cannot be written
// either, there is an error and no note.
func TestPrepareWithoutCache(t *testing.T) {
	top := t.TempDir()
	file, open := filepath.Join(top, "file"), filepath.Join(top, "open")
	if err := errors.Join(os.WriteFile(file, nil, 0o644), os.Mkdir(open, 0o700), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	// A cache in which files can be made and nothing written, as on a full disk.
	blocked := filepath.Join(top, "blocked")
	if err := os.MkdirAll(filepath.Join(blocked, "folio", "overlay"), 0o700); err != nil {
		t.Fatal(err)
	}
	if o := prepared(t, blocked, t.TempDir()); o.Note != "" {
		t.Fatalf("the cache can be used: %s", o.Note)
	}
	homes, err := filepath.Glob(filepath.Join(blocked, "folio", "overlay", "*"))
	if err != nil || len(homes) == 0 {
		t.Fatal(homes, err)
	}
	for _, home := range homes {
		if err := errors.Join(os.RemoveAll(home), os.WriteFile(home, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for cache, want := range map[string]string{
		file:    "/file: not a directory (XDG_CACHE_HOME moves the cache)",
		open:    "others may write in it (mode 0777): chmod go-w ",
		blocked: ": not a directory (XDG_CACHE_HOME moves the cache)",
	} {
		temp := t.TempDir()
		o := prepared(t, cache, temp)
		if !strings.HasPrefix(o.Note, "the patched files are kept for this build only, not in the cache: ") || !strings.Contains(o.Note, want) {
			t.Errorf("%s: note %q, want %q in it", cache, o.Note, want)
		}
		if !strings.HasPrefix(o.File, temp) {
			t.Errorf("%s: the overlay is %s", cache, o.File)
		}
		nowhere := filepath.Join(file, "temp")
		o, _, err := GoCommand{Args: []string{"build"}, Temp: func(string) (string, error) { return nowhere, nil }}.Prepare(context.Background())
		if err == nil || o != nil || !strings.Contains(err.Error(), "write the patched files: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s, and no temporary directory: %v, %v", cache, o, err)
		}
	}
}

func prepared(t *testing.T, cache, temp string) *Overlay {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", cache)
	o, _, err := GoCommand{Args: []string{"build"}, Temp: func(string) (string, error) { return temp, nil }}.Prepare(context.Background())
	if err != nil {
		t.Fatalf("%s: %v", cache, err)
	}
	return o
}
