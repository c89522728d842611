package charge

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A fake is a machine of plain files.
type fake struct {
	t    testing.TB
	root string
	// What of the machine is not a file.
	processes map[int]*inspect.Process
	mounted   map[string]uint64 // by the end of a path
	files     map[string]uint64
}

func newFake(t testing.TB, dir string) *fake {
	f := &fake{t: t, root: dir, processes: make(map[int]*inspect.Process), mounted: make(map[string]uint64), files: make(map[string]uint64)}
	f.file("proc/meminfo", "MemTotal: 8388608 kB\nSwapTotal: 0 kB\n")
	f.file("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n31 1 0:42 / /dev/shm rw - tmpfs shm rw\n")
	f.file("proc/self/cgroup", "0::/own\n")
	return f
}

func (f *fake) file(name, text string) {
	f.t.Helper()
	path := filepath.Join(f.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// group writes a cgroup of version 2.
func (f *fake) group(name, procs string, current uint64, stat string) {
	f.file("sys/fs/cgroup/"+name+"/cgroup.procs", procs)
	f.file("sys/fs/cgroup/"+name+"/memory.current", fmt.Sprintln(current))
	f.file("sys/fs/cgroup/"+name+"/memory.max", "max\n")
	f.file("sys/fs/cgroup/"+name+"/memory.stat", stat)
}

// process adds a process: its parts in MiB.
func (f *fake) process(pid int, status string, parts map[waterfall.Kind]int64) {
	f.file(fmt.Sprintf("proc/%d/status", pid), fmt.Sprintf("Pid: %d\n%s", pid, status))
	f.file(fmt.Sprintf("proc/%d/stat", pid), fmt.Sprintf("%d (p%d) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", pid, pid))
	p := &inspect.Process{PID: pid}
	if parts != nil {
		p.Waterfall = &waterfall.Waterfall{GC: &waterfall.GC{}}
		for k := range waterfall.Kinds {
			if n := parts[k]; n != 0 {
				p.Waterfall.Parts = append(p.Waterfall.Parts, waterfall.Part{Kind: k, Bytes: n << 20})
			}
		}
	} else {
		p.Notes = []string{"its parts may not be seen"}
	}
	f.processes[pid] = p
}

func (f *fake) Mounted(path string, _ uint64) (uint64, bool) {
	for end, n := range f.mounted {
		if strings.HasSuffix(path, end) {
			return n, true
		}
	}
	return 0, false
}

func (f *fake) File(path string) (FileID, uint64, bool) {
	n, ok := f.files[path[len(f.root):]]
	return FileID{1, n}, n, ok
}

// residency is of a process that has all of a mapping in memory but for its first page.
type residency struct{}

func (residency) Residency(r page.Range, o *page.ResidencyOptions) (page.Residency, error) {
	r.Start += 4096
	o.Runs(r)
	return page.Residency{Resident: uint64(r.Len())}, nil
}

func (residency) Close() error { return nil }

func (f *fake) read(name string) *Charge {
	f.t.Helper()
	fs := procmem.New(f.root).WithPageSize(4096)
	g, err := Find(fs, name)
	if err != nil {
		f.t.Fatal(err)
	}
	s := &Source{FS: fs, Group: g, Holds: f, Now: func() time.Time { return time.Unix(1, 0) },
		Pages: func(int) (Pages, error) { return residency{}, nil },
		Process: func(pid int) (*inspect.Process, error) {
			if p := f.processes[pid]; p != nil {
				return p, nil
			}
			return nil, procmem.ErrNoProcess
		}}
	c, err := s.Read()
	if err != nil {
		f.t.Fatal(err)
	}
	if got := c.Sum() + c.Unexplained - c.Excess; got != c.Usage || c.Unexplained > 0 && c.Excess > 0 {
		f.t.Errorf("the parts have %d, with the rest %d of %d", c.Sum(), got, c.Usage)
	}
	return c
}

// parts are those of a charge in MiB, with whether they come back.
func parts(c *Charge) map[Kind]string {
	out := make(map[Kind]string)
	for _, p := range c.Parts {
		out[p.Kind] = fmt.Sprintf("%d %s", p.Bytes>>20, p.Back)
	}
	if c.Unexplained > 0 {
		out["unexplained"] = fmt.Sprint(c.Unexplained >> 20)
	}
	if c.Excess > 0 {
		out["excess"] = fmt.Sprint(c.Excess >> 20)
	}
	return out
}

func (f *fake) want(c *Charge, want map[Kind]string) {
	f.t.Helper()
	if got := parts(c); !reflect.DeepEqual(got, want) {
		f.t.Errorf("got  %v\nwant %v", got, want)
	}
}

// stat is a memory.stat of MiB.
func stat(pairs ...any) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, "%s %d\n", pairs[i], pairs[i+1].(int)<<20)
	}
	return b.String()
}

