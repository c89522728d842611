package arena

import (
	"reflect"
	"unsafe"
)

// An Arena is a collection of Go values that are allocated together and freed
// at once. It may be used by one goroutine at a time, like a slice. The zero
// Arena is ready to use with the default options; an Arena must not be copied.
//
// An Arena that becomes unreachable without Free costs nothing but the reuse
// of its memory: its slabs are ordinary Go memory, collected once nothing
// points into them.
type Arena struct {
	_ noCopy

	last  store     // the *Handle[T] that was found last
	first *core     // all handles
	set   *settings // nil: defaults
	held  *held     // accounts for a large arena; nil while it is small
	more  *more     // what most arenas do without
	past  int64     // bytes handed out before the last Reset
	state state
	types uint8 // how many handles there are, up to fewTypes
}

// more is what most arenas do without.
type more struct {
	index map[reflect.Type]store // the handles by type, once they are many
	debug *record                // in debug mode
}

// state says who may use the arena.
type state uint8

const (
	inUse state = iota
	freed
	pooled // given back to a Pool
)

// store is what an Arena needs of its handles without knowing their types.
type store interface {
	fill() unsafe.Pointer          // a new element where the slab is full; panics after Free
	release()                      // for Free
	reset(keep int64) (kept int64) // for Reset: keeps slabs of at most keep bytes
	count(*counter)
	typ() reflect.Type
}

// core is the part of a handle that is the same for all types. A method of
// it costs the inliner less than one of the generic type: New needs that.
type core struct {
	self  store
	next  *core // the arena's next handle
	arena *Arena
}

// more returns a new element where the current slab is full.
//
//go:noinline
func (c *core) more() unsafe.Pointer { return c.self.fill() }

// noCopy makes go vet report copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// NewArena returns an empty arena with the default options. It owns no memory
// for values yet.
func NewArena() *Arena {
	if debugging {
		return newDebug(nil)
	}
	return new(Arena)
}

// NewArenaWith returns an empty arena with the given options; nil means the
// defaults.
func NewArenaWith(o *Options) *Arena {
	if debugging {
		return newDebug(o)
	}
	if o == nil || *o == (Options{}) {
		return new(Arena)
	}
	return &Arena{set: resolve(o)}
}

func (a *Arena) settings() *settings {
	if a.set == nil {
		return &defaults
	}
	return a.set
}

// Free frees the arena and everything allocated from it, so that the memory
// can be reused at once, without a collection. No pointer into the arena may
// be used afterwards; the package documentation says what happens when one is.
// Free panics when the arena was freed before.
func (a *Arena) Free() {
	if a.state != inUse {
		a.misuse("Free")
	}
	if r := a.debug(); r != nil {
		r.end("Free")
	}
	a.free()
	a.state = freed
}

func (a *Arena) free() {
	if a.held != nil {
		a.held.drop() // so that what it held does not raise the bound for itself
	}
	for c := a.first; c != nil; c = c.next {
		c.self.release()
	}
	a.last, a.first = nil, nil
	if a.more != nil {
		a.more.index = nil
	}
}

// Reset frees everything allocated from the arena but keeps its memory for
// what the arena allocates next. Handles stay valid; pointers into the arena
// must not be used afterwards, as after Free. Memory for a slice larger than
// a slab is not kept.
func (a *Arena) Reset() {
	if a.state != inUse {
		a.misuse("Reset")
	}
	if r := a.debug(); r != nil {
		r.end("Reset")
	}
	a.reset(maxInt64)
}

const (
	maxInt   = int(^uint(0) >> 1)
	maxInt64 = 1<<63 - 1
)

func (a *Arena) reset(keep int64) {
	if a.held != nil {
		a.held.drop()
	}
	for c := a.first; c != nil; c = c.next {
		keep -= c.self.reset(keep)
	}
}

// misuse panics: the arena was freed or given back.
func (a *Arena) misuse(op string) {
	what := " after Free"
	if a.state == pooled {
		what = " after Put"
	}
	if r := a.debug(); r != nil {
		what += r.history()
	}
	panic("arena: " + op + what)
}
