package procmem

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestCgroupDir(t *testing.T) {
	for _, c := range []struct {
		groups, mounts string
		controller     string
		want           string // below the root; "" for none
		above          []string
		unified        bool
	}{
		{"0::/a/b\n", "1 0 0:1 / /cg rw - cgroup2 cgroup2 rw\n", "memory", "cg/a/b", []string{"cg/a", "cg"}, true},
		{"0::/\n", "1 0 0:1 / /cg rw - cgroup2 cgroup2 rw\n", "memory", "cg", nil, true},
		// A container sees what is mounted for it, and its place below that.
		{"0::/docker/x/sub\n", "1 0 0:1 /docker/x /cg rw - cgroup2 cgroup2 rw\n", "cpu", "cg/sub", []string{"cg"}, true},
		// Where its own is not below what is mounted, nothing is known.
		{"0::/docker/x\n", "1 0 0:1 /docker/y /cg rw - cgroup2 cgroup2 rw\n", "cpu", "", nil, false},
		{"0::/../other\n", "1 0 0:1 / /cg rw - cgroup2 cgroup2 rw\n", "cpu", "", nil, false},
		// Version 1 has the controller, or it has not.
		{"4:memory:/m\n1:cpu,cpuacct:/c\n0::/u\n", "1 0 0:1 / /v1/cpu rw - cgroup cgroup rw,cpu,cpuacct\n2 0 0:2 / /v1/mem rw - cgroup cgroup rw,memory\n3 0 0:3 / /v2 rw - cgroup2 cgroup2 rw\n",
			"cpu", "v1/cpu/c", []string{"v1/cpu"}, false},
		{"4:memory:/m\n0::/u\n", "2 0 0:2 / /v1/mem rw - cgroup cgroup rw,memory\n3 0 0:3 / /v2 rw - cgroup2 cgroup2 rw\n",
			"cpu", "v2/u", []string{"v2"}, true},
		{"4:memory:/m\n", "2 0 0:2 / /v1/mem rw - cgroup cgroup rw,memory\n", "cpu", "", nil, false},
		{"", "", "memory", "", nil, false},
	} {
		root := t.TempDir()
		if err := os.MkdirAll(filepath.Join(root, "proc/self"), 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"cgroup": c.groups, "mountinfo": c.mounts} {
			if err := os.WriteFile(filepath.Join(root, "proc/self", name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		dir, err := New(root).CgroupDir(0, c.controller)
		if c.want == "" {
			if !errors.Is(err, ErrNoCgroup) {
				t.Errorf("%q: %+v, %v", c.groups, dir, err)
			}
			continue
		}
		var above []string
		for _, d := range c.above {
			above = append(above, filepath.Join(root, d))
		}
		if err != nil || dir.Path != filepath.Join(root, c.want) || !slices.Equal(dir.Above, above) || dir.Unified != c.unified {
			t.Errorf("%q: %+v, %v", c.groups, dir, err)
		}
	}
	if _, err := New(t.TempDir()).CgroupDir(0, "memory"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without /proc: %v", err)
	}
}

func TestReadCgroupFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("nr_periods 3\nnr_throttled 2\nother x\n")
	if m, err := ReadKeyed(file, "nr_periods", "missing"); err != nil || len(m) != 1 || m["nr_periods"] != 3 {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := ReadKeyed(file, "other"); err == nil {
		t.Error("x was read as a number")
	}
	put("123\n")
	if n, err := ReadNumber(file); err != nil || *n != 123 {
		t.Errorf("%v, %v", n, err)
	}
	put("max\n")
	if n, err := ReadNumber(file); err != nil || n != nil {
		t.Errorf("%v, %v", n, err)
	}
	put("some total=5\nfull total=2\n")
	if p, ok, err := ReadPressure(file); err != nil || !ok || p.Some != 5*time.Microsecond || p.Full != 2*time.Microsecond {
		t.Errorf("%v, %v, %v", p, ok, err)
	}
	missing := filepath.Join(dir, "missing")
	m, err1 := ReadKeyed(missing, "a")
	n, err2 := ReadNumber(missing)
	_, ok, err3 := ReadPressure(missing)
	if err := errors.Join(err1, err2, err3); err != nil || m != nil || n != nil || ok {
		t.Errorf("of a file that is not there: %v, %v, %v, %v", m, n, ok, err)
	}
	if (FS{root: dir}).Systemd() {
		t.Error("systemd runs where nothing is")
	}
	if err := os.MkdirAll(filepath.Join(dir, "run/systemd/system"), 0o755); err != nil || !New(dir).Systemd() {
		t.Errorf("systemd does not run: %v", err)
	}
}