const mb = 1 << 20

// A container of version 2 that has some of everything.
func TestVersion2(t *testing.T) {
	f := newFake(t, t.TempDir())
	f.group("pod/app", "10\n11\n", 1000*mb, stat("anon", 300, "file", 400, "kernel", 60, "kernel_stack", 2, "pagetables", 3, "percpu", 4, "vmalloc", 5,
		"sock", 6, "shmem", 100, "file_mapped", 120, "file_dirty", 7, "file_writeback", 1, "inactive_anon", 500, "active_anon", 80, "inactive_file", 180,
		"active_file", 90, "unevictable", 30, "slab_reclaimable", 20, "slab_unreclaimable", 16))
	f.file("sys/fs/cgroup/pod/cgroup.procs", "")
	f.file("sys/fs/cgroup/pod/memory.current", "1048576000\n")
	f.file("sys/fs/cgroup/pod/memory.max", "2147483648\n")
	f.file("sys/fs/cgroup/pod/memory.stat", "anon 0\nfile 0\n")
	f.process(10, "VmRSS: 409600 kB\nRssAnon: 194560 kB\nRssFile: 92160 kB\nRssShmem: 0 kB\nThreads: 9\n",
		map[waterfall.Kind]int64{waterfall.Live: 100, waterfall.Since: 50, waterfall.Malloc: 40, waterfall.Changed: -3, waterfall.Text: 10, waterfall.Files: 50, waterfall.Uncharged: 30})
	f.process(11, "VmRSS: 102400 kB\nRssAnon: 81920 kB\nRssFile: 20480 kB\nRssShmem: 0 kB\nThreads: 1\n", nil)
	f.process(12, "VmRSS: 1048576 kB\nRssAnon: 1048576 kB\n", map[waterfall.Kind]int64{waterfall.Live: 1024}) // of another cgroup
	c := f.read("app")
	f.want(c, map[Kind]string{
		"go_live": "100 no", "go_since": "50 no", "malloc": "40 no", Undivided: "80 no", Elsewhere: "30 no",
		Unsplit: "180 yes", SharedUnmapped: "100 no", CacheInactive: "180 yes", CacheActive: "90 yes", CacheLocked: "30 partly",
		Reclaimable: "20 yes", Unreclaimable: "16 no", KernelStacks: "2 no", PageTables: "3 no", PerCPU: "4 no", Vmalloc: "5 no", Sockets: "6 no", KernelOther: "10 partly",
		"unexplained": "54",
	})
	if c.Limit == nil || *c.Limit != 2<<30 || c.Dir != "/sys/fs/cgroup/pod/app" || !c.Unified || *c.Dirty != 7*mb || *c.Mapped != 120*mb || c.Swap != nil {
		t.Errorf("%+v", c)
	}
	// 30 of 90 MiB are a ring; the kernel counts 120 MiB of charged files as mapped.
	if want := []Apart{{ApartRings, 30 * mb}}; !reflect.DeepEqual(c.Apart, want) {
		t.Errorf("apart: %+v", c.Apart)
	}
	if len(c.Processes) != 2 || c.Processes[0].PID != 10 || c.Processes[1].Why != "its parts may not be seen" || len(c.Notes) != 1 ||
		c.Notes[0] != "1 of 2 processes could not be read as a whole: process 11: its parts may not be seen" {
		t.Errorf("%+v, %q", c.Processes, c.Notes)
	}
}

