package settings

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/foliomem/folio/cmd/internal/base/guard"
	_ "github.com/foliomem/folio/internal/test/testenv" // temporary files are gone with the tests
)

// files makes plain files like the kernel's: a setting each, with its choices.
func files(t *testing.T) (dir, defrag, enabled string) {
	dir = t.TempDir()
	defrag, enabled = filepath.Join(dir, "defrag"), filepath.Join(dir, "enabled")
	if err := errors.Join(os.WriteFile(defrag, []byte("always defer defer+madvise [madvise] never\n"), 0o644),
		os.WriteFile(enabled, []byte("always [madvise] never\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	return dir, defrag, enabled
}

// A memo is a keeper as the guard is one.
type memo struct{ undos []undo }

func (m *memo) Keep(u undo) error { m.undos = append(m.undos, u); return nil }
func (m *memo) Drop(u undo) error {
	i := len(m.undos) - 1
	for ; i >= 0 && m.undos[i] != u; i-- {
	}
	if i < 0 {
		return errors.New("dropped what was not kept")
	}
	m.undos = slices.Delete(m.undos, i, i+1)
	return nil
}

// Whatever changes are made, in whatever order, some of them impossible: after
// restore all is as it was, and so it is when only the keeper lives on.
func TestChangerModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		names := []string{"a", "b", "c"}
		for _, n := range names {
			if err := os.WriteFile(filepath.Join(dir, n), []byte("was "+n+"\n"), 0o644); err != nil {
				rt.Fatal(err)
			}
		}
		m := &memo{}
		c := &Changer{keeper: m}
		for range rapid.IntRange(1, 4).Draw(rt, "batches") {
			var batch []Change
			bad := false
			for range rapid.IntRange(1, 4).Draw(rt, "changes") {
				switch rapid.IntRange(0, 4).Draw(rt, "kind") {
				case 0:
					batch, bad = append(batch, Change{Path: filepath.Join(dir, "missing"), Value: "1"}), true
				default:
					n := rapid.SampledFrom(names).Draw(rt, "file")
					batch = append(batch, Change{Path: filepath.Join(dir, n), Value: rapid.StringMatching(`[a-z0-9]{1,5}`).Draw(rt, "value")})
				}
			}
			err := c.Apply(batch)
			if (err != nil) != bad {
				rt.Fatalf("apply: %v, want an error: %v", err, bad)
			}
			if err != nil {
				continue // it took back all that there was
			}
			for _, ch := range slices.Backward(batch) {
				if got, _ := Read(ch.Path); got != lastValue(batch, ch.Path) {
					rt.Fatalf("%s holds %q", ch.Path, got)
				}
			}
		}
		if rapid.Bool().Draw(rt, "killed") {
			for _, u := range slices.Backward(m.undos) {
				if err := u.Undo(); err != nil {
					rt.Fatal(err)
				}
			}
		} else if err := c.Restore(); err != nil || len(m.undos) > 0 {
			rt.Fatalf("restore: %v, kept %v", err, m.undos)
		}
		for _, n := range names {
			if got, _ := Read(filepath.Join(dir, n)); got != "was "+n {
				rt.Fatalf("%s holds %q afterwards", n, got)
			}
		}
		if left, _ := os.ReadDir(dir); len(left) != len(names) {
			rt.Fatalf("files left: %v", left)
		}
	})
}

func lastValue(batch []Change, path string) (v string) {
	for _, c := range batch {
		if c.Path == path {
			v = c.Value
		}
	}
	return v
}

func TestChangeFails(t *testing.T) {
	root, file, _ := files(t)
	// A file of the kernel that takes nothing.
	if err := (Change{Path: "/dev/null", Value: "1"}).apply(); err == nil || !strings.Contains(err.Error(), "it holds  afterwards") {
		t.Errorf("not taken: %v", err)
	}
	// A pool that the kernel cannot fill says so; one that has more is fine.
	pool := Change{Path: "/dev/null", Value: "8", Pool: true}
	if err := pool.apply(); err == nil || !strings.Contains(err.Error(), "smaller --size") {
		t.Errorf("pool: %v", err)
	}
	if err := (Change{Path: filepath.Join(root, "no", "file"), Value: "1"}).apply(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if text := (Change{Path: file, Value: "never"}).String(); text != "write never to "+file+" (now madvise)" {
		t.Errorf("announced as %q", text)
	}
	// A directory that is there already is somebody else's.
	c := &Changer{}
	err := c.Apply([]Change{{Path: file, Value: "never"}, {Path: root, Dir: true, Limit: "x", Value: "1"}})
	if err == nil || !strings.Contains(err.Error(), "it is there already") {
		t.Errorf("directory: %v", err)
	}
	if got, _ := Read(file); got != "madvise" {
		t.Errorf("%s holds %s afterwards", file, got)
	}
}

func TestChosen(t *testing.T) {
	for text, want := range map[string]string{
		"always [madvise] never\n": "madvise", "511\n": "511", "[]": "[]", "": "", "a b": "a b", "[x": "[x",
		"always defer [defer+madvise]": "defer+madvise",
	} {
		if got := chosen(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzChosen(f *testing.F) {
	f.Add("always [madvise] never\n")
	f.Fuzz(func(t *testing.T, text string) {
		if got := chosen(text); got != strings.TrimSpace(text) && !strings.Contains(text, "["+got+"]") {
			t.Errorf("%q: %q", text, got)
		}
	})
}

// The guard takes back what was not dropped when whoever started it is gone.
func TestGuard(t *testing.T) {
	root, a, b := files(t)
	dir := filepath.Join(root, "group")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	in, inW := io.Pipe()
	var out bytes.Buffer
	done := make(chan error, 1)
	go func() { done <- guard.Serve[undo](in, &out) }()
	for _, l := range []string{
		`{"Keep":{"Path":"` + a + `","Value":"madvise","Dir":false}}`,
		`{"Keep":{"Path":"` + b + `","Value":"madvise","Dir":false}}`,
		`{"Keep":{"Path":"` + dir + `","Value":"","Dir":true}}`,
		`{"Keep":{"Path":"` + a + `","Value":"never","Dir":false}}`, // later: taken back before the first
		`{"Drop":{"Path":"` + b + `","Value":"madvise","Dir":false}}`,
	} {
		if _, err := io.WriteString(inW, l+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{a, b} {
		if err := writeSetting(f, "always"); err != nil {
			t.Fatal(err)
		}
	}
	inW.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for f, want := range map[string]string{a: "madvise", b: "always"} {
		if got, _ := Read(f); got != want {
			t.Errorf("%s holds %s, want %s", f, got, want)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is left: %v", err)
	}
	if got := out.String(); got != strings.Repeat("ok\n", 6) {
		t.Errorf("answers %q", got)
	}
	// What cannot be understood ends it, but it puts back what it knows.
	in2 := strings.NewReader(`{"Keep":{"Path":"` + b + `","Value":"never","Dir":false}}` + "\nnonsense\n")
	if err := guard.Serve[undo](in2, io.Discard); err != nil {
		t.Error(err)
	}
	if got, _ := Read(b); got != "never" {
		t.Errorf("%s holds %s after nonsense", b, got)
	}
}
