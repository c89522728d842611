package goruntime

import (
	"encoding/binary"
	"fmt"

	"github.com/foliomem/folio/cmd/internal/program/layout"
)

// Variables that have no method by which they are found are seen by what is in them:
// of those that a function refers to, one has the right contents.

// processors returns the addresses of the runtime's processors (P): allp is the slice
// whose elements have their own index as id.
func (t *Target) processors() ([]uint64, error) {
	const most = 1 << 16
	id := t.field("p.id")
	if err := t.lacks(); err != nil {
		return nil, err
	}
	for _, at := range t.at.References[layout.Processors] {
		s, err := t.slice(at+t.moved, 8, most)
		if err != nil || s.len == 0 {
			continue
		}
		b := make([]byte, 8*s.len)
		if t.read(s.ptr, b) != nil {
			continue
		}
		var all []uint64
		for i := range s.len {
			p := binary.LittleEndian.Uint64(b[8*i:])
			var n [4]byte
			if p == 0 || t.read(p+id.Offset, n[:]) != nil || uint64(binary.LittleEndian.Uint32(n[:])) != i {
				break
			}
			all = append(all, p)
		}
		if uint64(len(all)) == s.len {
			return all, nil
		}
	}
	return nil, fmt.Errorf("runtime.allp was not found: %w", ErrInconsistent)
}

