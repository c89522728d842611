package procmem

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// group writes the files of a memory cgroup.
func group(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, dir, name, text)
	}
	return dir
}

func TestChargeOfVersion2(t *testing.T) {
	dir := group(t, map[string]string{"memory.current": "1000\n", "memory.swap.current": "7\n", "memory.stat": `anon 100
file 200
kernel 90
kernel_stack 10
pagetables 11
percpu 12
sock 13
vmalloc 14
shmem 50
zswap 3
file_mapped 20
file_dirty 21
file_writeback 22
swapcached 5
inactive_anon 150
active_anon 6
inactive_file 140
active_file 9
unevictable 1
slab_reclaimable 15
slab_unreclaimable 16
`})
	c, err := MemoryGroupAt(dir, true).Charge()
	n := func(v uint64) *uint64 { return &v }
	want := GroupCharge{Usage: 1000, Anonymous: n(100), Cache: n(200), Shared: n(50), SwapCached: n(5), Mapped: n(20), Dirty: n(21), Writeback: n(22),
		ActiveAnon: n(6), InactiveAnon: n(150), ActiveFile: n(9), InactiveFile: n(140), Unevictable: n(1), Kernel: n(90), Reclaimable: n(15), Unreclaimable: n(16),
		Stacks: n(10), PageTables: n(11), PerCPU: n(12), Vmalloc: n(14), Zswap: n(3), Sockets: n(13), Swap: n(7)}
	if err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("%+v, %v", c, err)
	}
	if l := c.Listed(); l == nil || *l != 306 {
		t.Errorf("Listed = %v", l)
	}
}

// Before Linux 5.18 the kernel does not add up its own.
func TestChargeOfOldKernel(t *testing.T) {
	dir := group(t, map[string]string{"memory.current": "1000\n", "memory.stat": "anon 100\nfile 200\nkernel_stack 10\nslab_reclaimable 15\nslab_unreclaimable 16\nsock 1\n"})
	c, err := MemoryGroupAt(dir, true).Charge()
	if err != nil || c.Kernel == nil || *c.Kernel != 41 || c.Swap != nil || c.Hugetlb != nil || c.Listed() != nil {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestChargeOfVersion1(t *testing.T) {
	dir := group(t, map[string]string{"memory.usage_in_bytes": "1000\n", "memory.kmem.usage_in_bytes": "60\n", "memory.kmem.tcp.usage_in_bytes": "2\n", "memory.stat": `cache 1
rss 1
shmem 1
total_cache 200
total_rss 100
total_shmem 50
total_mapped_file 20
total_dirty 21
total_writeback 22
total_swap 8
total_swapcached 4
total_inactive_anon 150
total_active_anon 6
total_inactive_file 140
total_active_file 9
total_unevictable 1
`})
	c, err := MemoryGroupAt(dir, false).Charge()
	n := func(v uint64) *uint64 { return &v }
	want := GroupCharge{Usage: 1000, Anonymous: n(100), Cache: n(200), Shared: n(50), SwapCached: n(4), Mapped: n(20), Dirty: n(21), Writeback: n(22),
		ActiveAnon: n(6), InactiveAnon: n(150), ActiveFile: n(9), InactiveFile: n(140), Unevictable: n(1), Kernel: n(60), Sockets: n(2), Swap: n(8)}
	if err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestChargeErrors(t *testing.T) {
	if _, err := MemoryGroupAt(t.TempDir(), true).Charge(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is no cgroup: %v", err)
	}
	for _, text := range []string{"max\n", "x\n", ""} {
		dir := group(t, map[string]string{"memory.current": text, "memory.stat": "anon 1\n"})
		if c, err := MemoryGroupAt(dir, true).Charge(); err == nil {
			t.Errorf("memory.current %q: %+v", text, c)
		}
	}
	dir := group(t, map[string]string{"memory.current": "1\n", "memory.stat": "anon x\n"})
	if c, err := MemoryGroupAt(dir, true).Charge(); err == nil {
		t.Errorf("anon x: %+v", c)
	}
}

func TestSharedMemory(t *testing.T) {
	root := t.TempDir()
	write(t, root, "proc/7/mountinfo", `1 0 0:1 / / rw - ext4 /dev/a rw
2 1 0:42 / /dev/shm rw - tmpfs shm rw
3 1 0:42 /x /mnt rw - tmpfs shm rw
4 1 0:43 / /dev rw - devtmpfs dev rw
`)
	write(t, root, "proc/sysvipc/shm", `       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime                   rss                  swap
         0          3   600               4194304   100   100      0     0     0     0     0          0          0 1795858000               1048576                     0
       255          4   600                  4096   100   100      2     0     0     0     0          0          0 1795858000                  4096                     0
`)
	write(t, root, "sys/kernel/mm/transparent_hugepage/hugepages-2048kB/stats/nr_anon_partially_mapped", "3\n")
	write(t, root, "sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/nr_anon_partially_mapped", "1\n")
	f := New(root)
	mounts, err := f.Tmpfs(7)
	if want := []Tmpfs{{"/dev/shm", filepath.Join(root, "proc/7/root/dev/shm"), 42}, {"/dev", filepath.Join(root, "proc/7/root/dev"), 43}}; err != nil || !reflect.DeepEqual(mounts, want) {
		t.Errorf("Tmpfs: %+v, %v", mounts, err)
	}
	segments, err := f.Segments()
	if want := []Segment{{3, 0, 1 << 20}, {4, 2, 4096}}; err != nil || !reflect.DeepEqual(segments, want) {
		t.Errorf("Segments: %+v, %v", segments, err)
	}
	if n, ok := f.PartlyMapped(); !ok || n != 6<<20+64<<10 {
		t.Errorf("PartlyMapped: %d, %v", n, ok)
	}
	none := New(t.TempDir())
	if s, err := none.Segments(); s != nil || err != nil {
		t.Errorf("no System V memory: %v, %v", s, err)
	}
	if n, ok := none.PartlyMapped(); ok {
		t.Errorf("a kernel that does not say it: %d", n)
	}
	if _, err := none.Tmpfs(7); !Gone(err) {
		t.Errorf("no such process: %v", err)
	}
}

func TestMemfds(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "proc/7/fd")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for fd, to := range map[string]string{"0": "/dev/null", "3": "/memfd:a b (deleted)"} {
		if err := os.Symlink(to, filepath.Join(dir, fd)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := New(root).Memfds(7)
	if want := []Memfd{{"/memfd:a b", filepath.Join(dir, "3")}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzSegments(f *testing.F) {
	f.Add([]byte("key\n 0 3 600 4194304 100 100 0 0 0 0 0 0 0 1795858000 1048576 0\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if all, err := parseSegments(data); err != nil && all != nil {
			t.Errorf("%v beside %v", all, err)
		}
	})
}