// As in production: 2.4 GiB charged at 0.2 GiB of RSS.
func TestUnsplit(t *testing.T) {
	f := newFake(t, t.TempDir())
	f.group("app", "10\n", 2458*mb, stat("anon", 200, "file", 10, "kernel", 8, "inactive_anon", 2440, "active_anon", 0, "inactive_file", 10, "active_file", 0, "unevictable", 0, "shmem", 0))
	f.process(10, "VmRSS: 204800 kB\nRssAnon: 204800 kB\nRssFile: 0 kB\nRssShmem: 0 kB\n", map[waterfall.Kind]int64{waterfall.Live: 150, waterfall.Free: 50})
	f.want(f.read("app"), map[Kind]string{"go_live": "150 no", "go_free": "50 no", Unsplit: "2240 yes", CacheInactive: "10 yes", KernelOther: "8 partly"})
	// Since Linux 6.12 the kernel says how many huge pages are mapped in part: the rest is pinned.
	f.file("sys/kernel/mm/transparent_hugepage/hugepages-2048kB/stats/nr_anon_partially_mapped", "1000\n")
	f.want(f.read("app"), map[Kind]string{"go_live": "150 no", "go_free": "50 no", Unsplit: "2000 yes", Unmapped: "240 partly", CacheInactive: "10 yes", KernelOther: "8 partly"})
}

// What is charged here cannot be told from what is charged elsewhere: the parts of processes are
// upper bounds.
func TestMoreThanIsCharged(t *testing.T) {
	f := newFake(t, t.TempDir())
	f.group("app", "10\n", 60*mb, stat("anon", 50, "file", 10, "kernel", 0, "inactive_anon", 50, "active_anon", 0, "inactive_file", 10, "active_file", 0, "shmem", 0, "file_mapped", 4))
	f.process(10, "VmRSS: 204800 kB\nRssAnon: 184320 kB\nRssFile: 20480 kB\nRssShmem: 0 kB\n", map[waterfall.Kind]int64{waterfall.Live: 150, waterfall.Malloc: 30, waterfall.Text: 20})
	c := f.read("app")
	f.want(c, map[Kind]string{OfProcesses: "50 no", CacheInactive: "10 yes"})
	if want := []waterfall.Share{{Name: "live heap after the last GC", Bytes: 50 * mb}, {Name: "malloc of the C library", Bytes: 30 * mb}}; !reflect.DeepEqual(c.Parts[0].Of, want) {
		t.Errorf("%+v", c.Parts[0].Of)
	}
	if want := []Apart{{ApartAnonymous, 130 * mb}, {ApartFiles, 16 * mb}}; !reflect.DeepEqual(c.Apart, want) {
		t.Errorf("apart: %+v", c.Apart)
	}
}

