package lab

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// kernel makes plain files like the kernel's below a directory; those in more
// replace or add to them, "" leaves one out. They keep what is written: of a list
// of choices the word alone.
func kernel(t testing.TB, more map[string]string) string {
	root := t.TempDir()
	files := map[string]string{
		"proc/self/cgroup": "5:devices:/\n4:cpu,memory:/group\n",
		"sys/fs/cgroup/memory/group/memory.limit_in_bytes": "1\n",
		thpDir + "enabled":                             "always [madvise] never\n",
		thpDir + "defrag":                              "always defer defer+madvise [madvise] never\n",
		thpDir + "hugepages-64kB/enabled":              "always inherit madvise [never]\n",
		thpDir + "hugepages-2048kB/enabled":            "always [inherit] madvise never\n",
		thpDir + "khugepaged/max_ptes_none":            "511\n",
		thpDir + "khugepaged/scan_sleep_millisecs":     "10000\n",
		thpDir + "khugepaged/pages_to_scan":            "4096\n",
		poolDir + "hugepages-2048kB/nr_hugepages":      "5\n",
		poolDir + "hugepages-2048kB/free_hugepages":    "3\n",
		poolDir + "hugepages-2048kB/resv_hugepages":    "2\n",
		poolDir + "hugepages-1048576kB/nr_hugepages":   "0\n",
		poolDir + "hugepages-1048576kB/free_hugepages": "0\n",
		poolDir + "hugepages-1048576kB/resv_hugepages": "0\n",
	}
	maps.Copy(files, more)
	for name, text := range files {
		if text == "" {
			continue
		}
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// A memo is a keeper as the guard is one.
type memo struct{ undos []undo }

func (m *memo) keep(u undo) error { m.undos = append(m.undos, u); return nil }
func (m *memo) drop(u undo) error {
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
		c := &changer{keeper: m}
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
			err := c.apply(batch)
			if (err != nil) != bad {
				rt.Fatalf("apply: %v, want an error: %v", err, bad)
			}
			if err != nil {
				continue // it took back all that there was
			}
			for _, ch := range slices.Backward(batch) {
				if got, _ := readSetting(ch.Path); got != lastValue(batch, ch.Path) {
					rt.Fatalf("%s holds %q", ch.Path, got)
				}
			}
		}
		if rapid.Bool().Draw(rt, "killed") {
			for _, u := range slices.Backward(m.undos) {
				if err := u.run(); err != nil {
					rt.Fatal(err)
				}
			}
		} else if err := c.restore(); err != nil || len(m.undos) > 0 {
			rt.Fatalf("restore: %v, kept %v", err, m.undos)
		}
		for _, n := range names {
			if got, _ := readSetting(filepath.Join(dir, n)); got != "was "+n {
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
	root := kernel(t, nil)
	file := filepath.Join(root, thpDir, "defrag")
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
	c := &changer{}
	err := c.apply([]Change{{Path: file, Value: "never"}, {Path: root, Dir: true, Limit: "x", Value: "1"}})
	if err == nil || !strings.Contains(err.Error(), "it is there already") {
		t.Errorf("directory: %v", err)
	}
	if got, _ := readSetting(file); got != "madvise" {
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
	root := kernel(t, nil)
	a, b := filepath.Join(root, thpDir, "defrag"), filepath.Join(root, thpDir, "enabled")
	dir := filepath.Join(root, "group")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	in, inW := io.Pipe()
	var out bytes.Buffer
	done := make(chan error, 1)
	go func() { done <- Guard(in, &out) }()
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
		if got, _ := readSetting(f); got != want {
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
	if err := Guard(in2, io.Discard); err != nil {
		t.Error(err)
	}
	if got, _ := readSetting(b); got != "never" {
		t.Errorf("%s holds %s after nonsense", b, got)
	}
}
