//go:build !386 && !arm && !mips && !mipsle

package waterfall

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

const mib = 1 << 20

// A fakeRuntime has a heap of 4 MiB in one arena.
type fakeRuntime struct {
	stats []goruntime.Stats // of each time it is asked
	heap  *goruntime.Heap
	meta  []goruntime.Range
	dead  bool
	err   error
}

func (f *fakeRuntime) Stats() (goruntime.Stats, error) {
	s := f.stats[0]
	if len(f.stats) > 1 {
		f.stats = f.stats[1:]
	}
	return s, f.err
}
func (f *fakeRuntime) Heap() (*goruntime.Heap, error)       { return f.heap, nil }
func (f *fakeRuntime) Metadata() ([]goruntime.Range, error) { return f.meta, nil }
func (f *fakeRuntime) Alive() bool                          { return !f.dead }

// fakePages are ranges that are in memory.
type fakePages []page.Range

func (f fakePages) Residency(r page.Range, o *page.ResidencyOptions) (out page.Residency, err error) {
	in := func(r page.Range) (n uint64) {
		for _, p := range f {
			if from, to := max(p.Start, r.Start), min(p.End, r.End); from < to {
				n += uint64(to - from)
			}
		}
		return n
	}
	out.Resident = in(r)
	for _, p := range f {
		if from, to := max(p.Start, r.Start), min(p.End, r.End); from < to && o != nil && o.Runs != nil {
			o.Runs(page.Range{Start: from, End: to})
		}
	}
	return out, nil
}

// mapping is one of smaps, in kB.
func mapping(start, end uint64, perms, name string, inode int, rss, anonymous uint64) string {
	return fmt.Sprintf("%x-%x %s 00000000 00:00 %d %s\nRss: %d kB\nAnonymous: %d kB\nVmFlags: rd wr\n", start, end, perms, inode, name, rss/1024, anonymous/1024)
}

// kernel makes the files of process 7.
func kernel(t *testing.T, rollup uint64, smaps ...string) procmem.FS {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "proc/7")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{
		"smaps":        strings.Join(smaps, ""),
		"smaps_rollup": fmt.Sprintf("0-1 ---p 0 0 0 [rollup]\nRss: %d kB\n", rollup/1024),
		"status":       "Pid:\t7\nVmRSS:\t1 kB\nVmPTE:\t88 kB\nVmSwap:\t4 kB\nHugetlbPages:\t0 kB\n",
	})
	return procmem.New(root).WithPageSize(4096)
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const arenaAt = 0xc000000000

