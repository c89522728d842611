package procmem

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMemoryLimit(t *testing.T) {
	for _, c := range []struct {
		fixture string
		pid     int
		want    uint64 // 0 for none
		level   string
	}{
		{"cgroup-v1", 0, 1 << 30, "/sys/fs/cgroup/memory/user.slice"},        // the parent's is lower
		{"cgroup-v1-container", 0, 256 << 20, "/sys/fs/cgroup/memory"},       // the host's path, the container's mount
		{"cgroup-v2", 0, 3 << 30, "/sys/fs/cgroup/system.slice/a b.service"}, // own is max, and a space in the name
		{"cgroup-v2", 99, 0, ""},                                   // all max
		{"cgroup-v2", 100, 0, ""},                                  // the directory is gone
		{"cgroup-v2-outside", 0, 512 << 20, "/sys/fs/cgroup"},      // outside the cgroup namespace
		{"cgroup-hybrid", 0, 8 << 30, "/sys/fs/cgroup/memory/api"}, // memory is with version 1
		{"cgroup-none", 0, 0, ""},
		{"linux-6.1-arm64-64k", 0, 4 << 30, "/sys/fs/cgroup"},
	} {
		got, ok, err := fixture(c.fixture).MemoryLimit(c.pid)
		if got.Bytes != c.want || ok != (c.want != 0) || err != nil || got.Level() != c.level {
			t.Errorf("%s: MemoryLimit(%d) = %d of %q, %v, %v, want %d of %q", c.fixture, c.pid, got.Bytes, got.Level(), ok, err, c.want, c.level)
		}
	}
}

// TestMemoryLimitErrors is a limit that is there but means nothing to us: better
// an error than "unlimited".
func TestMemoryLimitErrors(t *testing.T) {
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS(filepath.Join("testdata", "cgroup-v2-outside"))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "sys", "fs", "cgroup", "memory.max")
	if err := os.WriteFile(file, []byte("lots\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, ok, err := New(root).MemoryLimit(0)
	if ok || err == nil || !strings.HasPrefix(err.Error(), "parse "+file) {
		t.Errorf("MemoryLimit = %v, %v", ok, err)
	}
}

func TestParseLimit(t *testing.T) {
	for in, want := range map[string]string{
		"max\n":                  "absent",
		"0\n":                    "0",
		"4096\n":                 "4096",
		"9223372036854771712\n":  "absent", // 4 KiB pages
		"9223372036854710272\n":  "absent", // 64 KiB pages
		"9223372036854775807\n":  "absent", // kernel 3
		"18446744073709551615\n": "absent",
	} {
		got, err := parseLimit([]byte(in))
		if err != nil || have(got) != want {
			t.Errorf("parseLimit(%q) = %s, %v, want %s", in, have(got), err, want)
		}
	}
	for _, in := range []string{"", "-1", "x", "MAX"} {
		if got, err := parseLimit([]byte(in)); err == nil {
			t.Errorf("parseLimit(%q) = %s, want an error", in, have(got))
		}
	}
}

func TestRelative(t *testing.T) {
	for _, c := range []struct {
		root, group, want string
		ok                bool
	}{
		{"/", "/", "/", true},
		{"/", "/a/b", "/a/b", true},
		{"/a", "/a", "/", true},
		{"/a", "/a/b", "/b", true},
		{"/a", "/ab", "", false},
		{"/a", "/b", "", false},
		{"/a", "/", "", false},
		{"/", "/../x", "", false},
		{"/..", "/x", "", false},
		{"", "/x", "", false},
	} {
		got, ok := relative(c.root, c.group)
		if got != c.want || ok != c.ok {
			t.Errorf("relative(%q, %q) = %q, %v, want %q, %v", c.root, c.group, got, ok, c.want, c.ok)
		}
	}
}

func TestCgroupErrors(t *testing.T) {
	for _, in := range []string{"x", "0:", "1::/x", "0::x", "4:memory"} {
		if got, err := parseCgroup([]byte(in)); err == nil {
			t.Errorf("parseCgroup(%q) = %+v, want an error", in, got)
		}
	}
}

// FuzzCgroup checks that no pair of files leads to a limit outside the mount
// point of a cgroup file system.
func FuzzCgroup(f *testing.F) {
	for _, name := range []string{"cgroup-v1", "cgroup-v1-container", "cgroup-v2", "cgroup-v2-outside", "cgroup-hybrid"} {
		group, err := os.ReadFile(filepath.Join("testdata", name, "proc", "self", "cgroup"))
		if err != nil {
			f.Fatal(err)
		}
		mounts, err := os.ReadFile(filepath.Join("testdata", name, "proc", "self", "mountinfo"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(group, mounts)
	}
	f.Fuzz(func(t *testing.T, group, mountinfo []byte) {
		groups, err := parseCgroup(group)
		if err != nil {
			return
		}
		mounts, err := parseMountinfo(mountinfo)
		if err != nil {
			return
		}
		for _, g := range groups {
			for _, m := range mounts {
				if !filepath.IsAbs(m.point) {
					continue
				}
				for _, file := range limitDirs(g, []mount{m}, "memory") {
					if rel, err := filepath.Rel(m.point, file); err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
						t.Errorf("%s is not below %s", file, m.point)
					}
				}
			}
		}
	})
}

func TestCPUQuota(t *testing.T) {
	const (
		v1Mount = "30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
		v2Mount = "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	)
	for name, c := range map[string]struct {
		mounts, groups string
		files          map[string]string
		want           float64 // 0 for none
		err            string
	}{
		"v1": {v1Mount, "9:cpu,cpuacct:/a/b\n4:memory:/a\n", map[string]string{
			"cpu/a/b/cpu.cfs_quota_us": "-1\n", "cpu/a/b/cpu.cfs_period_us": "100000\n",
			"cpu/a/cpu.cfs_quota_us": "150000\n", "cpu/a/cpu.cfs_period_us": "100000\n",
			"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1.5, ""},
		"v1, the host's path": {strings.Replace(v1Mount, " / ", " /docker/7 ", 1), "9:cpu,cpuacct:/elsewhere\n", map[string]string{
			"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 0.5, ""},
		"v2, the parent's is less": {v2Mount, "0::/a/b\n", map[string]string{
			"a/b/cpu.max": "200000 100000\n", "a/cpu.max": "10000 20000\n"}, 0.5, ""},
		"v2, none":   {v2Mount, "0::/a/b\n", map[string]string{"a/b/cpu.max": "max 100000\n"}, 0, ""},
		"v2, broken": {v2Mount, "0::/a\n", map[string]string{"a/cpu.max": "much\n"}, 0, "want a quota and a period"},
		"v2, zero":   {v2Mount, "0::/a\n", map[string]string{"a/cpu.max": "0 100000\n"}, 0, "above 0"},
		"v1, broken": {v1Mount, "9:cpu:/a\n", map[string]string{"cpu/a/cpu.cfs_quota_us": "much\n"}, 0, "invalid syntax"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, "proc/self/mountinfo", c.mounts)
			write(t, root, "proc/self/cgroup", c.groups)
			for file, text := range c.files {
				write(t, root, "sys/fs/cgroup/"+file, text)
			}
			got, ok, err := New(root).CPUQuota(0)
			if got != c.want || ok != (c.want != 0) || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("CPUQuota = %v, %v, %v", got, ok, err)
			}
		})
	}
}
