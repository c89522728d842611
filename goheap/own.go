package goheap

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/foliomem/folio/internal/library/heapmap"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

// ownTries is how often the heap is looked for again when it grew meanwhile.
const ownTries = 4

// own returns the addresses of the heap of this process. It starts from an object
// that is known to be there, and compares what it finds with how much the
// runtime says it has mapped: rather none than a wrong range.
func own(fs procmem.FS) ([]page.Range, error) {
	object := new([64]byte)
	probe.Store(object) // so that it is on the heap
	defer runtime.KeepAlive(object)
	at := uintptr(unsafe.Pointer(object)) // Safety: only compared with other addresses.
	var err error
	for range ownTries {
		before := readHeap()
		var vmas []procmem.VMA
		if vmas, err = fs.Maps(0); err != nil {
			return nil, fmt.Errorf("find the Go heap: %w", err)
		}
		var out []page.Range
		if out, err = around(vmas, at, before.mapped, readHeap()); err == nil {
			return out, nil
		}
	}
	return nil, fmt.Errorf("find the Go heap: %w", err)
}

// around returns the heap that has an object at an address. The runtime had mapped
// at least least bytes for it, and at the end as h says.
func around(vmas []procmem.VMA, at uintptr, least uint64, h heapState) ([]page.Range, error) {
	var found []page.Range
	if names := heapmap.Named(vmas); contains(names, at) {
		found = names
	} else {
		all := heapmap.Regions(vmas)
		for _, r := range all {
			if contains(r.Used, at) {
				found = r.Used
			}
		}
		if found == nil {
			return nil, fmt.Errorf("%w: nothing that looks like one is mapped at the address of an object", heapmap.ErrNotFound)
		}
		// The rest may be elsewhere, if something was in the way. It is the heap if
		// nothing else looks like it.
		if missing := sub(least, size(found)); missing > 0 {
			for _, r := range all {
				n := size(r.Used)
				if r.Whole() && !contains(r.Used, at) && missing <= n && n <= missing+h.other {
					found = append(found, r.Used...)
					break
				}
			}
		}
	}
	if n := size(found); n < least || n > h.mapped+h.other {
		return nil, fmt.Errorf("%w: %d bytes look like it, and the runtime has mapped %d", heapmap.ErrNotFound, n, h.mapped)
	}
	return found, nil
}

func contains(ranges []page.Range, at uintptr) bool {
	for _, r := range ranges {
		if r.Start <= at && at < r.End {
			return true
		}
	}
	return false
}

func size(ranges []page.Range) (n uint64) {
	for _, r := range ranges {
		n += uint64(r.Len())
	}
	return n
}

// sub is a - b, 0 if that is negative.
func sub(a, b uint64) uint64 { return a - min(a, b) }
