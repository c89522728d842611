package procmem

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withFiles fills a copy of a fixture with more files.
func withFiles(t *testing.T, fixture string, files map[string]string) FS {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS(filepath.Join("testdata", fixture))); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return New(root)
}

func TestMemoryGroups(t *testing.T) {
	const job = "sys/fs/cgroup/memory/user.slice/job/"
	v1 := withFiles(t, "cgroup-v1", map[string]string{
		job + "memory.usage_in_bytes": "1234567\n",
		job + "memory.stat":           "cache 1\ninactive_file 2\ntotal_inactive_file 4096\ntotal_active_file 8192\n",
	})
	const main = "sys/fs/cgroup/system.slice/a b.service/main/"
	v2 := withFiles(t, "cgroup-v2", map[string]string{
		main + "memory.current": "77\n",
		main + "memory.high":    "1073741824\n",
		main + "memory.stat":    "anon 5\nfile 6\ninactive_file 7\nactive_file 8\n",
	})
	for _, c := range []struct {
		fs     FS
		groups int
		// Of the process's own group:
		limit, high, usage, inactive, active string
	}{
		{v1, 3, "2147483648", "absent", "1234567", "4096", "8192"},
		{v2, 4, "absent", "1073741824", "77", "7", "8"},
		{fixture("cgroup-none"), 0, "", "", "", "", ""},
	} {
		groups, err := c.fs.MemoryGroups(0)
		if err != nil || len(groups) != c.groups {
			t.Errorf("MemoryGroups = %v, %v, want %d", groups, err, c.groups)
			continue
		}
		for i, g := range groups {
			m, err := g.Read()
			if err != nil {
				t.Errorf("%v: %v", g, err)
			}
			if i > 0 {
				continue
			}
			for _, v := range []struct {
				name string
				have *uint64
				want string
			}{{"limit", m.Limit, c.limit}, {"high", m.High, c.high}, {"usage", m.Usage, c.usage},
				{"inactive", m.InactiveFile, c.inactive}, {"active", m.ActiveFile, c.active}} {
				if have(v.have) != v.want {
					t.Errorf("%v: %s = %s, want %s", g, v.name, have(v.have), v.want)
				}
			}
		}
	}
}

// TestUnsplit: what is charged and neither mapped, cached nor the kernel's.
func TestUnsplit(t *testing.T) {
	const job = "sys/fs/cgroup/memory/user.slice/job/"
	const main = "sys/fs/cgroup/system.slice/a b.service/main/"
	for _, c := range []struct {
		name, tree string
		files      map[string]string
		want       string
	}{
		{"v1", "cgroup-v1", map[string]string{job + "memory.kmem.usage_in_bytes": "60\n", job + "memory.stat": "rss 1\ncache 2\ntotal_cache 40\ntotal_rss 500\n"}, "400"},
		{"v1, more is counted than is charged", "cgroup-v1", map[string]string{job + "memory.kmem.usage_in_bytes": "60\n", job + "memory.stat": "total_cache 40\ntotal_rss 950\n"}, "0"},
		{"v1 without the kernel's", "cgroup-v1", map[string]string{job + "memory.stat": "total_cache 40\ntotal_rss 500\n"}, "absent"},
		{"v1 without a part", "cgroup-v1", map[string]string{job + "memory.kmem.usage_in_bytes": "60\n", job + "memory.stat": "total_cache 40\n"}, "absent"},
		{"v2", "cgroup-v2", map[string]string{main + "memory.stat": "anon 500\nfile 40\nkernel 60\nkernel_stack 10\npagetables 20\nslab 30\nsock 5\nzswap 6\nhugetlb 7\nfile_mapped 39\n"}, "388"},
		{"v2 before Linux 5.18", "cgroup-v2", map[string]string{main + "memory.stat": "anon 500\nfile 40\nkernel_stack 10\npagetables 20\npercpu 1\nslab 30\nsock 5\n"}, "394"},
		{"v2, only the kernel's", "cgroup-v2", map[string]string{main + "memory.stat": "kernel 60\n"}, "absent"},
		{"v2 without the kernel's", "cgroup-v2", map[string]string{main + "memory.stat": "anon 5\nfile 6\n"}, "absent"},
	} {
		for _, usage := range []string{job + "memory.usage_in_bytes", main + "memory.current"} {
			c.files[usage] = "1000\n"
		}
		groups, err := withFiles(t, c.tree, c.files).MemoryGroups(0)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := groups[0].Read(); err != nil || have(m.Unsplit) != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, have(m.Unsplit), err, c.want)
		}
	}
}

func TestMemoryGroupErrors(t *testing.T) {
	const job = "sys/fs/cgroup/memory/user.slice/job/"
	for _, file := range []string{"memory.usage_in_bytes", "memory.limit_in_bytes"} {
		groups, err := withFiles(t, "cgroup-v1", map[string]string{job + file: "lots\n"}).MemoryGroups(0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := groups[0].Read(); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
	}
	groups, err := withFiles(t, "cgroup-v1", map[string]string{job + "memory.stat": "total_inactive_file -1\n"}).MemoryGroups(0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := groups[0].Read(); err == nil || !strings.Contains(err.Error(), "memory.stat") {
		t.Error(err)
	}
}

func FuzzMemoryStat(f *testing.F) {
	f.Add([]byte("cache 1\ntotal_inactive_file 4096\n"))
	f.Add([]byte("inactive_file 18446744073709551616\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		stat, err := parseKeyed(data, "inactive_file", "total_inactive_file")
		if err == nil && len(stat) > 2 {
			t.Errorf("%v", stat)
		}
	})
}