// Shared memory: two processes that map one file, a mount that has more, a memfd, a segment.
func TestSharedOfFake(t *testing.T) {
	f := newFake(t, t.TempDir())
	f.group("app", "10\n11\n", 200*mb, stat("anon", 0, "file", 200, "kernel", 0, "inactive_anon", 200, "active_anon", 0, "inactive_file", 0, "active_file", 0, "shmem", 200, "file_mapped", 12))
	for _, pid := range []int{10, 11} {
		f.process(pid, "VmRSS: 8192 kB\nRssAnon: 0 kB\nRssFile: 0 kB\nRssShmem: 8188 kB\n", map[waterfall.Kind]int64{waterfall.Shared: 8})
		f.file(fmt.Sprintf("proc/%d/mountinfo", pid), "1 0 0:42 / /dev/shm rw - tmpfs shm rw\n2 0 0:43 / /cache rw - tmpfs c rw\n")
		if err := errors.Join(os.Mkdir(filepath.Join(f.root, fmt.Sprintf("proc/%d/ns", pid)), 0o755), os.Mkdir(filepath.Join(f.root, fmt.Sprintf("proc/%d/fd", pid)), 0o755),
			os.Symlink("mnt:[7]", filepath.Join(f.root, fmt.Sprintf("proc/%d/ns/mnt", pid))), os.Symlink("/memfd:x (deleted)", filepath.Join(f.root, fmt.Sprintf("proc/%d/fd/3", pid)))); err != nil {
			t.Fatal(err)
		}
		f.files[fmt.Sprintf("/proc/%d/fd/3", pid)] = 10 * mb // one file of both
	}
	// The second one maps the second half of what the first one does, and as much again.
	f.file("proc/10/maps", "7f0000000000-7f0000800000 rw-s 00000000 00:2a 5 /dev/shm/x\n7f1000000000-7f1000800000 r--p 00000000 fe:01 9 /lib/x\n")
	f.file("proc/11/maps", "7f0000000000-7f0000800000 rw-s 00400000 00:2a 5 /dev/shm/x\n")
	f.file("proc/sysvipc/shm", "key shmid\n 0 3 600 4194304 100 100 0 0 0 0 0 0 0 1795858000 2097152 0\n 0 4 600 4194304 100 100 1 0 0 0 0 0 0 1795858000 2097152 0\n")
	f.mounted["10/root/dev/shm"], f.mounted["10/root/cache"] = 32*mb, 150*mb
	c := f.read("app")
	const first, union = 4096, 12*mb - 4096 // the second one's first page is in what the first one maps
	m, u := c.Part(SharedMapped), c.Part(SharedUnmapped)
	if m.Bytes != union || u.Bytes != 200*mb-union {
		t.Errorf("mapped %d, not mapped %d", m.Bytes, u.Bytes)
	}
	want := []waterfall.Share{{Name: "/cache", Bytes: 150 * mb}, {Name: "/dev/shm", Bytes: 32*mb - union}, {Name: "/memfd:x, open in process 10", Bytes: 10 * mb},
		{Name: "System V segment 3, of no process", Bytes: 2 * mb}}
	if !reflect.DeepEqual(u.Of, want) {
		t.Errorf("%+v\nwant %+v", u.Of, want)
	}
	if want := []Apart{{ApartShared, 2*(8*mb-first) - union}}; !reflect.DeepEqual(c.Apart, want) {
		t.Errorf("apart: %+v, want %+v", c.Apart, want)
	}
}

// With swap, anonymous memory goes there; a page that came back may be in both.
func TestSwap(t *testing.T) {
	f := newFake(t, t.TempDir())
	f.file("proc/meminfo", "MemTotal: 8388608 kB\nSwapTotal: 1048576 kB\n")
	f.group("app", "", 130*mb, stat("anon", 100, "file", 30, "kernel", 0, "inactive_anon", 110, "active_anon", 0, "inactive_file", 20, "active_file", 0, "shmem", 0, "swapcached", 10))
	f.file("sys/fs/cgroup/app/memory.swap.current", "5242880\n")
	c := f.read("app")
	f.want(c, map[Kind]string{Elsewhere: "100 swap", SwapCache: "10 yes", CacheInactive: "20 yes"})
	if c.Swap == nil || *c.Swap != 5*mb {
		t.Errorf("swap: %v", c.Swap)
	}
	f.file("sys/fs/cgroup/app/memory.swap.max", "0\n") // as Kubernetes has it
	if c := f.read("app"); c.Parts[0].Back != No {
		t.Errorf("%+v", c.Parts[0])
	}
}

