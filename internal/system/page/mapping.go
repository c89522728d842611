package page

import (
	"fmt"
	"sync/atomic"

	"github.com/foliomem/folio/internal/base/unit"
)

// Options are the options of [Map]. nil and the zero value are the defaults.
type Options struct {
	// Kind of pages. Default: Base.
	Kind Kind
	// PageSize in bytes. Of HugeTLB the size of a pool: default the system's
	// (Hugepagesize in /proc/meminfo). Of THP a size that the kernel offers, see
	// [PageSizes] (sizes other than HugeSize need kernel 6.8): default HugeSize.
	// The memory is aligned to it; which of the allowed sizes a fault gets is the
	// kernel's choice. Of Base: must be 0 or Size.
	PageSize int
	// Commit is when the memory is allocated. Default: Lazy.
	Commit Commit
	// Name is shown in /proc/PID/maps as [anon:NAME] (kernel 5.17+ with
	// CONFIG_ANON_VMA_NAME; others ignore it) and in this package's errors. At
	// most 79 printable ASCII characters without []\`$. Default: none.
	Name string
}

// Mapping is memory outside the Go heap, mapped by [Map]. See the package's
// documentation for what it must not hold.
//
// Bytes, Len, Kind, PageSize, Range and Residency may be called by many
// goroutines at once; so may Populate, Release and Collapse as far as their parts
// do not overlap. PopulateAhead is for one goroutine at a time. While Close runs, no
// other method may, and after it every method but Close panics.
type Mapping struct {
	sys       system
	memory    []byte
	addresses Range
	kind      Kind
	pageSize  int
	piece     int // what PopulateAhead commits at once
	ahead     int // how much is committed already; all of it without Commit Ahead
	name      string
	closed    atomic.Bool
}

// Map maps size bytes, rounded up to whole pages, private to the process and
// zero. When it cannot commit them as asked for, nothing stays mapped.
func Map(size int, o *Options) (*Mapping, error) { return mapMemory(host, size, o) }

// Bytes returns the memory, all of it. It is valid until Close.
func (m *Mapping) Bytes() []byte {
	m.open("Bytes")
	return m.memory
}

// Len returns the size in bytes: what Map was asked for, rounded up to whole pages.
func (m *Mapping) Len() int {
	m.open("Len")
	return len(m.memory)
}

// Kind returns what was asked for. What there is, Residency says.
func (m *Mapping) Kind() Kind {
	m.open("Kind")
	return m.kind
}

// PageSize returns the size in bytes of the pages that were asked for. The
// memory is aligned to it.
func (m *Mapping) PageSize() int {
	m.open("PageSize")
	return m.pageSize
}

// Range returns the addresses of the memory.
func (m *Mapping) Range() Range {
	m.open("Range")
	return m.addresses
}

// Populate gives memory to the pages of n bytes from off, without changing their
// contents, whatever the mapping's Options.Commit is: by MADV_POPULATE_WRITE, or by
// touching before kernel 5.14.
func (m *Mapping) Populate(off, n int) error {
	m.open("Populate")
	r, err := m.part(off, n)
	if err == nil {
		err = commitRange(m.sys, m.memory[off:off+n], r, m.kind == HugeTLB)
	}
	return m.failed("populate", off, n, err)
}

// PopulateAhead says that the first upto bytes are about to be used. With Commit Ahead
// it commits the pieces up to there that are not yet, in one call; when all are,
// which is most of the time, it costs a comparison. Otherwise it does nothing.
func (m *Mapping) PopulateAhead(upto int) error {
	if upto <= m.ahead {
		return nil
	}
	return m.commitAhead(upto)
}

func (m *Mapping) commitAhead(upto int) error {
	m.open("PopulateAhead")
	if _, err := m.part(0, upto); err != nil {
		return m.failed("populate", 0, upto, err)
	}
	end := len(m.memory)
	if pieces := (upto-1)/m.piece + 1; pieces <= end/m.piece {
		end = pieces * m.piece
	}
	if err := m.Populate(m.ahead, end-m.ahead); err != nil {
		return err
	}
	m.ahead = end
	return nil
}

// Release returns n bytes from off to the OS, and returns how many bytes:
// whole pages of the mapping's PageSize only, see [Range.Release]. What PopulateAhead
// committed is not committed again.
func (m *Mapping) Release(off, n int, how Release, o *ReleaseOptions) (int, error) {
	m.open("Release")
	r, err := m.part(off, n)
	if err != nil {
		return 0, m.failed("release", off, n, err)
	}
	align := m.pageSize
	if o != nil && o.Split && m.kind != HugeTLB {
		align = m.sys.pageSize()
	}
	r = r.Inward(align)
	if err := releaseRange(m.sys, r, how, m.kind == HugeTLB); err != nil {
		return 0, m.failed("release", off, n, err)
	}
	return int(r.Len()), nil
}

// Collapse makes huge pages of the whole windows in n bytes from off, see
// [Range.Collapse]. Base memory is refused; HugeTLB is huge already.
func (m *Mapping) Collapse(off, n int, o *CollapseOptions) (Collapsed, error) {
	m.open("Collapse")
	r, err := m.part(off, n)
	if err == nil && m.kind != THP {
		err = fmt.Errorf("%w for %v pages: map it with Kind THP", ErrNotSupported, m.kind)
	}
	if err != nil {
		return Collapsed{}, m.failed("collapse", off, n, err)
	}
	c, err := collapseRange(m.sys, r, o)
	return c, m.failed("collapse", off, n, err)
}

// Residency says what the kernel has in memory for the mapping. Its windows are
// of PageSize for HugeTLB, else of WindowSize, unless o says otherwise.
func (m *Mapping) Residency(o *ResidencyOptions) (Residency, error) {
	m.open("Residency")
	var own ResidencyOptions
	if o != nil {
		own = *o
	}
	if own.Window == 0 && m.kind == HugeTLB {
		own.Window = m.pageSize
	}
	res, err := residencyRange(m.sys, m.addresses, &own)
	return res, m.failed("residency", 0, len(m.memory), err)
}

// Close unmaps the memory. Nobody may use its bytes any more, or keep slices of
// them. Closing twice does nothing. When it fails, the memory is still mapped.
func (m *Mapping) Close() error {
	if m.closed.Load() {
		return nil
	}
	if err := unmap(m.sys, m.addresses); err != nil {
		return m.failed("unmap", 0, len(m.memory), err)
	}
	m.closed.Store(true)
	live.remove(len(m.memory))
	m.memory, m.ahead = nil, 0
	return nil
}

// open panics with the name of a method that is called after Close.
func (m *Mapping) open(method string) {
	if m.closed.Load() {
		panic("page: " + method + " of a mapping that was closed" + quoted(m.name))
	}
}

// part returns the addresses of n bytes from off.
func (m *Mapping) part(off, n int) (Range, error) {
	if off < 0 || n < 0 || off > len(m.memory) || n > len(m.memory)-off {
		return Range{}, fmt.Errorf("not within its %s", unit.Exact(uint64(len(m.memory))))
	}
	start := m.addresses.Start + uintptr(off)
	return Range{start, start + uintptr(n)}, nil
}

// failed says what of which mapping failed.
func (m *Mapping) failed(op string, off, n int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %d bytes at %d of the mapping%s of %v pages: %w", op, n, off, quoted(m.name), m.kind, err)
}

func quoted(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" %q", name)
}

// live counts the mappings that are open.
var live counter

type counter struct{ mappings, bytes atomic.Int64 }

func (c *counter) remove(bytes int) {
	c.mappings.Add(-1)
	c.bytes.Add(-int64(bytes))
}
