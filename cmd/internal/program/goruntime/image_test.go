package goruntime

import (
	"debug/elf"
	"encoding/binary"
	"io"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/layout"
)

// memory is that of a process of which only some pages are mapped.
type memory map[uint64][]byte

const memoryPage = 4 << 10

func (m memory) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		at := uint64(off) + uint64(n)
		page, ok := m[at/memoryPage]
		if !ok {
			return n, io.ErrUnexpectedEOF
		}
		n += copy(p[n:], page[at%memoryPage:])
	}
	return n, nil
}

// mapped maps zeros.
func (m memory) mapped(at, size uint64) {
	for page := at / memoryPage; page <= (at+size-1)/memoryPage; page++ {
		if m[page] == nil {
			m[page] = make([]byte, memoryPage)
		}
	}
}

// put writes a number of a field's size at a place that is mapped.
func (m memory) put(at uint64, f layout.Field, v uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	for i := range f.Size {
		a := at + f.Offset + i
		if page := m[a/memoryPage]; page != nil {
			page[a%memoryPage] = b[i]
		}
	}
}

func (m memory) word(at, v uint64) { m.put(at, layout.Field{Size: 8}, v) }

// Where things are in the image.
const (
	imageHeap, imageStats, imageController = 0x600000, 0x700000, 0x710000
	imageAllp, imageAllgs, imageChunks     = 0x720000, 0x721000, 0x722000
	imageLists                             = 0x730000 // slices' elements
	imageSpans                             = 0x740000
	imageP                                 = 0x750000
	imageBuckets, imageCycle, imageRate    = 0x770000, 0x77f000, 0x77f008
	imageG                                 = 0x760000
	imageWork                              = 0x711000
	imageChunkList                         = 0x7f0000000000
	imageArenas                            = 0x7e0000000000
	imageArena                             = 0xc000000000
	imagePersistent                        = 0x7d0000000000
)

