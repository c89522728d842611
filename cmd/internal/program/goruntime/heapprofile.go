package goruntime

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/layout"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/base/input"
)

// A HeapProfile is what the runtime's own heap profile says, as of the last GC cycle whose
// garbage was swept: a sample of the program's allocations.
type HeapProfile struct {
	// Rate is runtime.MemProfileRate: about one allocation is sampled for so many bytes.
	Rate uint64
	// Cycle changes with every GC cycle, and with it the profile.
	Cycle   uint32
	Records []HeapRecord
	// Moving says that the profile changed each time it was read: records may be of
	// different GC cycles.
	Moving bool
}

// A HeapRecord is the sampled objects of one size and one call stack. Counts are not
// scaled.
type HeapRecord struct {
	Size                         uint64 // of an object, in bytes
	AllocObjects, AllocBytes     uint64 // since the start of the program
	FreedObjects, FreedBytes     uint64
	Stack                        []uint64 // return addresses, innermost first
	id                           uint64   // where the runtime has it
	pendingObjects, pendingFrees uint64   // of cycles that are not complete
}

// ErrNoHeapProfile says that a program keeps no heap profile.
var ErrNoHeapProfile = errors.New("it keeps no heap profile")

// ErrUnlinked is the ErrNoHeapProfile of a program that an import cures.
var ErrUnlinked = fmt.Errorf("%w: nothing in the program reads runtime.MemProfile, so the linker switched the profile off; add import _ \"net/http/pprof\" (it opens no port) and build again",
	ErrNoHeapProfile)

const (
	maxProfileDepth = 1024 // maxProfStackDepth of Go 1.23 on; 32 before
	profileCycles   = 3    // memRecord.future
	// mostHeapCount is more bytes than any profile counts, and few enough to add up.
	mostHeapCount = 1 << 56
	// heapProfileTries is how often a profile that changes is read.
	heapProfileTries = 20
)

// KeepsHeapProfile returns nil if the program may keep a heap profile, and ErrUnlinked if it does
// not: that takes no reading.
func (t *Target) KeepsHeapProfile() error {
	if !t.at.Links(layout.HeapProfiler) {
		return ErrUnlinked
	}
	return nil
}

// HeapProfile reads the heap profile. It is read until two readings are the same, since
// the program adds to it after each GC cycle.
func (t *Target) HeapProfile(ctx context.Context) (*HeapProfile, error) {
	if t.at.ProfileCycle == 0 || t.at.ProfileRate == 0 {
		return nil, fmt.Errorf("runtime.MemProfileRate or runtime.mProfCycle was not found: %w", layout.ErrUnknown)
	}
	if err := t.KeepsHeapProfile(); err != nil {
		return nil, err
	}
	var last *HeapProfile
	var err error
	for try := range heapProfileTries {
		if try > 1 {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(time.Millisecond):
			}
		}
		var p *HeapProfile
		if p, err = t.readHeapProfile(); errors.Is(err, ErrInconsistent) {
			last = nil
			continue
		}
		if err != nil {
			return nil, err
		}
		if last.same(p) {
			return p, nil
		}
		last = p
	}
	if last == nil {
		return nil, err
	}
	last.Moving = true
	return last, nil
}

// same reports whether two readings found the same.
func (p *HeapProfile) same(q *HeapProfile) bool {
	return p != nil && p.Cycle == q.Cycle && p.Rate == q.Rate && slices.EqualFunc(p.Records, q.Records, func(a, b HeapRecord) bool {
		return a.id == b.id && a.AllocObjects == b.AllocObjects && a.FreedObjects == b.FreedObjects &&
			a.AllocBytes == b.AllocBytes && a.FreedBytes == b.FreedBytes
	})
}

// heapRecordFields are where a record has what is read.
type heapRecordFields struct {
	next, typ, size, stack               layout.Field
	active, future                       layout.Field
	allocs, frees, allocBytes, freeBytes layout.Field
	head, cycle, all                     uint64 // bytes
}

func (t *Target) heapRecordFields() (f heapRecordFields, err error) {
	f = heapRecordFields{
		next: t.field("bucket.allnext"), typ: t.field("bucket.typ"), size: t.field("bucket.size"), stack: t.field("bucket.nstk"),
		active: t.field("memRecord.active"), future: t.field("memRecord.future"),
		allocs: t.field("memRecordCycle.allocs"), frees: t.field("memRecordCycle.frees"),
		head: t.field("bucket").Size, cycle: t.field("memRecordCycle").Size, all: t.field("memRecord").Size,
	}
	f.allocBytes, _ = t.l.Field("memRecordCycle.alloc_bytes") // until Go 1.24; later they follow from the size
	f.freeBytes, _ = t.l.Field("memRecordCycle.free_bytes")
	return f, t.lacks()
}

