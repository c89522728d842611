package page

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/feature"
)

// aheadDefault is the piece that the sources of this design found to be large
// enough that its cost vanishes, and small enough not to be missed.
const aheadDefault = 2 << 20

func mapMemory(s system, size int, o *Options) (*Mapping, error) {
	var own Options
	if o != nil {
		own = *o
	}
	m, err := mapOptions(s, size, own)
	if err != nil {
		what := fmt.Sprintf("%d bytes", size)
		if size > 0 {
			what = unit.Exact(uint64(size))
		}
		return nil, fmt.Errorf("map %s of %v pages%s: %w", what, own.Kind, quoted(own.Name), err)
	}
	live.add(len(m.memory))
	return m, nil
}

func mapOptions(s system, size int, o Options) (*Mapping, error) {
	if size <= 0 {
		return nil, errors.New("the size must be positive")
	}
	if o.Kind < Base || o.Kind > HugeTLB {
		return nil, errors.New("no such kind")
	}
	if o.Commit < Lazy || o.Commit > Ahead {
		return nil, fmt.Errorf("no such way to commit: %v", o.Commit)
	}
	if err := checkName(o.Name); err != nil {
		return nil, err
	}
	pageSize, err := pageSizeOf(s, o.Kind, o.PageSize)
	if err != nil {
		return nil, err
	}
	if size > math.MaxInt-pageSize {
		return nil, errors.New("that is more than the address space")
	}
	length := roundUp(size, pageSize)
	memory, err := mapPages(s, length, pageSize, &o)
	if err != nil {
		return nil, err
	}
	m := &Mapping{
		sys: s, memory: memory, addresses: RangeOf(memory), kind: o.Kind, pageSize: pageSize,
		ahead: length, name: o.Name,
	}
	if err := m.prepare(&o); err != nil {
		// The first error is the one to tell; memory that cannot be unmapped either
		// stays.
		_ = s.munmap(m.addresses.Start, m.addresses.Len())
		return nil, err
	}
	return m, nil
}

// prepare sets the policy of fresh memory, its name, and commits it.
func (m *Mapping) prepare(o *Options) error {
	s, r := m.sys, m.addresses
	switch {
	case m.kind == THP:
		if err := adviseRange(s, r, AdviseHuge); err != nil {
			return err
		}
	case m.kind == Base && s.hugeSize() > 0:
		if err := adviseRange(s, r, AdviseNoHuge); err != nil {
			return err
		}
	}
	if o.Name != "" && s.have(feature.AnonName) == nil {
		_ = s.setName(r.Start, r.Len(), o.Name) // shown to people only
	}
	hugetlb := m.kind == HugeTLB
	switch o.Commit {
	case Touch:
		touch(m.memory, m.step())
	case Populate:
		return commitRange(s, m.memory, r, hugetlb)
	case Ahead:
		m.ahead = 0
		m.piece = roundUp(aheadDefault, m.pageSize)
	}
	return nil
}

// mapPages maps length bytes, aligned to pageSize.
func mapPages(s system, length, pageSize int, o *Options) ([]byte, error) {
	flags, extra := 0, 0
	switch {
	case o.Kind == HugeTLB: // the kernel aligns these
		flags = unix.MAP_HUGETLB | (bits.Len(uint(pageSize))-1)<<unix.MAP_HUGE_SHIFT
	case pageSize > s.pageSize():
		extra = pageSize - s.pageSize()
	}
	p, err := s.mmap(uintptr(length), flags)
	if err != nil {
		return nil, explainMap(s, err, uint64(length), o, pageSize)
	}
	if uintptr(p)&uintptr(pageSize-1) == 0 {
		return unsafe.Slice((*byte)(p), length), nil // Safety: just mapped, and mapped until Close.
	}
	if err := s.munmap(uintptr(p), uintptr(length)); err != nil {
		return nil, explainUnmap(s, err)
	}
	// Map more than is needed, and unmap what is too much at both ends.
	if length > math.MaxInt-extra {
		return nil, errors.New("that is more than the address space")
	}
	p, err = s.mmap(uintptr(length+extra), flags)
	if err != nil {
		return nil, explainMap(s, err, uint64(length+extra), o, pageSize)
	}
	all := OfPointer(p, uintptr(length+extra))
	start := all.Outward(pageSize).Start
	if start < all.Start {
		start += uintptr(pageSize)
	}
	for _, r := range []Range{{all.Start, start}, {start + uintptr(length), all.End}} {
		if r.Len() == 0 {
			continue
		}
		if err := s.munmap(r.Start, r.Len()); err != nil {
			_ = s.munmap(all.Start, all.Len()) // unmaps what is left, and needs no new mapping
			return nil, explainUnmap(s, err)
		}
	}
	return unsafe.Slice((*byte)(unsafe.Add(p, start-all.Start)), length), nil // Safety: the part that stays mapped.
}

func unmap(s system, r Range) error {
	if err := s.munmap(r.Start, r.Len()); err != nil {
		return explainUnmap(s, err)
	}
	return nil
}

// explainUnmap says why memory could not be unmapped: taking a part out of a
// mapping makes two of it, and the kernel joins neighbors of one kind.
func explainUnmap(s system, err error) error {
	if errors.Is(err, unix.ENOMEM) {
		if cause := tooManyMappings(s); cause != "" {
			return because(err, "%s", cause)
		}
	}
	return err
}

// step is the distance at which every page is touched, also where the kernel
// had no huge page to give.
func (m *Mapping) step() int {
	if m.kind == HugeTLB {
		return m.pageSize
	}
	return m.sys.pageSize()
}

// commitRange gives memory to pages of a mapping without changing their contents.
func commitRange(s system, b []byte, r Range, hugetlb bool) error {
	if len(b) == 0 {
		return nil
	}
	if s.have(feature.PopulateWrite) == nil {
		return populateRange(s, r, hugetlb)
	}
	touch(b, s.pageSize())
	return nil
}

// touch writes to every page without changing it, even if somebody else is
// writing there.
func touch(b []byte, step int) {
	for off := 0; off < len(b); {
		word := uintptr(unsafe.Pointer(&b[off])) & 3
		atomic.AddUint32((*uint32)(unsafe.Add(unsafe.Pointer(&b[off]), -int(word))),
			0) // Safety: the aligned word is in the same page, all of which is mapped.
		off += step - int(uintptr(unsafe.Pointer(&b[off]))&uintptr(step-1))
	}
}

// checkName holds names to what the kernel takes.
func checkName(name string) error {
	const most = 79
	bad := func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune("[]\\`$", r) }
	if len(name) > most || strings.ContainsFunc(name, bad) {
		return fmt.Errorf("option Name: want at most %d printable ASCII characters without []\\`$", most)
	}
	return nil
}

func roundUp(n, align int) int { return (n + align - 1) &^ (align - 1) }

func (c *counter) add(bytes int) {
	c.mappings.Add(1)
	c.bytes.Add(int64(bytes))
}
