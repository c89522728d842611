// Package heapmap finds where a process has its Go heap: by the names that the runtime
// gives its mappings, or by their shape and place.
package heapmap

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

// ErrNotFound says that no Go heap was found.
var ErrNotFound = errors.New("no Go heap found")

// Find returns the addresses of the Go heap of another process, ascending: what
// the runtime has mapped for objects and stacks of goroutines. Where the runtime
// names its mappings (Go 1.25+, kernel 5.17+ with CONFIG_ANON_VMA_NAME) it is
// those; else it is what has the place and the shape of a Go heap, of 64-bit programs
// only. The shape says little about programs that are not written in Go: do
// not ask for those. A heap that it is not sure of is an [ErrNotFound].
func Find(pid int) ([]page.Range, error) {
	vmas, err := procmem.New("").Maps(pid)
	if err != nil {
		return nil, fmt.Errorf("find the Go heap of process %d: %w", pid, err)
	}
	ranges := Named(vmas)
	if ranges == nil {
		ranges = Shaped(vmas)
	}
	if len(ranges) == 0 {
		return nil, fmt.Errorf("find the Go heap of process %d: %w", pid, ErrNotFound)
	}
	return ranges, nil
}

// The runtime's names, see setVMAName in its sources.
const (
	heapName        = "[anon: Go: heap]"
	reservationName = "[anon: Go: heap reservation]"
)

// part reports whether a mapping can be a part of a heap: the runtime maps what it
// uses for reading and writing, and what it only keeps with no permission.
func part(v procmem.VMA) bool {
	named := v.Name == "" || v.Name == heapName || v.Name == reservationName
	return named && v.Anonymous() && !v.Exec && v.Read == v.Write && v.End <= math.MaxUint-1
}

func used(v procmem.VMA) bool { return v.Read && v.Write }

// Named returns the mappings that the runtime named, nil if there are none.
func Named(vmas []procmem.VMA) (out []page.Range) {
	for _, v := range vmas {
		if v.Name == heapName && part(v) && used(v) {
			out = join(out, v)
		}
	}
	return out
}

// join appends a mapping, as a part of the last range if it follows it.
func join(to []page.Range, v procmem.VMA) []page.Range {
	if n := len(to); n > 0 && to[n-1].End == uintptr(v.Start) {
		to[n-1].End = uintptr(v.End)
		return to
	}
	return append(to, page.Range{Start: uintptr(v.Start), End: uintptr(v.End)})
}

// A Region is a run of neighboring mappings that can be parts of a heap.
type Region struct {
	start, end uint64
	Used       []page.Range // ascending
}

// Regions returns all that could be parts of a heap, ascending.
func Regions(vmas []procmem.VMA) (out []Region) {
	for _, v := range vmas {
		if !part(v) {
			continue
		}
		n := len(out)
		if n == 0 || out[n-1].end != v.Start {
			out = append(out, Region{start: v.Start})
			n++
		}
		r := &out[n-1]
		r.end = v.End
		if used(v) {
			r.Used = join(r.Used, v)
		}
	}
	return out
}

// ArenaBytes is the unit in which the runtime reserves address space on 64-bit
// Linux (heapArenaBytes).
const ArenaBytes = 64 << 20

// Whole says that the region consists of whole arenas, of which some is in use.
func (r Region) Whole() bool {
	return r.start%ArenaBytes == 0 && r.end%ArenaBytes == 0 && len(r.Used) > 0
}

// Shaped returns what looks like a heap: regions of whole arenas, far below where
// the kernel puts mappings that have no address in mind. That distance is
// what tells them from the arenas of glibc's malloc, which have the same size.
//
// Without randomization the runtime begins at 0xc000000000, or 0x4000000000 on arm64, and
// the race detector wants it there. A heap that is found there is the only one.
func Shaped(vmas []procmem.VMA) []page.Range {
	if len(vmas) == 0 {
		return nil
	}
	var top uint64 // where the first stack is
	for _, v := range vmas {
		if v.Name == "[stack]" || strings.HasPrefix(v.Name, "[vdso") {
			top = max(top, v.End)
		}
	}
	if top <= math.MaxUint32 {
		return nil // a 32-bit process, whose heap is among everything else
	}
	low := top / 8 * 5 // programs are above that if their address is chosen by the kernel
	var classic, random []page.Range
	for _, r := range Regions(vmas) {
		if !r.Whole() || r.end > low {
			continue
		}
		switch r.start &^ (0xff << 40) { // the runtime goes on at the next TiB if something is in the way
		case 0xc0 << 32, 0x40 << 32:
			classic = append(classic, r.Used...)
		default:
			random = append(random, r.Used...)
		}
	}
	if classic != nil {
		return classic
	}
	return random
}