// image is the memory of a process with a heap of 4 MiB: a page of objects of 48 bytes, two
// of a large object, four of stacks, one of the GC; of the others every second is
// released.
func image(t testing.TB) (memory, *Target) {
	t.Helper()
	l, err := layout.For("go1.26.8", elf.EM_X86_64)
	if err != nil {
		t.Fatal(err)
	}
	m := memory{}
	target := &Target{mem: m, version: "go1.26.8", l: l, base: 0xffff800000000000, at: &layout.Globals{
		MHeap: imageHeap, MemStats: imageStats, GCController: imageController, Work: imageWork, Code: imageLists,
		References: map[string][]uint64{
			layout.Processors: {imageAllp - 64, imageAllp}, layout.GoroutineAdded: {imageAllgs, imageAllgs + 8, imageAllgs + 16, imageAllgs + 32, imageAllgs + 40},
			layout.Persistent: {imageChunks}, layout.Buckets: {imageCycle + 16},
		},
		ProfileCycle: imageCycle, ProfileRate: imageRate, Functions: map[string]bool{"runtime.MemProfile": true},
	}}
	field := func(path string) layout.Field {
		f, ok := l.Field(path)
		if !ok {
			t.Fatalf("no field %s", path)
		}
		return f
	}
	m.mapped(imageHeap, field("mheap").Size)
	m.mapped(imageStats, 0x200000)
	m.mapped(imageAllp-64, 64)
	m.mapped(imageBuckets, 0x10000)
	slice := func(at, ptr, n uint64) {
		m.word(at, ptr)
		m.word(at+8, n)
		m.word(at+16, n)
	}
	base := target.base
	slice(imageHeap+field("mheap.heapArenas").Offset, imageLists, 1)
	m.word(imageLists, (imageArena-base)/arenaBytes)
	slice(imageHeap+field("mheap.pages.inUse.ranges").Offset, imageLists+64, 1)
	m.word(imageLists+64, imageArena)
	m.word(imageLists+72, imageArena+chunkBytes)
	m.put(imageHeap, field("mheap.pages.inUse.totalBytes"), chunkBytes)
	number := (imageArena - base) / chunkBytes
	m.word(imageHeap+field("mheap.pages.chunks").Offset+number/8192*8, imageChunkList)
	chunk := imageChunkList + number%8192*field("pallocData").Size
	m.mapped(chunk, field("pallocData").Size)
	for i := range uint64(chunkPages / 64) {
		m.word(chunk+field("pallocData.scavenged").Offset+8*i, 0xaaaaaaaaaaaaaaaa)
	}
	m.word(imageHeap+field("mheap.arenas").Offset, imageArenas)
	m.mapped(imageArenas+(imageArena-base)/arenaBytes*8, 8)
	m.word(imageArenas+(imageArena-base)/arenaBytes*8, imageArenas+1<<30)

	spans := []struct{ start, pages, class, elem, count, state uint64 }{
		{0, 1, 5, 48, 100, spanInUse}, {1, 2, 0, 2 * PageSize, 1, spanInUse}, {3, 4, 0, 2048, 0, spanManual}, {7, 1, 0, 0, 0, spanManual}, {100, 1, 5, 48, 1, spanDead},
	}
	slice(imageHeap+field("mheap.allspans").Offset, imageLists+256, uint64(len(spans)))
	for i, s := range spans {
		at := imageSpans + uint64(i)*field("mspan").Size
		m.word(imageLists+256+8*uint64(i), at)
		m.put(at, field("mspan.startAddr"), imageArena+s.start*PageSize)
		m.put(at, field("mspan.npages"), s.pages)
		m.put(at, field("mspan.spanclass"), s.class<<1)
		m.put(at, field("mspan.elemsize"), s.elem)
		m.put(at, field("mspan.allocCount"), s.count)
		m.put(at, field("mspan.state"), s.state)
	}
	slice(imageAllp, imageLists+512, 1)
	m.word(imageLists+512, imageP)
	m.mapped(imageP, field("p").Size)
	slice(imageAllgs, imageLists+600, 2)
	m.word(imageLists+600, imageG)
	m.word(imageLists+608, imageG+1024)
	m.word(imageAllgs+32, imageLists+600)
	m.word(imageAllgs+40, 2)
	m.mapped(imagePersistent, 8)
	m.word(imageChunks, imagePersistent)

	// Three records of the heap profile, in the 4th cycle: the future of cycle 4%3 = 1 is due.
	m.word(imageCycle, 4<<1)
	m.word(imageRate, 512<<10)
	m.word(imageCycle+16, imageBuckets)
	for i := range uint64(3) {
		at := imageBuckets + i*0x1000 + 8*i
		if i < 2 {
			m.put(at, field("bucket.allnext"), at+0x1008)
		}
		m.put(at, field("bucket.typ"), MemoryProfile)
		m.put(at, field("bucket.size"), 100*(i+1))
		m.put(at, field("bucket.nstk"), i+1)
		at += field("bucket").Size
		for j := range i + 1 {
			m.word(at, imageLists+j)
			at += 8
		}
		m.put(at+field("memRecord.active").Offset, field("memRecordCycle.allocs"), 10)
		m.put(at+field("memRecord.active").Offset, field("memRecordCycle.frees"), i)
		m.put(at+field("memRecord.active").Offset, field("memRecordCycle.alloc_bytes"), 10*100*(i+1))
		m.put(at+field("memRecord.active").Offset, field("memRecordCycle.free_bytes"), i*100*(i+1))
		for j := range uint64(3) {
			m.put(at+field("memRecord.future").Offset+j*field("memRecordCycle").Size, field("memRecordCycle.allocs"), 1000+j)
			m.put(at+field("memRecord.future").Offset+j*field("memRecordCycle").Size, field("memRecordCycle.alloc_bytes"), (1000+j)*100*(i+1))
		}
	}
	delta := imageStats + field("mstats.heapStats").Offset + field("consistentHeapStats.stats").Offset
	const released = chunkPages/2 - 4 // those of spans were taken in use
	for path, pages := range map[string]uint64{
		"heapStatsDelta.committed": chunkPages - released, "heapStatsDelta.released": released, "heapStatsDelta.inHeap": 3,
		"heapStatsDelta.inStacks": 4, "heapStatsDelta.inWorkBufs": 1, "heapStatsDelta.largeAlloc": 2,
	} {
		m.put(delta, field(path), pages*PageSize)
	}
	m.put(delta, field("heapStatsDelta.largeAllocCount"), 1)
	small := field("heapStatsDelta.smallAllocCount")
	m.put(delta, layout.Field{Offset: small.Offset + 5*8, Size: 8}, 100)
	for path, pages := range map[string]uint64{
		"gcControllerState.heapInUse": 3, "gcControllerState.heapReleased": released, "gcControllerState.heapFree": chunkPages - released - 8,
		"gcControllerState.mappedReady": chunkPages - released,
	} {
		m.put(imageController, field(path), pages*PageSize)
	}
	m.put(imageController, field("gcControllerState.heapMarked"), 5000)
	m.put(imageController, field("gcControllerState.gcPercent"), 100)
	m.put(imageStats, field("mstats.numgc"), 7)
	return m, target
}
