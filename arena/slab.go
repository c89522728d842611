package arena

import (
	"math/bits"
	"unsafe"
)

// A slab is a piece of ordinary Go memory, made with make([]T, n), of which an
// arena hands out the elements in order. The elements from used on are zero, and in a
// depot those before may be anything.
type slab[T any] struct {
	buf  []T
	used int // elements handed out; the handle knows better for its current slab
	link *slab[T]
	size class
	huge bool     // the kernel was asked for huge pages
	_    [22]byte // as in Arena
}

// class is the size of a slab: minSlab << class bytes, or own.
type class uint8

const (
	minSlab    = 512
	minShift   = 9
	numClasses = 18         // up to 64 MiB
	own        = class(255) // of another size, for one slice or one huge object
)

// next is the class of the slab that an arena adds after one of class c, unless
// that is more than its options allow.
func (c class) next() class { return min(c+1, numClasses-1) }

func (c class) bytes() uintptr { return minSlab << c }

// classBelow returns the largest class of at most n bytes, n being at least
// minSlab.
func classBelow(n uintptr) class {
	return class(bits.Len(uint(n)) - 1 - minShift)
}

// classAbove returns the smallest class of at least n bytes.
func classAbove(n uintptr) class {
	if n <= minSlab {
		return 0
	}
	return class(bits.Len(uint(n-1)) - minShift)
}

// elems returns how many elements a slab of class c has. The runtime puts a
// word in front of a small object with pointers of more than 512 bytes; with
// it the slab must not grow into the next size class of the runtime.
func (c class) elems(size uintptr, pointers bool) int {
	b := c.bytes()
	if pointers && b > 512 && b <= 32<<10 {
		b -= unsafe.Sizeof(uintptr(0))
	}
	return int(b / size)
}

// bytes returns the size of the slab's memory.
func (s *slab[T]) bytes() int64 {
	var zero T
	return int64(len(s.buf)) * int64(unsafe.Sizeof(zero))
}

// clearStep is how many bytes are cleared at once: the goroutine cannot be stopped meanwhile,
// so that the GC, which stops all of them, would wait.
const clearStep = 128 << 10

// clear zeroes what was handed out. It is the compiler's clear for the
// element's type, so that the GC learns of the pointers it drops.
func (s *slab[T]) clear() {
	used := s.buf
	if size := unsafe.Sizeof(*new(T)); size == 0 {
		used = nil // nothing to clear, and used may have overflowed
	} else {
		used = used[:s.used]
		for step := int(max(1, clearStep/size)); len(used) > step; used = used[step:] {
			clear(used[:step])
		}
	}
	clear(used)
	s.used = 0
}