// Pages that MADV_FREE freed are listed with files.
func TestLazyFree(t *testing.T) {
	f := newFake(t, t.TempDir())
	f.group("app", "", 130*mb, stat("anon", 100, "file", 30, "kernel", 0, "inactive_anon", 60, "active_anon", 0, "inactive_file", 60, "active_file", 10, "shmem", 0))
	c := f.read("app")
	f.want(c, map[Kind]string{Elsewhere: "100 no", CacheInactive: "20 yes", CacheActive: "10 yes"})
	if c.LazyFree != 40*mb {
		t.Errorf("%d", c.LazyFree)
	}
}

// Version 1, of which the kernel's own memory is one figure.
func TestVersion1(t *testing.T) {
	f := newFake(t, t.TempDir())
	f.file("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n")
	f.file("proc/self/cgroup", "4:memory:/own\n")
	dir := "sys/fs/cgroup/memory/app/"
	for name, text := range map[string]string{
		"cgroup.procs": "10\n", "memory.usage_in_bytes": fmt.Sprintln(100 * mb), "memory.kmem.usage_in_bytes": fmt.Sprintln(10 * mb),
		"memory.kmem.tcp.usage_in_bytes": fmt.Sprintln(mb), "memory.limit_in_bytes": fmt.Sprintln(200 * mb),
		"memory.stat": stat("total_rss", 60, "total_cache", 20, "total_shmem", 0, "total_inactive_anon", 60, "total_active_anon", 8, "total_inactive_file", 20,
			"total_active_file", 0, "total_swap", 0, "total_mapped_file", 0, "rss", 1),
	} {
		f.file(dir+name, text)
	}
	f.process(10, "VmRSS: 61440 kB\nRssAnon: 61440 kB\nRssFile: 0 kB\nRssShmem: 0 kB\nThreads: 64\nVmPTE: 2048 kB\n", map[waterfall.Kind]int64{waterfall.Heap: 60})
	f.file("proc/10/cgroup", "4:memory:/app\n")
	for _, name := range []string{"app", "/app", "10"} {
		c := f.read(name)
		f.want(c, map[Kind]string{"go_heap": "60 no", Unsplit: "8 yes", CacheInactive: "20 yes", KernelStacks: "1 no", PageTables: "2 no", KernelOther: "7 partly", "unexplained": "2"})
		if c.Unified || c.TCP == nil || *c.TCP != mb || *c.Limit != 200*mb || c.Dir != "/sys/fs/cgroup/memory/app" {
			t.Errorf("%+v", c)
		}
	}
}

// A process in a cgroup without the memory controller is charged to the one above.
func TestOfProcessWithoutController(t *testing.T) {
	f := newFake(t, t.TempDir())
	f.group("app", "", 7, "anon 0\n")
	f.file("sys/fs/cgroup/app/init/cgroup.procs", "10\n")
	f.file("sys/fs/cgroup/other/cgroup.procs", "11\n")
	f.file("proc/10/cgroup", "0::/app/init\n")
	f.file("proc/11/cgroup", "0::/other\n")
	fs := procmem.New(f.root)
	if g, err := OfProcess(fs, 10); err != nil || g.Dir != filepath.Join(f.root, "sys/fs/cgroup/app") {
		t.Errorf("%+v, %v", g, err)
	}
	if g, err := OfProcess(fs, 11); !errors.Is(err, ErrNotCounted) {
		t.Errorf("%+v, %v", g, err)
	}
}

