package page

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/feature"
)

// on fails one call, or all from there on if nth is negative.
func on(call string, advice, nth int, err error) func(string, int, int) error {
	return func(c string, a, n int) error {
		if c == call && a == advice && (n == nth || nth < 0) {
			return err
		}
		return nil
	}
}

const hugeSizeHere = 2 << 20

// TestErrorsSayWhatToDo injects what a kernel can answer, and looks at what the
// user sees.
func TestErrorsSayWhatToDo(t *testing.T) {
	manyMaps := strings.Repeat("1000-2000 rw-p 00000000 00:00 0\n", 98)
	files := map[string]string{
		"proc/sys/vm/max_map_count":     "100\n",
		"proc/self/maps":                "1000-2000 rw-p 00000000 00:00 0\n",
		"proc/self/statm":               "1000 1 1 1 0 1 0\n",
		"proc/sys/vm/overcommit_memory": "1\n",
		"proc/meminfo":                  "MemTotal: 1048576 kB\nSwapTotal: 0 kB\nHugepagesize: 2048 kB\n",
		thpDir + "/enabled":             "always [madvise] never\n",
		poolDir(hugetlbDir, hugeSizeHere) + "/nr_hugepages":            "5\n",
		poolDir(hugetlbDir, hugeSizeHere) + "/free_hugepages":          "2\n",
		poolDir(hugetlbDir, hugeSizeHere) + "/resv_hugepages":          "1\n",
		poolDir(hugetlbDir, hugeSizeHere) + "/surplus_hugepages":       "0\n",
		poolDir(hugetlbDir, hugeSizeHere) + "/nr_overcommit_hugepages": "0\n",
		poolDir(hugetlbDir, 1<<30) + "/nr_hugepages":                   "0\n",
	}
	with := func(name, text string) map[string]string {
		all := map[string]string{}
		for k, v := range files {
			all[k] = v
		}
		all[name] = text
		return all
	}
	page := os.Getpagesize()
	thp := &Options{Kind: THP}
	for _, c := range []struct {
		name  string
		size  int
		o     *Options
		fail  func(string, int, int) error
		files map[string]string
		lim   map[int]uint64
		is    error
		want  []string
	}{
		{"no memory", page, nil, on("mmap", 0, 0, unix.ENOMEM), files, nil, unix.ENOMEM, []string{"map less"}},
		{"max_map_count", page, nil, on("mmap", 0, 0, unix.ENOMEM), with("proc/self/maps", manyMaps), nil, unix.ENOMEM,
			[]string{"98 mappings", "sudo sysctl -w vm.max_map_count=200"}},
		{"RLIMIT_AS", page, nil, on("mmap", 0, 0, unix.ENOMEM), files, map[int]uint64{unix.RLIMIT_AS: 1 << 20},
			unix.ENOMEM, []string{"RLIMIT_AS", "1MiB", "ulimit -v"}},
		{"RLIMIT_AS not reached", page, nil, on("mmap", 0, 0, unix.ENOMEM), files,
			map[int]uint64{unix.RLIMIT_AS: 1 << 40}, unix.ENOMEM, []string{"map less"}},
		{"RLIMIT_MEMLOCK", page, nil, on("mmap", 0, 0, unix.EAGAIN), files,
			map[int]uint64{unix.RLIMIT_MEMLOCK: 64 << 10}, unix.EAGAIN, []string{"mlockall", "RLIMIT_MEMLOCK", "64KiB", "ulimit -l"}},
		{"strict overcommit", page, nil, on("mmap", 0, 0, unix.ENOMEM), with("proc/sys/vm/overcommit_memory", "2"), nil,
			unix.ENOMEM, []string{"vm.overcommit_memory is 2", "CommitLimit"}},
		{"more than the machine", 2 << 30 >> (32 - min(32, math.MaxInt>>30)), nil, on("mmap", 0, 0, unix.ENOMEM),
			with("proc/sys/vm/overcommit_memory", "0"), nil, unix.ENOMEM, nil},
		{"forbidden", page, nil, on("mmap", 0, 0, unix.EPERM), files, nil, unix.EPERM, []string{"seccomp"}},
		{"anything else", page, nil, on("mmap", 0, 0, unix.ENODEV), files, nil, unix.ENODEV, []string{"no such device"}},
		{"second try", hugeSizeHere, thp, on("mmap", 0, 1, unix.ENOMEM), files, nil, unix.ENOMEM, []string{"map 2MiB of thp pages"}},
		{"cannot trim", hugeSizeHere, thp, on("munmap", 0, 1, unix.ENOMEM), with("proc/self/maps", manyMaps), nil,
			unix.ENOMEM, []string{"max_map_count"}},
		{"cannot trim the end", hugeSizeHere, thp, on("munmap", 0, 2, unix.ENOMEM), files, nil, unix.ENOMEM, nil},
		{"cannot advise", hugeSizeHere, thp, on("madvise", unix.MADV_HUGEPAGE, -1, unix.ENOMEM),
			with("proc/self/maps", manyMaps), nil, unix.ENOMEM, []string{"max_map_count=200"}},
		{"no advice", hugeSizeHere, thp, on("madvise", unix.MADV_HUGEPAGE, -1, unix.EINVAL), files, nil, unix.EINVAL,
			[]string{"cannot have transparent huge pages"}},
		{"populate: no memory", page, &Options{Commit: Populate, Name: "cache"},
			on("madvise", unix.MADV_POPULATE_WRITE, -1, unix.ENOMEM), files, nil, unix.ENOMEM, []string{`"cache"`, "memory is short"}},
		{"populate: broken memory", page, &Options{Commit: Populate},
			on("madvise", unix.MADV_POPULATE_WRITE, -1, unix.EHWPOISON), files, nil, unix.EHWPOISON, []string{"hardware error"}},
		{"populate: fault", page, &Options{Commit: Populate}, on("madvise", unix.MADV_POPULATE_WRITE, -1, unix.EFAULT),
			files, nil, unix.EFAULT, []string{"cannot be written"}},
		{"populate: forbidden", page, &Options{Commit: Populate},
			on("madvise", unix.MADV_POPULATE_WRITE, -1, unix.EPERM), files, nil, unix.EPERM, []string{"seccomp"}},
		{"pool too small", 3 * hugeSizeHere, &Options{Kind: HugeTLB}, nil, files, nil, unix.ENOMEM,
			[]string{"1 of 5 pages of 2MiB are free", "echo 7 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"}},
		{"pool large enough", hugeSizeHere, &Options{Kind: HugeTLB}, nil, with("proc/self/maps", manyMaps), nil,
			unix.ENOMEM, []string{"max_map_count"}},
		{"hugetlb: invalid", hugeSizeHere, &Options{Kind: HugeTLB}, on("mmap", 0, 0, unix.EINVAL), files, nil,
			unix.EINVAL, []string{"/sys/kernel/mm/hugepages"}},
		{"no such pool", hugeSizeHere, &Options{Kind: HugeTLB, PageSize: 4 << 20}, nil, files, nil, ErrNotSupported,
			[]string{"4MiB", "2MiB, 1GiB"}},
		{"no such thp", hugeSizeHere, &Options{Kind: THP, PageSize: 3}, nil, files, nil, ErrNotSupported, []string{"this kernel has 2MiB"}},
		{"not the base page", page, &Options{PageSize: 2 * page}, nil, files, nil, ErrNotSupported, nil},
	} {
		if c.name == "more than the machine" {
			if math.MaxInt == math.MaxInt32 {
				continue
			}
			c.size, c.want = 1<<31-1, []string{"machine's memory and swap (1.000GiB)", "overcommit_memory=1"}
		}
		t.Run(c.name, func(t *testing.T) {
			f := newFake(page, hugeSizeHere)
			book := &ledger{system: host}
			f.system = book
			f.fail, f.limits, f.root = c.fail, c.lim, writeFiles(t, c.files)
			m, err := mapMemory(f, c.size, c.o)
			if err == nil {
				m.Close()
				t.Fatal("no error")
			}
			if !errors.Is(err, c.is) {
				t.Errorf("%q is no %q", err, c.is)
			}
			for _, want := range append(c.want, "map ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q is more than a line", err)
			}
			if left := book.left(); left != "" {
				t.Errorf("still mapped: %s", left)
			}
		})
	}
}