// readHeapProfile reads the profile once.
func (t *Target) readHeapProfile() (*HeapProfile, error) {
	f, err := t.heapRecordFields()
	if err != nil {
		return nil, err
	}
	head, err := t.Buckets(MemoryProfile)
	if err != nil {
		return nil, err
	}
	rate, err := t.word(t.at.ProfileRate + t.moved)
	if err != nil {
		return nil, err
	}
	if head == 0 && rate == 0 {
		return nil, fmt.Errorf("%w: runtime.MemProfileRate is 0, set by the program or by GODEBUG=memprofilerate=0", ErrNoHeapProfile)
	}
	var cycle [4]byte
	if err := t.read(t.at.ProfileCycle+t.moved, cycle[:]); err != nil {
		return nil, err
	}
	p := &HeapProfile{Rate: rate, Cycle: binary.LittleEndian.Uint32(cycle[:]) >> 1}
	pending := uint64(p.Cycle%profileCycles) * f.cycle
	blocks := &blocks{t: t}
	words := 0
	none := true
	seen, power := uint64(0), 1 // a record before, of each power of two
	for at := head; at != 0; {
		if n := len(p.Records); n == power {
			seen, power = at, 2*power
		} else if at == seen {
			return nil, fmt.Errorf("%w: the list of its heap profile leads to itself", ErrInconsistent)
		}
		if len(p.Records) == input.MaxGoSites || words > input.MaxGoSiteFrames {
			return nil, fmt.Errorf("%w: the list of its heap profile does not end", ErrInconsistent)
		}
		b, err := blocks.read(at, f.head)
		if err != nil {
			return nil, err
		}
		next, depth := number(b, f.next), number(b, f.stack)
		r := HeapRecord{id: at, Size: number(b, f.size)}
		if number(b, f.typ) != MemoryProfile || depth > maxProfileDepth || at%8 != 0 {
			return nil, fmt.Errorf("%w: a record of its heap profile at %#x", ErrInconsistent, at)
		}
		words += int(depth)
		stack, err := blocks.read(at+f.head, 8*depth)
		if err != nil {
			return nil, err
		}
		r.Stack = make([]uint64, depth)
		for i := range r.Stack {
			r.Stack[i] = binary.LittleEndian.Uint64(stack[8*i:])
		}
		record, err := blocks.read(at+f.head+8*depth, f.all)
		if err != nil {
			return nil, err
		}
		later := HeapRecord{Size: r.Size}
		sane := t.addCycle(&f, &r, record[f.active.Offset:])
		for i := range uint64(profileCycles) {
			to := &later
			if i*f.cycle == pending { // the last cycle's, which the runtime may not have added yet
				to = &r
			}
			sane = t.addCycle(&f, to, record[f.future.Offset+i*f.cycle:]) && sane
		}
		if !sane {
			return nil, fmt.Errorf("%w: a record of its heap profile counts %d objects", ErrInconsistent, r.AllocObjects)
		}
		r.pendingObjects, r.pendingFrees = later.AllocObjects, later.FreedObjects
		none = none && r.AllocObjects == 0 && r.FreedObjects == 0
		p.Records = append(p.Records, r)
		at = next
	}
	for i := range p.Records {
		r := &p.Records[i]
		if none { // no cycle is complete: the runtime shows what it has
			r.AllocObjects, r.FreedObjects = r.pendingObjects, r.pendingFrees
			r.AllocBytes, r.FreedBytes = r.AllocObjects*r.Size, r.FreedObjects*r.Size
		}
		if r.FreedObjects > r.AllocObjects || r.FreedBytes > r.AllocBytes {
			return nil, fmt.Errorf("%w: its heap profile counts %d freed of %d objects", ErrInconsistent, r.FreedObjects, r.AllocObjects)
		}
		r.pendingObjects, r.pendingFrees = 0, 0
	}
	return p, nil
}

// addCycle adds what a cycle counts. It is false if that cannot be.
func (t *Target) addCycle(f *heapRecordFields, r *HeapRecord, b []byte) bool {
	allocs, frees := number(b, f.allocs), number(b, f.frees)
	if max(allocs, frees) > mostHeapCount/max(r.Size, 1) {
		return false
	}
	allocBytes, freeBytes := allocs*r.Size, frees*r.Size
	if f.allocBytes.Size != 0 {
		allocBytes, freeBytes = number(b, f.allocBytes), number(b, f.freeBytes)
	}
	r.AllocObjects += allocs
	r.FreedObjects += frees
	r.AllocBytes += allocBytes
	r.FreedBytes += freeBytes
	return max(allocBytes, freeBytes) <= mostHeapCount
}

// blocks reads memory by pages, since what the runtime allocates one after the other it
// often reads so. What it has read it does not read again: it is for one pass.
type blocks struct {
	t    *Target
	from uint64
	b    []byte
}

const blockBytes = 64 << 10

// read returns n bytes, which are valid until the next call.
func (b *blocks) read(at, n uint64) ([]byte, error) {
	if at >= b.from && at-b.from <= uint64(len(b.b)) && n <= uint64(len(b.b))-(at-b.from) {
		return b.b[at-b.from:][:n], nil
	}
	if n > blockBytes || at > 1<<62 {
		return nil, fmt.Errorf("%w: %d bytes at %#x", ErrInconsistent, n, at)
	}
	// Up to the end of the block, which is mapped as a whole where memory comes in chunks;
	// else as much as is needed.
	from := at &^ (systemPage - 1)
	size := max((from|(blockBytes-1))+1-from, at+n-from)
	if uint64(cap(b.b)) < 2*blockBytes {
		b.b = make([]byte, 0, 2*blockBytes)
	}
	b.from, b.b = from, b.b[:size]
	if err := b.t.read(from, b.b); err == nil {
		return b.b[at-from:][:n], nil
	}
	b.from, b.b = at, b.b[:n]
	if err := b.t.read(at, b.b); err != nil {
		b.b = b.b[:0]
		return nil, err
	}
	return b.b, nil
}

// Frames returns the names of what is executed at an address of the process, innermost
// first: what was inlined there, then the function. callsite is for return addresses. It is
// nil for what is not of the file of the program or library, or of a plugin of it.
func (t *Target) Frames(pc uint64, callsite bool) []symbol.Frame {
	file, moved := t.fileOf(pc)
	if file == nil {
		return nil
	}
	return file.Lookup(pc-moved, callsite)
}