// The root of version 1 adds up what is mapped and the page cache alone.
func TestRootOfVersion1(t *testing.T) {
	f := newFake(t, t.TempDir())
	f.file("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n")
	f.file("proc/self/cgroup", "4:memory:/\n")
	for name, text := range map[string]string{
		"cgroup.procs": "", "release_agent": "", "memory.usage_in_bytes": fmt.Sprintln(80 * mb), "memory.kmem.usage_in_bytes": fmt.Sprintln(10 * mb),
		"memory.stat": stat("total_rss", 60, "total_cache", 20, "total_shmem", 0, "total_inactive_anon", 70, "total_active_anon", 0, "total_inactive_file", 20, "total_active_file", 0),
	} {
		f.file("sys/fs/cgroup/memory/"+name, text)
	}
	c := f.read("/")
	f.want(c, map[Kind]string{Elsewhere: "60 no", CacheInactive: "20 yes"})
	if len(c.Notes) != 1 {
		t.Errorf("%q", c.Notes)
	}
}

func TestFindInFake(t *testing.T) {
	f := newFake(t, t.TempDir())
	f.group("a/orders.service", "", 0, "anon 0\n")
	f.group("a/docker-0123456789abcdef.scope", "", 0, "anon 0\n")
	f.group("b/docker-01234567ffffffff.scope", "", 0, "anon 0\n")
	f.group("b/twice", "", 0, "anon 0\n")
	f.group("a/twice", "", 0, "anon 0\n")
	f.file("sys/fs/cgroup/a/cgroup.procs", "")
	fs := procmem.New(f.root)
	for name, want := range map[string]string{"orders": "a/orders.service", "orders.service": "a/orders.service", "0123456789ab": "a/docker-0123456789abcdef.scope", "/a/twice": "a/twice"} {
		if g, err := Find(fs, name); err != nil || g.Dir != filepath.Join(f.root, "sys/fs/cgroup", want) {
			t.Errorf("%s: %+v, %v", name, g, err)
		}
	}
	for name, want := range map[string]string{"": "no such cgroup", "none": "no such cgroup", "0": "no such cgroup", "01234567": "2 cgroups have that name", "twice": "2 cgroups have that name",
		"/a": "it has neither memory.current nor memory.usage_in_bytes", "/a/none": "no such cgroup"} {
		if g, err := Find(fs, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %s", name, g, err, want)
		}
	}
	if dir, err := Directory(fs, "/a"); err != nil || dir != filepath.Join(f.root, "sys/fs/cgroup/a") { // it counts no memory
		t.Errorf("%s, %v", dir, err)
	}
}

// Whatever the kernel says, the parts and the rest add up, and none is below 0.
func TestPartsProperty(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		f := newFake(t, root)
		var pairs []any
		for _, name := range []string{"anon", "file", "kernel", "kernel_stack", "pagetables", "percpu", "vmalloc", "sock", "shmem", "file_mapped", "inactive_anon", "active_anon",
			"inactive_file", "active_file", "unevictable", "slab_reclaimable", "slab_unreclaimable", "swapcached", "zswap", "hugetlb"} {
			if rapid.Bool().Draw(rt, "has "+name) {
				pairs = append(pairs, name, rapid.IntRange(0, 1000).Draw(rt, name))
			}
		}
		current := uint64(rapid.IntRange(0, 3000).Draw(rt, "current")) * mb
		f.group("app", "10\n", current, stat(pairs...))
		anon, shared := rapid.IntRange(0, 1000).Draw(rt, "rss"), rapid.IntRange(0, 1000).Draw(rt, "shared")
		f.process(10, fmt.Sprintf("VmRSS: %d kB\nRssAnon: %d kB\nRssShmem: %d kB\n", (anon+shared)<<10, anon<<10, shared<<10), map[waterfall.Kind]int64{
			waterfall.Live: int64(anon), waterfall.Changed: int64(rapid.IntRange(-50, 50).Draw(rt, "changed"))})
		c := f.read("app") // checks the sum
		for _, p := range c.Parts {
			if p.Bytes == 0 || p.Bytes > 1<<40 || p.Back == "" || p.Kind.Title() == string(p.Kind) {
				rt.Fatalf("%+v", p)
			}
		}
		if c.Usage != current {
			rt.Fatalf("%d of %d", c.Usage, current)
		}
	})
}