// Goroutines returns the addresses of the structures (runtime.g) of all goroutines that
// there were at one time, dead ones that wait for their next use included. allgs is the
// slice of which the runtime keeps pointer and length apart, for those that read it
// without a lock.
func (t *Target) Goroutines() ([]uint64, error) {
	const most = 1 << 22
	t.begin()
	refs := t.at.References[layout.GoroutineAdded]
	values := make(map[uint64]uint64)
	for _, at := range refs {
		if v, err := t.word(at + t.moved); err == nil {
			values[at] = v
		}
	}
	for _, at := range refs {
		s, err := t.slice(at+t.moved, 8, most)
		if err != nil || s.len == 0 {
			continue
		}
		pointer, length := false, false
		for other, v := range values {
			if other < at || other >= at+24 {
				pointer = pointer || v == s.ptr
				length = length || v == s.len
			}
		}
		if !pointer || !length {
			continue
		}
		b := make([]byte, 8*s.len)
		if err := t.read(s.ptr, b); err != nil {
			return nil, err
		}
		all := make([]uint64, s.len)
		for i := range all {
			all[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
		return all, nil
	}
	return nil, fmt.Errorf("runtime.allgs was not found: %w", ErrInconsistent)
}

// The kinds of profiles that the runtime keeps (bucketType).
const (
	MemoryProfile = 1
	BlockProfile  = 2
	MutexProfile  = 3
)

// Buckets returns the address of the first record (runtime.bucket) of a profile, 0 if it
// has none. Records of one profile are a list by their field allnext.
func (t *Target) Buckets(kind uint64) (uint64, error) {
	typ := t.field("bucket.typ")
	if err := t.lacks(); err != nil {
		return 0, err
	}
	t.begin()
	for _, at := range t.at.References[layout.Buckets] {
		v, err := t.word(at + t.moved)
		if err != nil || v == 0 || v%8 != 0 {
			continue
		}
		if k, err := t.word(v + typ.Offset); err == nil && k == kind {
			return v, nil
		}
	}
	return 0, nil
}

const (
	systemPage      = 4 << 10   // the least of all systems
	persistentChunk = 256 << 10 // persistentChunkSize
	buckHashBytes   = 179999 * 8
)

// Metadata returns where the runtime keeps what it needs for itself outside of the heap,
// ascending: ranges of its mappings, of which not all is in memory. What it has
// there of which it keeps no list (traces, some small tables) is missing.
func (t *Target) Metadata() ([]Range, error) {
	t.begin()
	var out []Range
	add := func(start, size uint64) {
		if start != 0 && size != 0 && start <= 1<<48 && size <= 1<<48 {
			out = append(out, Range{start, start + size})
		}
	}
	if err := t.heapTables(add); err != nil {
		return nil, err
	}
	for _, list := range []func(add func(start, size uint64)) error{t.persistent, t.gcBits} {
		if err := list(add); err != nil {
			return nil, err
		}
	}
	for _, at := range t.at.References[layout.Buckets] {
		if v, err := t.word(at + t.moved); err == nil && v != 0 && v%systemPage == 0 {
			add(v, buckHashBytes)
		}
	}
	return joined(out), nil
}

// heapTables are the tables by which the heap is found: of spans, arenas and pages.
func (t *Target) heapTables(add func(start, size uint64)) error {
	at := t.at.MHeap + t.moved
	summary, chunks, chunk := t.field("mheap.pages.summary"), t.field("mheap.pages.chunks"), t.field("pallocData")
	index, spans := t.field("mheap.pages.scav.index.chunks"), t.field("mheap.allspans")
	arenas, arena := t.field("mheap.arenas"), t.field("heapArena")
	if err := t.lacks(); err != nil {
		return err
	}
	const most = 1 << 40 / 8
	for i := uint64(0); i < summary.Size; i += 24 {
		if s, err := t.slice(at+summary.Offset+i, 8, most); err == nil {
			add(s.ptr, 8*s.cap)
		}
	}
	for _, f := range []layout.Field{index, spans} {
		if s, err := t.slice(at+f.Offset, 8, most); err == nil {
			add(s.ptr, 8*s.cap)
		}
	}
	lists := make([]byte, chunks.Size)
	if err := t.read(at+chunks.Offset, lists); err != nil {
		return err
	}
	n := chunks.Size / 8
	for ; len(lists) >= 8; lists = lists[8:] {
		add(binary.LittleEndian.Uint64(lists), chunk.Size<<chunkBits/n)
	}
	table, err := t.word(at + arenas.Offset)
	if err != nil {
		return err
	}
	add(table, 1<<48/arenaBytes*8)
	f, err := t.heapFields()
	if err != nil {
		return err
	}
	all, err := t.readArenas(&f, at)
	if err != nil {
		return err
	}
	for _, r := range all {
		b := make([]byte, r.Len()/arenaBytes*8)
		if err := t.read(table+(r.Start-t.base)/arenaBytes*8, b); err != nil {
			return err
		}
		for ; len(b) >= 8; b = b[8:] {
			add(binary.LittleEndian.Uint64(b), arena.Size)
		}
	}
	return nil
}

// persistent are the chunks of memory that is never freed, each of which begins with the
// address of the next: the longest list is that of all.
func (t *Target) persistent(add func(start, size uint64)) error {
	var longest []uint64
	for _, at := range t.at.References[layout.Persistent] {
		v, err := t.word(at + t.moved)
		if err != nil {
			continue
		}
		if list := t.list(v, 0); len(list) > len(longest) {
			longest = list
		}
	}
	for _, v := range longest {
		add(v, persistentChunk)
	}
	return nil
}

// gcBits are the chunks of the bitmaps of objects, in lists by a field of theirs.
func (t *Target) gcBits(add func(start, size uint64)) error {
	if t.at.GCBitsArenas == 0 {
		return nil
	}
	size, next := t.field("gcBitsArena"), t.field("gcBitsArena.next")
	if err := t.lacks(); err != nil {
		return err
	}
	for _, name := range []string{"free", "next", "current", "previous"} {
		f, ok := t.l.Field("gcBitsArenas." + name)
		if !ok {
			continue
		}
		v, err := t.word(t.at.GCBitsArenas + t.moved + f.Offset)
		if err != nil {
			return err
		}
		for _, at := range t.list(v, next.Offset) {
			add(at, size.Size)
		}
	}
	return nil
}

// list follows a list of pages' addresses up to its end; nil if it is none.
func (t *Target) list(v, next uint64) (out []uint64) {
	const most = 1 << 20
	for v != 0 {
		if v%systemPage != 0 || len(out) == most {
			return nil
		}
		out = append(out, v)
		var err error
		if v, err = t.word(v + next); err != nil {
			return nil
		}
	}
	return out
}
