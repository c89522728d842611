package inspect

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

func vma(start, end uint64, perms, name string) procmem.VMA {
	return procmem.VMA{Start: start, End: end, Read: perms[0] == 'r', Write: perms[1] == 'w', Exec: perms[2] == 'x',
		Shared: perms[3] == 's', Name: name}
}

func TestClassify(t *testing.T) {
	const p = 4096
	file := vma(20*p, 30*p, "rw-p", "/usr/lib/x.so")
	file.Inode = 7
	all := []procmem.VMA{
		vma(10*p, 20*p, "rw-p", ""),       // in the heap below
		file,                              //
		vma(40*p, 50*p, "rw-p", "[heap]"), // brk
		vma(50*p, 51*p, "---p", ""),       // a guard
		vma(51*p, 99*p, "rw-p", ""),       // and its stack
		vma(100*p, 164*p, "---p", ""),     // too much for a guard
		vma(164*p, 170*p, "rw-p", ""),     //
		vma(180*p, 190*p, "rw-p", "[anon: mine]"),
		vma(200*p, 210*p, "rw-p", "[stack]"),
		vma(210*p, 212*p, "r-xp", "[vdso]"),
		vma(220*p, 230*p, "rw-s", ""),
		vma(230*p, 240*p, "rwxp", ""), // of a compiler at run time
	}
	want := []Kind{GoHeap, File, Anonymous, Anonymous, Stack, Anonymous, Anonymous, Anonymous, Stack, File, File, Anonymous}
	heap := []page.Range{{Start: 10 * p, End: 20 * p}}
	for i := range all {
		if got := classify(all, i, heap, p); got != want[i] {
			t.Errorf("%+v: %v, want %v", all[i], got, want[i])
		}
	}
}

func TestSummarize(t *testing.T) {
	size := uint64(page.HugeSize())
	if size == 0 {
		t.SkipNow() // no huge pages: nothing to sum up
	}
	at := func(i int) page.Range {
		return page.Range{Start: uintptr(i) * uintptr(size), End: uintptr(i+1) * uintptr(size)}
	}
	eighth := size / 8
	windows := []page.Window{
		{Range: at(1), Resident: size, Huge: size},
		{Range: at(2), Resident: size},
		{Range: at(3), Resident: 7 * eighth},
		{Range: at(4), Resident: eighth},
		{Range: at(5), Resident: size}, // advised against
		{Range: at(6), Swapped: size},  // nothing is left
		{Range: at(7), Resident: size, HugeUnknown: true},
	}
	got := Summarize(windows, 77, 0.8, []page.Range{at(0), at(5)})
	want := Windows{
		Size: size, Count: 6, Huge: 1, HugeUnknown: 1, Dense: 3, Sparse: 1, OptedOut: 1,
		Density:  [Bins]int{0, 1, 0, 0, 0, 0, 0, 0, 1, 3},
		Resident: 77 + 5*size, HugeSize: size, Cut: 77, Gain: 3 * size, Fill: eighth,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%+v, want\n%+v", got, want)
	}
	if c := got.Coverage(); c < 0.19 || c > 0.2 {
		t.Errorf("coverage %v", c)
	}
	if c := (Windows{}).Coverage(); c != 0 {
		t.Errorf("coverage of nothing: %v", c)
	}
}

func TestOverlap(t *testing.T) {
	ranges := []page.Range{{Start: 10, End: 20}, {Start: 30, End: 40}}
	for _, c := range []struct {
		r    page.Range
		want bool
	}{
		{page.Range{Start: 0, End: 10}, false}, {page.Range{Start: 0, End: 11}, true}, {page.Range{Start: 19, End: 21}, true},
		{page.Range{Start: 20, End: 30}, false}, {page.Range{Start: 20, End: 31}, true}, {page.Range{Start: 40, End: 50}, false},
	} {
		if got := Overlap(ranges, c.r); got != c.want {
			t.Errorf("%v: %v", c.r, got)
		}
	}
	if Overlap(nil, page.Range{Start: 1, End: 2}) {
		t.Error("overlaps nothing")
	}
}

func TestHazards(t *testing.T) {
	none := page.WindowSize()/page.Size() - 1
	thp := func(enabled, defrag string) procmem.THP {
		return procmem.THP{Present: true, Enabled: procmem.Choice{Selected: enabled},
			Defrag: procmem.Choice{Selected: defrag}, MaxPtesNone: &none}
	}
	s := &System{FS: procmem.New(t.TempDir())}
	for _, c := range []struct {
		name  string
		p     Process
		means string
		want  int
	}{
		{"no THP", Process{}, "no transparent huge pages", 1},
		{"calm", Process{Policy: Policy{System: thp("madvise", "madvise"), Advised: new(uint64(0))}}, "this program has none", 0},
		{"advised", Process{Policy: Policy{System: thp("madvise", "madvise"), Advised: new(uint64(1))}}, "this program has some", 2},
		{"not read", Process{Policy: Policy{System: thp("madvise", "madvise")}}, "is unknown", 0},
		{"always", Process{Policy: Policy{System: thp("always", "always")}}, "all memory", 2},
		{"never", Process{Policy: Policy{System: thp("never", "madvise")}}, "no memory gets huge pages, unless", 0},
		{"off", Process{Policy: Policy{System: thp("madvise", "madvise"), Allowed: new(false)}}, "none for this", 1},
		{"against, swap", Process{Policy: Policy{System: thp("madvise", "madvise"), Against: new(uint64(4096))}, Swapped: new(uint64(1))}, "", 2},
		{"sparse", Process{Policy: Policy{System: thp("madvise", "madvise")}, Windows: &Windows{Count: 10, Sparse: 9, Resident: 100}}, "", 1},
	} {
		if got := s.hazards(&c.p); len(got) != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
		if got := c.p.Policy.Means(); !strings.Contains(got, c.means) {
			t.Errorf("%s: means %q", c.name, got)
		}
	}
}

func TestLimit(t *testing.T) {
	// A cgroup of version 1, whose page cache counts as free.
	s := &System{FS: group(t, "1000\n", "900\n", "total_inactive_file 300\n")}
	want := Limit{Dir: "/sys/fs/cgroup/memory/job", Bytes: 1000, Used: 900, Cache: 300}
	if l := s.limit(1); l == nil || *l != want || l.Left() != 400 {
		t.Errorf("%+v", l)
	}
	s = &System{FS: group(t, "9223372036854771712\n", "900\n", "")}
	if l := s.limit(1); l != nil {
		t.Errorf("no limit: %+v", l)
	}
}

// group is a root with a memory cgroup that process 1 is in.
func group(t *testing.T, limit, usage, stat string) procmem.FS {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"proc/1/cgroup":       "4:memory:/job\n",
		"proc/self/mountinfo": "30 1 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
		"sys/fs/cgroup/memory/job/memory.limit_in_bytes": limit,
		"sys/fs/cgroup/memory/job/memory.usage_in_bytes": usage,
		"sys/fs/cgroup/memory/job/memory.stat":           stat,
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return procmem.New(root)
}
