package result_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/test/testenv"
)

func open(t *testing.T, path string) *result.Output {
	t.Helper()
	o, err := result.OpenOutput("--json", path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func put(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, o *result.Output, text string) {
	t.Helper()
	if err := o.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func wantFile(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(data) != text || info.Mode() != mode {
		t.Errorf("%s holds %.40q, mode %v; want %.40q, %v", path, data, info.Mode(), text, mode)
	}
}

func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("directory holds %q, want %q", got, want)
	}
}

func TestOutputFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new")
	o := open(t, path)
	wantNames(t, dir) // nothing yet, and no trace of the check
	write(t, o, "one\n")
	wantFile(t, path, "one\n", 0o644)
	write(t, o, "2\n")
	wantFile(t, path, "2\n", 0o644)
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, "2\n", 0o644)
	wantNames(t, dir, "new")
	if o.IsStdout() {
		t.Error("a file is not standard output")
	}
}

func TestOutputNeverWritten(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old")
	put(t, old, "old\n", 0o640)
	for _, o := range []*result.Output{open(t, old), open(t, filepath.Join(dir, "new"))} {
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
	}
	wantFile(t, old, "old\n", 0o640)
	wantNames(t, dir, "old")
}

func TestOutputKeepsMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	put(t, path, "old\n", 0o600)
	o := open(t, path)
	write(t, o, "new\n")
	wantFile(t, path, "new\n", 0o600)
}

// Whoever reads the file finds one version of it or the other.
func TestOutputIsAtomic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	versions := []string{strings.Repeat("a", 1<<16), strings.Repeat("b", 1<<17)}
	o := open(t, path)
	write(t, o, versions[0])
	stop, done := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			data, err := os.ReadFile(path)
			if err == nil && string(data) != versions[0] && string(data) != versions[1] {
				err = errors.New("a version that was never written")
			}
			if err != nil {
				done <- err
				return
			}
		}
	}()
	for i := range 300 {
		write(t, o, versions[i%2])
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestOutputBadPath(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "plain"), "", 0o644)
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		".":         "is a directory: name a file in it",
		"no/f":      "directory " + dir + "/no does not exist",
		"plain/f":   "not a directory",
		"loop":      "too many levels of symbolic links",
		"x\x00y":    "invalid argument",
		"no/../f/g": "directory " + dir + "/f does not exist",
	} {
		path := dir + "/" + name
		_, err := result.OpenOutput("--bench", path, nil)
		if err == nil || !strings.HasPrefix(err.Error(), "--bench "+dir) || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%s: error %v, want %s", name, err, want)
		}
	}
	wantNames(t, dir, "loop", "plain")
	if _, err := result.OpenOutput("--html", "/proc/x.html", nil); err == nil || err.Error() != "--html /proc/x.html: no file can be made in /proc" {
		t.Errorf("%v", err)
	}
}

func TestOutputPermission(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} { // TempDir keeps others out
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	locked, file := filepath.Join(dir, "locked"), filepath.Join(dir, "file")
	if err := os.Mkdir(locked, 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, file, "old\n", 0o444)
	inside := filepath.Join(locked, "inside")
	put(t, inside, "old\n", 0o666)
	if err := os.Chmod(locked, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(locked, 0o755) })
	testenv.AsNobody(t, func() {
		for _, path := range []string{file, filepath.Join(locked, "new")} {
			if _, err := result.OpenOutput("--json", path, nil); err == nil || err.Error() != "--json "+path+": permission denied" {
				t.Errorf("%s: error %v", path, err)
			}
		}
		// A file that may be written in a directory that may not: in place.
		o, err := result.OpenOutput("--json", inside, nil)
		if err != nil {
			t.Error(err)
			return
		}
		if err := errors.Join(o.Write([]byte("longer than it was\n")), o.Write([]byte("new\n")), o.Close()); err != nil {
			t.Error(err)
		}
	})
	wantFile(t, file, "old\n", 0o444)
	wantFile(t, inside, "new\n", 0o666)
	wantNames(t, locked, "inside")
}