func TestFake(t *testing.T) {
	const libs, metaAt = 0x7f0000000000, 0x7e0000000000
	heap, err := goruntime.NewHeap([]goruntime.Range{{Start: arenaAt, End: arenaAt + 64*mib}}, []goruntime.Range{{Start: arenaAt, End: arenaAt + 4*mib}})
	if err != nil {
		t.Fatal(err)
	}
	kinds := heap.Pages(goruntime.Range{Start: arenaAt, End: arenaAt + 4*mib})
	for i := range kinds {
		switch {
		case i < 128: // 1 MiB
			kinds[i] = goruntime.ObjectPage + 5
		case i < 192: // 512 KiB
			kinds[i] = goruntime.StackPage
		case i < 208: // 128 KiB
			kinds[i] = goruntime.WorkPage
		case i < 336: // 1 MiB
			kinds[i] = goruntime.ReleasedPage
		}
	}
	heap.Classes = make([]goruntime.Class, 68)
	heap.Classes[5] = goruntime.Class{Size: 48, Spans: 128, Bytes: mib, Objects: 600 << 10}
	stats := goruntime.Stats{Objects: 600 << 10, Unused: 424 << 10, Free: 1408 << 10, Released: mib, Stacks: 512 << 10, Metadata: 2 * mib, Live: 400 << 10, Cycles: 3}
	later := stats
	later.Stacks += 8192
	later.Cycles++
	runtime := &fakeRuntime{stats: []goruntime.Stats{stats, later}, heap: heap, meta: []goruntime.Range{{Start: metaAt, End: metaAt + mib}}}
	fs := kernel(t, 16*mib,
		mapping(0x400000, 0x500000, "r-xp", "/bin/prog", 1, 300<<10, 0),
		mapping(0x500000, 0x600000, "rw-p", "/bin/prog", 1, 200<<10, 60<<10),
		mapping(0x600000, 0x700000, "rw-p", "", 0, 100<<10, 100<<10),
		mapping(0x900000, 0xa00000, "rw-p", "[heap]", 0, 40<<10, 40<<10),
		mapping(arenaAt, arenaAt+64*mib, "rw-p", "", 0, 5*mib, 5*mib),
		mapping(metaAt, metaAt+2*mib, "rw-p", "", 0, 1200<<10, 1200<<10),
		mapping(libs, libs+mib, "rw-p", "", 0, 80<<10, 80<<10), // an arena of glibc
		mapping(libs+mib, libs+64*mib, "---p", "", 0, 0, 0),
		mapping(libs+65*mib, libs+65*mib+4096, "---p", "", 0, 0, 0),
		mapping(libs+65*mib+4096, libs+73*mib, "rw-p", "", 0, 12<<10, 12<<10), // a thread
		mapping(libs+75*mib, libs+76*mib, "rw-p", "[anon: glibc: pthread stack: 42]", 0, 8<<10, 8<<10),
		mapping(libs+80*mib, libs+81*mib, "rw-p", "[anon:cache]", 0, 28<<10, 28<<10),
		mapping(libs+128*mib, libs+192*mib, "rw-p", "[anon: glibc: malloc arena]", 0, 4<<10, 4<<10),
		mapping(libs+90*mib, libs+91*mib, "rw-s", "/dev/shm/x", 9, 16<<10, 0),
		mapping(libs+95*mib, libs+96*mib, "r--p", "/usr/lib/libjemalloc.so.2", 9, 8<<10, 0),
		mapping(0x7ffffff00000, 0x7ffffff20000, "rw-p", "[stack]", 0, 24<<10, 24<<10),
		mapping(0x7ffffff30000, 0x7ffffff32000, "r-xp", "[vdso]", 0, 8<<10, 0),
	)
	pages := fakePages{
		{Start: arenaAt, End: arenaAt + 3*mib}, // of the heap all but 1 MiB of free pages
		{Start: arenaAt + 5*mib, End: arenaAt + 6*mib},
		{Start: metaAt, End: metaAt + 900<<10}, {Start: metaAt + mib, End: metaAt + mib + 300<<10},
	}
	now := time.Unix(0, 0)
	s := &Source{FS: fs, PID: 7, Pages: pages, Runtimes: []Runtime{runtime}, Now: func() time.Time { now = now.Add(time.Millisecond); return now }}
	w, err := s.read()
	if err != nil {
		t.Fatal(err)
	}
	want := map[Kind]int64{
		Live: 400 << 10, Since: 200 << 10, Unused: 424 << 10, Free: 384 << 10, Repopulated: mib, Rounding: mib, Stacks: 512 << 10,
		Metadata: 900<<10 + 128<<10, Data: 160 << 10, Malloc: 124 << 10, ThreadStacks: 44 << 10, Named: 28 << 10, Other: 300 << 10,
		Text: 308 << 10, Files: 148 << 10, Shared: 16 << 10, Changed: mib,
	}
	total := int64(0)
	for k := range Kinds {
		total += want[k]
		if p := w.Part(k); p.Bytes != want[k] {
			t.Errorf("%v: %d, want %d", k, p.Bytes, want[k])
		}
	}
	if uint64(total) != w.RSS || sum(w) != total {
		t.Errorf("RSS %d, parts %d, want %d", w.RSS, sum(w), total)
	}
	if p := w.Part(Stacks); *p.Runtime != 512<<10 || *p.Uncertainty != 8192 || p.How != Read {
		t.Errorf("%+v", p)
	}
	if c := w.Classes; len(c) != 1 || c[0] != (Class{Size: 48, Spans: 128, Bytes: mib, Objects: 600 << 10, Resident: mib, Unused: 424 << 10}) {
		t.Errorf("%+v", c)
	}
	if *w.PageTables != 88<<10 || *w.Swap != 4<<10 || *w.HugeTLB != 0 || *w.Drift != 16*mib-total {
		t.Errorf("%v %v %v %v", *w.PageTables, *w.Swap, *w.HugeTLB, *w.Drift)
	}
	if fmt.Sprint(w.Allocators) != "[libjemalloc]" || len(w.Notes) != 1 || !strings.HasPrefix(w.Notes[0], "1 GC cycle") {
		t.Errorf("%v, %v", w.Allocators, w.Notes)
	}
	for i, r := range w.Readings {
		if r.To-r.From != time.Millisecond || i > 0 && r.From <= w.Readings[i-1].From {
			t.Errorf("%+v", w.Readings)
		}
	}

	// Without the runtime the heap is one part, where it is known to be.
	s.Runtimes, s.Heap = nil, []page.Range{{Start: arenaAt, End: arenaAt + 64*mib}}
	if w, err = s.Read(); err != nil || w.Part(Heap).Bytes != 5*mib || sum(w) != total || w.Part(Live).Runtime != nil {
		t.Errorf("%+v, %v", w, err)
	}

	// It began another program; or it cannot be read.
	s.Runtimes, runtime.dead = []Runtime{runtime}, true
	if _, err := s.Read(); !errors.Is(err, ErrExec) {
		t.Errorf("%v", err)
	}
	// It is ending: its memory is gone before it is.
	write(t, filepath.Dir(s.FS.ExePath(7)), map[string]string{
		"status": "Pid:\t7\n",
		"stat":   "7 (p) R 1 1 1 0 -1 4194308 0 0 0 0 0 0 0 0 20 0 3 0 100 0 0 0 0 0 0\n",
	})
	if _, err := s.Read(); !errors.Is(err, procmem.ErrEnding) {
		t.Errorf("%v", err)
	}
	runtime.err = goruntime.ErrInconsistent
	if _, err := s.Read(); !errors.Is(err, goruntime.ErrInconsistent) {
		t.Errorf("%v", err)
	}
	s.PID = 8
	s.Runtimes = nil
	if _, err := s.Read(); !procmem.Gone(err) {
		t.Errorf("no such process: %v", err)
	}
}

