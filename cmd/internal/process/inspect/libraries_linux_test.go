package inspect

import (
	"fmt"
	"slices"
	"testing"

	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/internal/test/testenv"
)

// TestLibraries looks at a program of C with two Go libraries: the parts of its memory have
// what both runtimes say, and each is named with what it has.
func TestLibraries(t *testing.T) {
	const mib = 1 << 20
	libs := []string{testenv.Library(t, "liba.so"), testenv.Library(t, "libb.so")}
	h := testenv.StartHost(t, append([]string{testenv.HostProgram(t)}, libs...)...)
	kept := []uint64{8, 20}
	for i, n := range kept {
		h.Do(i, fmt.Sprintf("keep %d", n))
		for range i + 1 {
			h.Do(i, "collect")
		}
	}
	before := []testenv.LibraryStats{h.Do(0, "stats"), h.Do(1, "stats")}
	s := New()
	p, err := s.Process(h.PID, Options{Waterfall: true})
	if err != nil {
		t.Fatal(err)
	}
	after := []testenv.LibraryStats{h.Do(0, "stats"), h.Do(1, "stats")}
	if p.IsGo == nil || *p.IsGo || p.GoVersion != "" || p.Waterfall == nil {
		t.Fatalf("%+v", p)
	}
	w := p.Waterfall
	if len(w.Runtimes) != 2 || w.GC != nil {
		t.Fatalf("runtimes %+v, GC %+v", w.Runtimes, w.GC)
	}
	var heaps int64
	for i, lib := range libs {
		at := slices.IndexFunc(w.Runtimes, func(r waterfall.GoRuntime) bool { return r.Path == lib })
		if at < 0 {
			t.Fatalf("%s is not among %+v", lib, w.Runtimes)
		}
		r := w.Runtimes[at]
		heaps += int64(r.Heap)
		if r.Main || r.Reason != "" || r.Version != h.Ask(i, "version") || r.GC == nil || uint64(r.GC.Cycles) != before[i].Cycles {
			t.Errorf("%+v, GC %+v; it says %+v", r, r.GC, before[i])
		}
		if r.Heap < kept[i]*mib || r.Heap > r.Mapped || r.GC != nil && (r.GC.Objects < before[i].HeapAlloc || r.GC.Objects > after[i].HeapAlloc) {
			t.Errorf("%s: heap %d of %d, objects %d; it keeps %d, and says %+v", lib, r.Heap, r.Mapped, r.GC.Objects, kept[i]*mib, after[i])
		}
	}
	sum, heap := int64(0), int64(0)
	for _, part := range w.Parts {
		sum += part.Bytes
		if part.Kind <= waterfall.Stacks || part.Kind == waterfall.Changed {
			heap += part.Bytes
		}
	}
	if sum != int64(w.RSS) {
		t.Errorf("the parts are %d, RSS %d", sum, w.RSS)
	}
	changed := w.Part(waterfall.Changed).Bytes
	if work := heaps - (heap - changed); work < 0 || work > w.Part(waterfall.Metadata).Bytes { // GC work buffers are in the heap, and metadata
		t.Errorf("the heaps are %d, the parts of them %d", heaps, heap-changed)
	}
	objects := *w.Part(waterfall.Live).Runtime + *w.Part(waterfall.Since).Runtime
	if least, most := before[0].HeapAlloc+before[1].HeapAlloc, after[0].HeapAlloc+after[1].HeapAlloc; objects < least || objects > most {
		t.Errorf("%d bytes of objects, the libraries say %d, then %d", objects, least, most)
	}
	if i := slices.IndexFunc(p.Memory, func(m Memory) bool { return m.Kind == GoHeap }); i < 0 || p.Memory[i].Resident < (kept[0]+kept[1])*mib {
		t.Errorf("memory by kind: %+v", p.Memory)
	}
	areas, err := s.Areas(h.PID, false)
	size := uint64(0)
	for _, r := range areas {
		size += uint64(r.End - r.Start)
	}
	if err != nil || size < (kept[0]+kept[1])*mib {
		t.Errorf("areas for huge pages: %v, %v", areas, err)
	}
}
