package arena

import (
	"testing"
	"unsafe"
)

// TestArenasShareNoCacheLine: what two arenas write to is not on the same line of the cache, also where one
// goroutine makes them one after the other.
func TestArenasShareNoCacheLine(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("sizes are those of 64 bits")
	}
	const line = 64
	type owner struct {
		arena int
		part  string
	}
	owners := map[uintptr]owner{}
	own := func(i int, part string, p unsafe.Pointer, size uintptr) {
		for at := uintptr(p) / line; at <= (uintptr(p)+size-1)/line; at++ {
			if o, ok := owners[at]; ok && o.arena != i {
				t.Fatalf("%s of arena %d and %s of arena %d share a cache line", part, i, o.part, o.arena)
			}
			owners[at] = owner{i, part}
		}
	}
	var arenas []*Arena
	for i := range 100 {
		a := NewArena()
		arenas = append(arenas, a)
		New[uint32](a)
		New[uint16](a)
		New[linked](a) // has a handle that is not part of the arena
		own(i, "the arena", unsafe.Pointer(a), unsafe.Sizeof(*a))
		own(i, "more", unsafe.Pointer(a.more), unsafe.Sizeof(*a.more))
		h := handle[linked](a)
		own(i, "a handle", unsafe.Pointer(h), unsafe.Sizeof(*h))
		s := h.stock()
		own(i, "a stock", unsafe.Pointer(s), unsafe.Sizeof(*s))
		own(i, "a slab", unsafe.Pointer(s.slabs), unsafe.Sizeof(*s.slabs))
	}
	for _, a := range arenas {
		a.Free()
	}
}
