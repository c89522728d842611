package goruntime

import (
	"context"
	"errors"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/layout"
)

func TestImage(t *testing.T) {
	_, target := image(t)
	s, err := target.Stats()
	if err != nil {
		t.Fatal(err)
	}
	const released = chunkPages/2 - 4
	want := Stats{
		Objects: 2*PageSize + 4800, Unused: PageSize - 4800, Free: (chunkPages - released - 8) * PageSize, Released: released * PageSize,
		Stacks: 4 * PageSize, WorkBufs: PageSize, Metadata: PageSize, ObjectCount: 101, Live: 5000, Cycles: 7, Percent: 100,
	}
	if s != want {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
	h, err := target.Heap()
	if err != nil {
		t.Fatal(err)
	}
	if h.Stacks != 4*PageSize || h.Work != PageSize || h.Released != released*PageSize || h.Free != want.Free {
		t.Errorf("stacks %d, GC %d, released %d, free %d", h.Stacks, h.Work, h.Released, h.Free)
	}
	if c := h.Classes[5]; c != (Class{Size: 48, Spans: 1, Bytes: PageSize, Objects: 4800}) {
		t.Errorf("%+v", c)
	}
	if c := h.Classes[0]; c != (Class{Spans: 1, Bytes: 2 * PageSize, Objects: 2 * PageSize}) {
		t.Errorf("%+v", c)
	}
	kinds := h.Pages(Range{imageArena, imageArena + 10*PageSize})
	wantKinds := []PageKind{ObjectPage + 5, ObjectPage, ObjectPage, StackPage, StackPage, StackPage, StackPage, WorkPage, FreePage, ReleasedPage}
	for i, k := range kinds {
		if k != wantKinds[i] {
			t.Errorf("page %d: %d, want %d", i, k, wantKinds[i])
		}
	}
	if h.Pages(Range{imageArena - PageSize, imageArena}) != nil || h.Pages(Range{imageArena, imageArena + arenaBytes}) != nil {
		t.Error("pages outside of the heap")
	}
	all, err := target.Goroutines()
	if err != nil || len(all) != 2 || all[0] != imageG || all[1] != imageG+1024 {
		t.Errorf("goroutines %x, %v", all, err)
	}
	ranges, err := target.Metadata()
	if err != nil || !within(ranges, Range{imagePersistent, imagePersistent + persistentChunk}) ||
		!within(ranges, Range{imageChunkList, imageChunkList + 1<<20}) {
		t.Errorf("%x, %v", ranges, err)
	}
}

// A cache of a processor hides pages that were released from the bitmaps.
func TestProcessorCache(t *testing.T) {
	m, target := image(t)
	cache, _ := target.l.Field("p.pcache")
	base, _ := target.l.Field("pageCache.base")
	scav, _ := target.l.Field("pageCache.scav")
	m.put(imageP+cache.Offset, base, imageArena+64*PageSize)
	m.put(imageP+cache.Offset, scav, 1)
	h, err := target.Heap()
	if err != nil {
		t.Fatal(err)
	}
	if k := h.Pages(Range{imageArena + 64*PageSize, imageArena + 65*PageSize}); k[0] != ReleasedPage {
		t.Errorf("%v", k)
	}
}

// TestContradictions is about memory that contradicts itself.
func TestContradictions(t *testing.T) {
	for name, c := range map[string]struct {
		path  string // in mheap, or the whole field in a span
		delta uint64 // what is added to its offset
		value uint64
	}{
		"more arenas than room":     {"mheap.heapArenas", 8, 2},
		"arenas nowhere":            {"mheap.heapArenas", 0, 0},
		"spans nowhere":             {"mheap.allspans", 0, 1 << 63},
		"more spans than room":      {"mheap.allspans", 8, 1 << 40},
		"parts of another size":     {"mheap.pages.inUse.totalBytes", 0, chunkBytes + 1},
		"no parts":                  {"mheap.pages.inUse.ranges", 8, 0},
		"parts that have no memory": {"mheap.pages.inUse.ranges", 0, 8},
	} {
		m, target := image(t)
		f, ok := target.l.Field(c.path)
		if !ok {
			t.Fatal(c.path)
		}
		m.word(imageHeap+f.Offset+c.delta, c.value)
		if h, err := target.Heap(); err == nil {
			t.Errorf("%s: %+v", name, h)
		}
	}
	for name, c := range map[string]struct {
		path  string
		value uint64
	}{
		"an unknown state": {"mspan.state", 3}, "an unknown size class": {"mspan.spanclass", 255},
	} {
		m, target := image(t)
		f, _ := target.l.Field(c.path)
		m.put(imageSpans, f, c.value)
		if h, err := target.Heap(); !errors.Is(err, ErrInconsistent) {
			t.Errorf("%s: %+v, %v", name, h, err)
		}
	}
	// What differs from the statistics by more than a program that runs.
	m, target := image(t)
	f, _ := target.l.Field("gcControllerState.heapInUse")
	m.put(imageController, f, 1<<30)
	if s, err := target.Stats(); !errors.Is(err, ErrInconsistent) {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestEndless is about lists that lead to themselves.
func TestEndless(t *testing.T) {
	m, target := image(t)
	m.word(imagePersistent, imagePersistent)
	ranges, err := target.Metadata()
	if err != nil || within(ranges, Range{imagePersistent, imagePersistent + persistentChunk}) {
		t.Errorf("%x, %v", ranges, err)
	}
	target.begin()
	target.reads = 10
	if target.list(imagePersistent, 0) != nil || target.reads > 0 {
		t.Error("reading is not bounded")
	}
}

func TestLacking(t *testing.T) {
	_, target := image(t)
	if f := target.field("mheap.nothing"); f != (layout.Field{}) {
		t.Errorf("%+v", f)
	}
	if err := target.lacks(); !errors.Is(err, layout.ErrUnknown) {
		t.Errorf("%v", err)
	}
}

func TestHeapProfile(t *testing.T) {
	_, target := image(t)
	p, err := target.HeapProfile(context.Background())
	if err != nil || p.Rate != 512<<10 || p.Cycle != 4 || len(p.Records) != 3 || p.Moving {
		t.Fatalf("%+v, %v", p, err)
	}
	for i, r := range p.Records {
		n := uint64(i)
		if r.Size != 100*(n+1) || r.AllocObjects != 1011 || r.FreedObjects != n || r.AllocBytes != 1011*r.Size || len(r.Stack) != i+1 {
			t.Errorf("%+v", r)
		}
	}
}

// TestHeapProfileLies is about records that cannot be.
func TestHeapProfileLies(t *testing.T) {
	_, target := image(t)
	l := target.l
	at := func(path string) layout.Field { f, _ := l.Field(path); return f }
	active := uint64(imageBuckets) + at("bucket").Size + 8 + at("memRecord.active").Offset
	for name, c := range map[string]struct {
		at uint64
		f  layout.Field
		v  uint64
	}{
		"a list that leads to itself":     {imageBuckets, at("bucket.allnext"), imageBuckets},
		"a list into nowhere":             {imageBuckets, at("bucket.allnext"), 0x123450},
		"a list into the end":             {imageBuckets, at("bucket.allnext"), 1<<63 - 8},
		"a stack that is too deep":        {imageBuckets, at("bucket.nstk"), 1 << 40},
		"more freed than allocated":       {active, at("memRecordCycle.frees"), 1 << 20},
		"objects beyond all memory":       {active, at("memRecordCycle.allocs"), 1 << 63},
		"objects whose bytes wrap around": {imageBuckets, at("bucket.size"), 1<<64 - 1},
		"another kind of record":          {imageBuckets + 0x1008, at("bucket.typ"), BlockProfile},
	} {
		m, target := image(t)
		m.put(c.at, c.f, c.v)
		if p, err := target.HeapProfile(context.Background()); err == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
	m, target := image(t)
	m.word(imageCycle+16, 0) // no records yet
	if p, err := target.HeapProfile(context.Background()); err != nil || len(p.Records) != 0 {
		t.Errorf("%+v, %v", p, err)
	}
	m.word(imageRate, 0)
	if p, err := target.HeapProfile(context.Background()); !errors.Is(err, ErrNoHeapProfile) {
		t.Errorf("%+v, %v", p, err)
	}
	_, target = image(t)
	target.at.Functions = nil
	if p, err := target.HeapProfile(context.Background()); !errors.Is(err, ErrNoHeapProfile) {
		t.Errorf("%+v, %v", p, err)
	}
}

// FuzzTarget changes words of the memory of a process, and reads it.
func FuzzTarget(f *testing.F) {
	f.Add(uint64(imageHeap), uint64(1), uint64(imageStats), uint64(1<<63), uint64(imageSpans), uint64(imageArena))
	f.Add(uint64(imageLists+64), uint64(imageArena), uint64(imageLists+72), uint64(imageArena+1<<40), uint64(imageAllp+8), uint64(1<<20))
	f.Add(uint64(imageBuckets+8), uint64(imageBuckets), uint64(imageBuckets+40), uint64(1<<62), uint64(imageCycle), uint64(7))
	f.Fuzz(func(t *testing.T, at1, v1, at2, v2, at3, v3 uint64) {
		m, target := image(t)
		for _, c := range [][2]uint64{{at1, v1}, {at2, v2}, {at3, v3}} {
			m.word(c[0]%(1<<48), c[1])
		}
		_, _ = target.Stats()
		var gc GC
		if target.ReadGC(&gc) == nil {
			if all, lost := gc.Pauses(0); uint32(len(all))+lost != gc.Cycles {
				t.Errorf("%d pauses, %d lost of %d", len(all), lost, gc.Cycles)
			}
		}
		if h, err := target.Heap(); err == nil {
			pages := uint64(0)
			for _, r := range h.InUse {
				pages += uint64(len(h.Pages(r)))
			}
			if h.Stacks+h.Work+h.Free+h.Released > pages*PageSize {
				t.Errorf("more than there is: %+v", h)
			}
		}
		_, _ = target.Goroutines()
		_, _ = target.Metadata()
		_, _ = target.Buckets(MemoryProfile)
		if p, err := target.readHeapProfile(); err == nil {
			for _, r := range p.Records {
				if r.FreedObjects > r.AllocObjects || r.FreedBytes > r.AllocBytes {
					t.Errorf("more freed than allocated: %+v", r)
				}
			}
		}
	})
}