// The file behind a link is meant, there or not.
func TestOutputLink(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "d", "old"), "old\n", 0o600)
	for link, to := range map[string]string{
		"to-old": "d/old", "to-new": "d/new", "absolute": filepath.Join(dir, "d", "abs"), "twice": "to-third", "to-third": "d/third",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []string{"to-old", "to-new", "absolute", "twice"} {
		o := open(t, filepath.Join(dir, link))
		write(t, o, link)
		if info, err := os.Lstat(filepath.Join(dir, link)); err != nil || info.Mode().Type() != fs.ModeSymlink {
			t.Errorf("%s is not a link any more: %v", link, err)
		}
	}
	wantFile(t, filepath.Join(dir, "d", "old"), "to-old", 0o600)
	wantFile(t, filepath.Join(dir, "d", "new"), "to-new", 0o644)
	wantFile(t, filepath.Join(dir, "d", "abs"), "absolute", 0o644)
	wantFile(t, filepath.Join(dir, "d", "third"), "twice", 0o644)
	wantNames(t, filepath.Join(dir, "d"), "abs", "new", "old", "third")
}

// What cannot be replaced gets the last version, once.
func TestOutputDevice(t *testing.T) {
	o := open(t, "/dev/full")
	write(t, o, "x")
	if err := o.Close(); err == nil || err.Error() != "--json /dev/full: no space left on device" {
		t.Errorf("error %v", err)
	}
	o = open(t, "/dev/full")
	if err := o.Close(); err != nil {
		t.Errorf("never written: %v", err)
	}

	// As a shell's >(command) has it.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	o = open(t, fmt.Sprintf("/dev/fd/%d", w.Fd()))
	w.Close()
	write(t, o, "one\n")
	write(t, o, "two\n")
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); string(got) != "two\n" || err != nil {
		t.Errorf("pipe got %q, %v", got, err)
	}
}

func TestOutputStdout(t *testing.T) {
	var b bytes.Buffer
	o, err := result.OpenOutput("--json", "-", &b)
	if err != nil || !o.IsStdout() {
		t.Fatal(o, err)
	}
	write(t, o, "one\n")
	write(t, o, "two\n")
	if b.Len() > 0 {
		t.Errorf("before the end: %q", &b)
	}
	if err := o.Close(); err != nil || b.String() != "two\n" {
		t.Errorf("%q, %v", &b, err)
	}
	b.Reset()
	o, _ = result.OpenOutput("--json", "-", &b)
	if err := o.Close(); err != nil || b.Len() > 0 {
		t.Errorf("never written: %q, %v", &b, err)
	}
	o, _ = result.OpenOutput("--json", "-", &limited{})
	write(t, o, "x")
	if err := o.Close(); !errors.Is(err, errFull) || err.Error() != "--json -: full" {
		t.Errorf("error %v", err)
	}
	if (*result.Output)(nil).IsStdout() {
		t.Error("no output is not standard output")
	}
}

func TestOutputDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16k"); err != nil {
		testenv.Missing(t, "mount a tiny file system: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	path := filepath.Join(dir, "f")
	o := open(t, path)
	write(t, o, "small\n")
	for range 2 {
		if err := o.Write(bytes.Repeat([]byte("x"), 1<<16)); err == nil || err.Error() != "--json "+path+": no space left on device" {
			t.Errorf("error %v", err)
		}
		wantFile(t, path, "small\n", 0o644)
		wantNames(t, dir, "f")
	}
	write(t, o, "room again\n")
	wantFile(t, path, "room again\n", 0o644)
}

var errFull = errors.New("full")

// limited takes so many bytes.
type limited struct{ left int }

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		n := l.left
		l.left = 0
		return n, errFull
	}
	l.left -= len(p)
	return len(p), nil
}