func TestBadOptions(t *testing.T) {
	for _, c := range []struct {
		size int
		o    *Options
		want string
	}{
		{0, nil, "must be positive"},
		{-1, nil, "must be positive"},
		{math.MinInt, nil, "must be positive"},
		{math.MaxInt, nil, "address space"},
		{math.MaxInt - Size() + 1, nil, "address space"},
		{1, &Options{Kind: -1}, "kind"},
		{1, &Options{Kind: 3}, "kind"},
		{1, &Options{Commit: 4}, "commit"},
		{1, &Options{PageSize: -1}, "not supported"},
		{1, &Options{Name: strings.Repeat("x", 80)}, "Name"},
		{1, &Options{Name: "a]"}, "Name"},
		{1, &Options{Name: "a\n"}, "Name"},
	} {
		m, err := Map(c.size, c.o)
		if err == nil {
			m.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Map(%d, %+v): %v, want an error with %q", c.size, c.o, err, c.want)
		}
	}
}

func TestMoreThanTheAddressSpace(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.SkipNow() // the kernel could give all that an int can say
	}
	for _, kind := range []Kind{Base, THP} {
		if kind == THP && HugeSize() == 0 {
			continue
		}
		_, err := Map(math.MaxInt/2, &Options{Kind: kind, Commit: Populate})
		if !errors.Is(err, unix.ENOMEM) || !strings.Contains(err.Error(), "map less") {
			t.Errorf("%v: %v", kind, err)
		}
	}
}

