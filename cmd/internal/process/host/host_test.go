package host

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/system/procmem"
)

func marshal(t *testing.T, info Info) string {
	t.Helper()
	data, err := json.Marshal(info)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestReadFixtures(t *testing.T) {
	for _, c := range []struct {
		fixture string
		page    int
		want    string
		errs    int
	}{
		{"server", 4096, `{"name":"N","os":"linux","arch":"arm64","kernel":"K","cpu":"ARM Neoverse-V2","cpus":2,` +
			`"memory_bytes":34359738368,"cgroup_limit_bytes":2147483648,"page_bytes":4096,"huge_page_bytes":2097152,` +
			`"thp_enabled":"always","thp_defrag":"madvise","thp_max_ptes_none":0}`, 0},
		{"small", 16384, `{"name":"N","os":"linux","arch":"arm64","kernel":"K","cpu":"","cpus":2,` +
			`"memory_bytes":521654272,"cgroup_limit_bytes":null,"page_bytes":16384,"huge_page_bytes":null,` +
			`"thp_enabled":null,"thp_defrag":null,"thp_max_ptes_none":null}`, 0},
		{"nothing", 4096, `{"name":"N","os":"linux","arch":"arm64","kernel":"K","cpu":"","cpus":2,` +
			`"memory_bytes":null,"cgroup_limit_bytes":null,"page_bytes":4096,"huge_page_bytes":null,` +
			`"thp_enabled":null,"thp_defrag":null,"thp_max_ptes_none":null}`, 3},
	} {
		info, notes := Read(procmem.New(filepath.Join("testdata", c.fixture)).WithPageSize(c.page))
		if len(notes) != c.errs {
			t.Errorf("%s: notes %q, want %d", c.fixture, notes, c.errs)
		}
		for _, n := range notes {
			if !strings.HasSuffix(n, ": no such file or directory") || !strings.HasPrefix(n, "read ") {
				t.Errorf("%s: %s", c.fixture, n)
			}
		}
		// These are the running machine's.
		info.Name, info.OS, info.Arch, info.Kernel, info.CPUs = "N", "linux", "arm64", "K", 2
		if got := marshal(t, info); got != c.want {
			t.Errorf("%s:\nhave %s\nwant %s", c.fixture, got, c.want)
		}
	}
}

func TestReadThisMachine(t *testing.T) {
	info, errs := Read(procmem.New("/"))
	if info.OS != runtime.GOOS || info.Arch != runtime.GOARCH || info.CPUs != runtime.NumCPU() || info.PageBytes != os.Getpagesize() {
		t.Errorf("Read = %s", marshal(t, info))
	}
	if runtime.GOOS != "linux" {
		return
	}
	for _, err := range errs {
		t.Error(err)
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil && info.Kernel != strings.TrimSpace(string(release)) {
		t.Errorf("kernel = %q, want %q", info.Kernel, release)
	}
	if info.MemoryBytes == nil || *info.MemoryBytes < 64<<20 {
		t.Errorf("memory = %v", info.MemoryBytes)
	}
	enabled, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	switch {
	case err == nil && (info.THPEnabled == nil || !strings.Contains(string(enabled), "["+*info.THPEnabled+"]")):
		t.Errorf("Read = %s, and the kernel says %q", marshal(t, info), enabled)
	case errors.Is(err, fs.ErrNotExist) && info.THPEnabled != nil:
		t.Errorf("THP = %q on a kernel without", *info.THPEnabled)
	}
}

func TestProgram(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	goVersion, module, ok := Program(self)
	if !ok || goVersion != runtime.Version() || module != "github.com/foliomem/folio/cmd" {
		t.Errorf("Program(%s) = %q, %q, %v", self, goVersion, module, ok)
	}
	if _, err := exec.LookPath("go"); err == nil {
		if goVersion, _, ok := Program("go"); !ok || !strings.HasPrefix(goVersion, "go") && !strings.HasPrefix(goVersion, "devel") {
			t.Errorf("Program(go) = %q, %v", goVersion, ok)
		}
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", script, "no-such-program", filepath.Join(t.TempDir(), "none")} {
		if goVersion, module, ok := Program(path); ok || goVersion != "" || module != "" {
			t.Errorf("Program(%q) = %q, %q, %v", path, goVersion, module, ok)
		}
	}
}
