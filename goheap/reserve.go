package goheap

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"unsafe"

	"github.com/foliomem/folio/internal/base/ballast"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/library/heapmap"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

// block allocates n bytes of heap that no one has written to or will: neither the
// program nor, other than by make, the runtime itself. So it costs no memory where
// there was none.
func block(n int) *strings.Builder {
	b := new(strings.Builder)
	b.Grow(n)
	return b
}

// reserve grows the heap by n bytes, advises them, and releases them to the runtime,
// which keeps the addresses. Their pages are not in memory before or after.
func reserve(fs procmem.FS, n uint64) (page.Range, error) {
	r, err := growHeap(fs, n)
	if err == nil {
		err = r.Advise(page.AdviseHuge)
	}
	if err != nil {
		return page.Range{}, err
	}
	return r, nil
}

// growHeap grows the heap by n bytes of address space, and returns where.
func growHeap(fs procmem.FS, n uint64) (page.Range, error) {
	if err := page.Allowed(page.THP, 0); err != nil {
		return page.Range{}, err
	}
	if locked() {
		return page.Range{}, errors.New("the process locks the memory that it maps (mlockall): all of the reserve would be in memory at once: leave the reserve out")
	}
	if total, err := memory(fs); err == nil && n > total {
		return page.Range{}, fmt.Errorf("the machine has %d bytes of memory in all", total)
	}
	if n > math.MaxInt/2 {
		return page.Range{}, fmt.Errorf("%s are more than a heap of a 32-bit program can have", unit.Size(n))
	}
	if err := room(n + n/64 + 2*heapmap.ArenaBytes); err != nil {
		return page.Range{}, err
	}
	var r page.Range
	ballast.Drop(func() uint64 {
		b := block(int(n))
		// Safety: the builder is empty, so String is of no use, but a byte of it has the
		// address of its memory. Only the address is kept.
		_ = b.WriteByte(0)
		text := b.String()
		r = page.OfPointer(unsafe.Pointer(unsafe.StringData(text)), uintptr(n)).Inward(page.WindowSize())
		probe.Store(new([64]byte))
		b.Reset()
		debug.FreeOSMemory() // the block is collected; the page of the byte goes as well
		return n
	})
	return r, nil
}

func memory(fs procmem.FS) (uint64, error) {
	m, err := fs.Meminfo()
	if err != nil || m.MemTotal == nil {
		return 0, errors.Join(err, errors.New("the memory of the machine is not known"))
	}
	return *m.MemTotal, nil
}

// reserveSize returns what Options.Reserve means.
func reserveSize(fs procmem.FS, o Options) (uint64, error) {
	if o.ReserveMode == ReserveFixed {
		return uint64(o.Reserve), nil
	}
	return memoryLimit(fs, readHeap().limit)
}

// memoryLimit returns how large the heap may become, by a GOMEMLIMIT and the limits of the
// process's cgroups.
func memoryLimit(fs procmem.FS, limit uint64) (uint64, error) {
	const none = 1 << 62
	group, ok, err := fs.MemoryLimit(0)
	if ok && group.Bytes < limit {
		// The rest of the process needs some of it too.
		limit = group.Bytes / 10 * 9
	}
	if total, memErr := memory(fs); memErr == nil && limit > total && limit < none {
		limit = total / 10 * 9
	}
	if limit >= none {
		return 0, errors.Join(errors.New("there is no limit of memory to go by: set GOMEMLIMIT, or give a size"), err)
	}
	return limit, nil
}