func TestBadParts(t *testing.T) {
	m := mapped(t, host, 2*Size(), &Options{Name: "part"})
	for _, c := range []struct{ off, n int }{{-1, 1}, {0, -1}, {m.Len() + 1, 0}, {1, m.Len()},
		{math.MaxInt, math.MaxInt}, {m.Len(), 1}, {1, math.MaxInt}} {
		_, releaseErr := m.Release(c.off, c.n, ReleaseDontNeed, nil)
		_, collapseErr := m.Collapse(c.off, c.n, nil)
		for op, err := range map[string]error{"populate": m.Populate(c.off, c.n), "release": releaseErr, "collapse": collapseErr} {
			want := fmt.Sprintf("%s %d bytes at %d of the mapping \"part\" of base pages: not within its %s", op, c.n,
				c.off, unit.Exact(uint64(m.Len())))
			if err == nil || err.Error() != want {
				t.Errorf("%s: %v, want %s", op, err, want)
			}
		}
	}
	if _, err := m.Release(0, 1, 9, nil); err == nil || !strings.Contains(err.Error(), "Release(9)") {
		t.Errorf("an unknown way: %v", err)
	}
	if err := m.Range().Advise(9); err == nil || !strings.Contains(err.Error(), "Advice(9)") {
		t.Errorf("an unknown advice: %v", err)
	}
	for _, w := range []int{1, 3, -1, Size() + 1} {
		if _, err := m.Residency(&ResidencyOptions{Window: w}); err == nil || !strings.Contains(err.Error(), "Window") {
			t.Errorf("a window of %d: %v", w, err)
		}
	}
	for _, d := range []float64{-0.01, 1.01, math.NaN()} {
		if _, err := m.Range().Collapse(&CollapseOptions{MinDensity: d}); err == nil {
			t.Errorf("a density of %v is taken", d)
		}
	}
}

func TestRangesThatAreNotMapped(t *testing.T) {
	r := Range{0, uintptr(Size())} // nobody can map that meanwhile
	if err := r.Advise(AdviseNoHuge); HugeSize() > 0 && !errors.Is(err, unix.ENOMEM) {
		t.Errorf("Advise: %v", err)
	}
	if err := r.Populate(); !errors.Is(err, unix.ENOMEM) && !errors.Is(err, ErrNotSupported) {
		t.Errorf("Populate: %v", err)
	}
	if res, err := r.Residency(nil); err != nil || res.Resident != 0 {
		t.Errorf("Residency: %+v, %v", res, err)
	}
	if n, err := r.Release(ReleaseDontNeed, &ReleaseOptions{Split: true}); !errors.Is(err, unix.ENOMEM) || n != 0 {
		t.Errorf("Release: %d, %v", n, err)
	}
}

func TestOldKernels(t *testing.T) {
	f := newFake(os.Getpagesize(), hugeSizeHere)
	m := mapped(t, f, f.page, nil)
	f.without = []feature.Feature{feature.PopulateWrite, feature.Free, feature.Cold, feature.PageOut, feature.Collapse}
	f.fail = func(call string, advice, nth int) error { return unix.EINVAL }
	for op, err := range map[string]error{
		"5.14": populateRange(f, m.Range(), false),
		"4.5":  releaseRange(f, m.Range(), ReleaseFree, false),
		"5.4":  releaseRange(f, m.Range(), ReleaseCold, false),
		"5.18": releaseRange(f, m.Range(), ReleaseDontNeed, true),
		"6.1":  func() error { _, err := collapseRange(f, m.Range(), nil); return err }(),
	} {
		if !errors.Is(err, ErrNotSupported) || !strings.Contains(err.Error(), "Linux "+op) {
			t.Errorf("%v does not say Linux %s", err, op)
		}
	}
	if err := releaseRange(f, m.Range(), ReleaseDontNeed, false); errors.Is(err, ErrNotSupported) || !errors.Is(err, unix.EINVAL) {
		t.Errorf("ReleaseDontNeed: %v", err)
	}
	f.fail = nil
	f.without = []feature.Feature{feature.PopulateWrite}
	if err := m.Populate(0, 1); err != nil {
		t.Errorf("Commit without MADV_POPULATE_WRITE: %v", err)
	}
	f.fail = on("munmap", 0, -1, unix.ENOMEM)
	if err := m.Close(); !errors.Is(err, unix.ENOMEM) || m.Len() == 0 {
		t.Errorf("Close that fails: %v", err)
	}
	f.fail = nil
}
