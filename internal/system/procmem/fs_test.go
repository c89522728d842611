package procmem

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func fixture(name string) FS { return New(filepath.Join("testdata", name)) }

// have names a pointer's value, for comparisons and messages.
func have[T any](p *T) string {
	if p == nil {
		return "absent"
	}
	return fmt.Sprint(*p)
}

// seed adds the fixtures' copies of a file to a fuzz corpus.
func seed(f *testing.F, pattern string) {
	files, err := filepath.Glob(filepath.Join("testdata", "*", filepath.FromSlash(pattern)))
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds for %s: %v", pattern, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

func TestRoot(t *testing.T) {
	var zero FS
	if New("") != zero || New("/") != zero {
		t.Error(`New("") and New("/") are not the zero FS`)
	}
	if got, want := zero.path("proc/loadavg"), filepath.FromSlash("/proc/loadavg"); got != want {
		t.Errorf("path = %q, want %q", got, want)
	}
	if got, want := New("x").procPath(0, "stat"), filepath.FromSlash("x/proc/self/stat"); got != want {
		t.Errorf("path = %q, want %q", got, want)
	}
	if got := zero.PageSize(); got != os.Getpagesize() {
		t.Errorf("page size = %d, want %d", got, os.Getpagesize())
	}
	if got := zero.WithPageSize(65536).PageSize(); got != 65536 {
		t.Errorf("page size = %d, want 65536", got)
	}
}

// TestAbsent is every read on a system that has none of the files.
func TestAbsent(t *testing.T) {
	f := New(t.TempDir())
	_, statErr := f.Stat(1)
	_, statmErr := f.Statm(1)
	_, statusErr := f.Status(1)
	_, smapsErr := f.SmapsRollup(1)
	_, meminfoErr := f.Meminfo()
	_, _, cgroupErr := f.MemoryLimit(0)
	_, _, quotaErr := f.CPUQuota(0)
	_, cpuErr := f.CPUModel()
	_, descErr := f.Descendants(1)
	tree := f.NewTree(1)
	defer tree.Close()
	tree.SetReaper(1)
	for i, err := range []error{statErr, statmErr, statusErr, smapsErr, meminfoErr, cgroupErr, quotaErr, cpuErr, descErr, tree.Update()} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%d: error = %v, want not exist", i, err)
		}
	}
	if thp, err := f.THP(); thp.Present || err != nil {
		t.Errorf("THP = %+v, %v, want not present", thp, err)
	}
}

func TestBadFile(t *testing.T) {
	root := t.TempDir()
	write(t, root, "proc/7/stat", "7 (x R 1")
	_, err := New(root).Stat(7)
	want := "parse " + filepath.Join(root, "proc", "7", "stat") + ": no (name)"
	if err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

func TestGone(t *testing.T) {
	for _, err := range []error{fs.ErrNotExist, fmt.Errorf("read: %w", syscall.ESRCH), &os.PathError{Err: syscall.ENOENT}} {
		if !Gone(err) {
			t.Errorf("Gone(%v) = false", err)
		}
	}
	for _, err := range []error{nil, fs.ErrPermission, syscall.EIO} {
		if Gone(err) {
			t.Errorf("Gone(%v) = true", err)
		}
	}
}

func TestParseKB(t *testing.T) {
	for _, c := range []struct {
		in   string
		want uint64
		ok   bool
	}{
		{"0 kB", 0, true},
		{"12 kB", 12288, true},
		{"18014398509481983 kB", 18014398509481983 * 1024, true},
		{"18014398509481984 kB", 0, false}, // 2^64 bytes
		{"12", 0, false},
		{"12 MB", 0, false},
		{"-1 kB", 0, false},
		{" kB", 0, false},
	} {
		got, err := parseKB(c.in)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("parseKB(%q) = %d, %v", c.in, got, err)
		}
	}
}

func write(t testing.TB, root, name, data string) {
	t.Helper()
	file := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

// SetReaper is the reaper of [FS.NewTreeOf], of a tree that there is.
func (t *Tree) SetReaper(pid int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reaper = pid
	t.scanAll = true
}
