package page

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/feature"
	"github.com/foliomem/folio/internal/system/sys"
)

// residencyRange sums up what the kernel has of r.
func residencyRange(s system, r Range, o *ResidencyOptions) (Residency, error) {
	var own ResidencyOptions
	if o != nil {
		own = *o
	}
	size := own.Window
	if size == 0 {
		size = windowSize(s)
	}
	if size < s.pageSize() || size&(size-1) != 0 {
		return Residency{}, fmt.Errorf("option Window is %d: want a power of two of at least %d", size, s.pageSize())
	}
	t := tally{sys: s, touched: own.Touched, runs: own.Runs}
	if own.Windows {
		t.window = uintptr(size)
		t.emit = func(w Window) {
			if n := len(t.sum.Windows); n == cap(t.sum.Windows) && n >= 64 { // what is dense goes on so
				left := int((r.End-w.Range.Start)/t.window) + 1
				t.sum.Windows = slices.Grow(t.sum.Windows, min(left, 16*n))
			}
			t.sum.Windows = append(t.sum.Windows, w)
		}
	}
	if err := t.walk(r.Outward(s.pageSize())); err != nil {
		return Residency{}, err
	}
	return t.sum, nil
}

// windowsOf appends the windows of r that have anything in them.
func windowsOf(s system, r Range, size int, to []Window) ([]Window, error) {
	t := tally{sys: s, window: uintptr(size), emit: func(w Window) { to = append(to, w) }}
	err := t.walk(r)
	return to, err
}

// walk finds out about r by the best way that there is.
func (t *tally) walk(r Range) error {
	t.within = r
	if r.Len() == 0 {
		return nil
	}
	p, err := t.sys.pagemap()
	if err != nil {
		return err
	}
	defer p.Close() // nothing was written
	if t.sys.have(feature.PagemapScan) == nil {
		err = scanRegions(p, r, t)
	} else {
		err = readEntries(t.sys, p, r, t)
	}
	if err != nil {
		return err
	}
	t.flush()
	return t.err
}

// regions are kept: they must be on the heap, and there is no use in new ones
// for each call.
var regionBuffers = sync.Pool{New: func() any { return new([256]sys.Region) }}

// scanRegions asks by PAGEMAP_SCAN.
func scanRegions(p pagemap, r Range, t *tally) error {
	buf := regionBuffers.Get().(*[256]sys.Region)
	defer regionBuffers.Put(buf)
	for at := r.Start; at < r.End; {
		n, next, err := p.Scan(at, r.End, buf[:])
		if err != nil {
			return fmt.Errorf("PAGEMAP_SCAN: %w", err)
		}
		for _, region := range buf[:n] {
			t.add(Range{uintptr(region.Start), uintptr(region.End)}, region.Category, false)
		}
		if next <= at {
			return fmt.Errorf("PAGEMAP_SCAN: stands still at %#x", at)
		}
		at = next
	}
	return nil
}

// tally sums up runs of pages, in ascending order, and by windows if there is
// an emit.
type tally struct {
	sys     system
	within  Range
	touched bool
	runs    func(Range) // nil for none
	window  uintptr
	emit    func(Window)

	sum     Residency
	current Window
	err     error // of reading what is touched
}

// add counts pages of one category. hugeUnknown is set for those that may be
// huge; who sets it accounts for them in the sums.
func (t *tally) add(r Range, c sys.Category, hugeUnknown bool) {
	if t.emit == nil {
		t.count(r, c, hugeUnknown)
		return
	}
	for r.Len() > 0 {
		start := r.Start &^ (t.window - 1)
		end := start + t.window // 0 for the last window of all
		if end == 0 || end > t.within.End {
			end = t.within.End
		}
		if window := (Range{max(start, t.within.Start), end}); t.current.Range != window {
			t.flush()
			t.current.Range = window
		}
		t.count(Range{r.Start, min(r.End, end)}, c, hugeUnknown)
		r.Start = min(r.End, end)
	}
}

func (t *tally) count(r Range, c sys.Category, hugeUnknown bool) {
	n := uint64(r.Len())
	var w Window
	switch {
	case c&sys.Present == 0:
		w.Swapped = n
	case c&sys.ZeroPage != 0:
		w.Zero = n
	default:
		w.Resident = n
		if c&sys.Huge != 0 {
			w.Huge = n
		}
		w.HugeUnknown = hugeUnknown
		if t.runs != nil {
			t.runs(r)
		}
		if t.touched {
			w.Touched = t.readTouched(r)
		}
	}
	t.sum.Resident += w.Resident
	t.sum.Huge += w.Huge
	t.sum.Zero += w.Zero
	t.sum.Swapped += w.Swapped
	t.sum.Touched += w.Touched
	if t.emit == nil {
		return
	}
	t.current.Resident += w.Resident
	t.current.Huge += w.Huge
	t.current.HugeUnknown = t.current.HugeUnknown || w.HugeUnknown
	t.current.Zero += w.Zero
	t.current.Swapped += w.Swapped
	t.current.Touched += w.Touched
}

// flush hands over a window that is complete.
func (t *tally) flush() {
	if t.emit != nil && t.current.Range.Len() > 0 {
		t.emit(t.current)
	}
	t.current = Window{}
}

const readAtOnce = 256 << 10

var readBuffers = sync.Pool{New: func() any { return new([readAtOnce]byte) }}

// readTouched returns how many bytes of r are in base pages that are not all zero.
func (t *tally) readTouched(r Range) (bytes uint64) {
	buf := readBuffers.Get().(*[readAtOnce]byte)
	defer readBuffers.Put(buf)
	page := uintptr(t.sys.pageSize())
	for at := r.Start; at < r.End && t.err == nil; {
		n, err := t.sys.readMemory(buf[:min(readAtOnce, r.End-at)], at)
		got := uintptr(max(n, 0)) &^ (page - 1)
		switch {
		case err == nil && got > 0:
		case err == nil || errors.Is(err, unix.EFAULT):
			at += page // it was unmapped meanwhile
			continue
		case errors.Is(err, unix.EINTR):
			continue
		default:
			t.err = because(err, "read what is touched: process_vm_readv is forbidden, perhaps by a seccomp filter")
			return bytes
		}
		for off := uintptr(0); off < got; off += page {
			if !allZero(buf[off : off+page]) {
				bytes += uint64(page)
			}
		}
		at += got
	}
	return bytes
}

// and returns the part of r that is in o too; it may be inverted.
func (r Range) and(o Range) Range { return Range{max(r.Start, o.Start), min(r.End, o.End)} }
