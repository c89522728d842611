package procmem

import "testing"

// Version 1 tells the limits of levels that cannot be seen, and a limit that is not below the
// memory of the machine limits nothing.
func TestMemoryLimitLevels(t *testing.T) {
	const job, user = "sys/fs/cgroup/memory/user.slice/job/", "sys/fs/cgroup/memory/user.slice/"
	const parts = "total_cache 1\ntotal_rss 2\ntotal_shmem 3\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		bytes uint64
		level string
	}{
		{"the parent's", nil, 1 << 30, "/sys/fs/cgroup/memory/user.slice"},
		{"its own", map[string]string{job + "memory.limit_in_bytes": "1000000\n", job + "memory.stat": parts + "hierarchical_memory_limit 1000000\n"},
			1000000, "/sys/fs/cgroup/memory/user.slice/job"},
		{"hidden", map[string]string{job + "memory.stat": parts + "hierarchical_memory_limit 4000000\n"}, 4000000, "a cgroup above /sys/fs/cgroup/memory"},
		{"nothing hidden", map[string]string{job + "memory.stat": parts + "hierarchical_memory_limit 9223372036854771712\n"}, 1 << 30, "/sys/fs/cgroup/memory/user.slice"},
		{"more than the machine has", map[string]string{"proc/meminfo": "MemTotal: 1048576 kB\n"}, 0, ""},
		{"less than the machine has", map[string]string{"proc/meminfo": "MemTotal: 1048577 kB\n"}, 1 << 30, "/sys/fs/cgroup/memory/user.slice"},
	} {
		got, ok, err := withFiles(t, "cgroup-v1", c.files).MemoryLimit(0)
		if err != nil || ok != (c.bytes > 0) || got.Bytes != c.bytes || got.Level() != c.level {
			t.Errorf("%s: %d of %q, %v, %v; want %d of %q", c.name, got.Bytes, got.Level(), ok, err, c.bytes, c.level)
		}
	}
}

// What the kernel cannot take back is anonymous, shared, or its own.
func TestFixed(t *testing.T) {
	const job = "sys/fs/cgroup/memory/user.slice/job/"
	const main = "sys/fs/cgroup/system.slice/a b.service/main/"
	for _, c := range []struct {
		name, tree string
		files      map[string]string
		want       string
	}{
		{"v1", "cgroup-v1", map[string]string{job + "memory.usage_in_bytes": "1000\n", job + "memory.kmem.usage_in_bytes": "60\n",
			job + "memory.stat": "rss 1\ntotal_cache 400\ntotal_rss 300\ntotal_shmem 100\n"}, "460"},
		{"v1 without the kernel's", "cgroup-v1", map[string]string{job + "memory.stat": "total_cache 400\ntotal_rss 300\ntotal_shmem 100\n"}, "400"},
		{"v1 before Linux 4.16", "cgroup-v1", map[string]string{job + "memory.stat": "total_cache 400\ntotal_rss 300\n"}, "absent"},
		{"v2", "cgroup-v2", map[string]string{main + "memory.current": "1000\n",
			main + "memory.stat": "anon 300\nfile 400\nshmem 100\nkernel 60\nslab_reclaimable 20\nslab 30\n"}, "440"},
		{"v2, read while it shrinks", "cgroup-v2", map[string]string{main + "memory.current": "350\n",
			main + "memory.stat": "anon 300\nfile 400\nshmem 100\nkernel 60\n"}, "350"},
	} {
		groups, err := withFiles(t, c.tree, c.files).MemoryGroups(0)
		if err != nil {
			t.Fatal(err)
		}
		m, err := groups[0].Read()
		if err != nil || have(m.Fixed()) != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, have(m.Fixed()), err, c.want)
		}
	}
}