func TestKinds(t *testing.T) {
	seen := map[string]bool{}
	for k := range Kinds {
		if k.String() == "" || k.Title() == "" || seen[k.String()] || Title(k.String()) != k.Title() {
			t.Errorf("%d: %q, %q", k, k, k.Title())
		}
		seen[k.String()] = true
	}
	if Title("x") != "x" {
		t.Error("a title for what has none")
	}
}

// Many names are not all shown, and nothing is lost.
func TestShares(t *testing.T) {
	s := &sums{}
	for i := range 50 {
		s.name(fmt.Sprint("n", i%25), 10)
	}
	out := s.shares()
	total := uint64(0)
	for _, o := range out {
		total += o.Bytes
	}
	if len(out) != 21 || total != 500 || s.bytes[Named] != 500 || out[20].Name != "others" {
		t.Errorf("%+v", out)
	}
}

// Between two GC cycles what is allocated and written is not called live, also where part
// of the heap was never touched.
func TestLiveInMemory(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name    string
		classes []Class
		found   uint64
		want    uint64
	}{
		{"all in memory", []Class{{Size: 48, Objects: 10 * mib, Resident: 12 * mib}}, 6 * mib, 6 * mib},
		{"a heap that was hardly touched", []Class{{Size: 2048, Objects: 40 * mib, Resident: 12 * mib}}, 40 * mib, 12 * mib},
		{"and 10 MiB later", []Class{{Size: 2048, Objects: 40 * mib, Resident: 12 * mib}, {Size: 64, Objects: 10 * mib, Resident: 10 * mib}}, 40 * mib, 12 * mib},
		{"in the same spans", []Class{{Size: 2048, Objects: 50 * mib, Resident: 22 * mib}}, 40 * mib, 12 * mib},
		{"nothing found", []Class{{Size: 64, Objects: 10 * mib, Resident: 10 * mib}}, 0, 0},
		{"nothing in memory", []Class{{Size: 64, Objects: 10 * mib}}, 10 * mib, 0},
		{"no objects", nil, 10 * mib, 0},
		{"a large one, half of it touched", []Class{{Size: 48, Objects: 10 * mib, Resident: 10 * mib}, {Objects: 20 * mib, Resident: 10 * mib}}, 15 * mib, 10 * mib},
		{"a new large one that is not touched", []Class{{Size: 48, Objects: 10 * mib, Resident: 10 * mib}, {Objects: 30 * mib}}, 10 * mib, 10*mib - uint64(10*mib*0.75)},
	} {
		var o objects
		for _, k := range c.classes {
			o.add(k)
		}
		if got := o.live(c.found); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// Pages that the kernel or a driver lends are told from those of files: they are charged to
// no cgroup.
func TestUncharged(t *testing.T) {
	for name, want := range map[string]Kind{
		"socket:[839127]": Uncharged, "anon_inode:[perf_event]": Uncharged, "/dev/nvidia0": Uncharged, "/dev/dri/card0": Uncharged,
		"/dev/shm/x": Shared, "/dev/zero (deleted)": Shared, "/memfd:x (deleted)": Shared,
		"/data/db": Files, "anon_inode:bpf-map": Files, "/device/x": Files,
	} {
		all := []procmem.Mapping{{VMA: procmem.VMA{Start: 4096, End: 8192, Read: true, Write: true, Shared: true, Inode: 5, Name: name}}}
		if got, _ := kindOf(all, 0, 4096); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
