package arena

import "reflect"

// An Arena holds Go values that are allocated together and freed
// at once. It may be used by one goroutine at a time, like a slice. The zero
// Arena is ready to use with the default options; an Arena must not be copied.
//
// An Arena that becomes unreachable without Free is collected like any other Go
// value, and so are its slabs, once nothing points into them; they are just not
// reused.
type Arena struct {
	_ noCopy

	// The arena with the handles of two types is all that the GC has of a small
	// arena that comes and goes, and nothing where it lives on the stack of the
	// function that made it: the rest is reused, and does not point to it. New looks at
	// these two without a call; the second is used when the first is another type's.
	one   core  // first: a stock finds the arena by it
	two   core  // or by this one
	more  *more // what most arenas do without; nil: in use, with the default options
	large int64 // bytes in large slabs of these two that are not in the account of more

	// New writes to an arena each time, and arenas that one goroutine makes for several lie side by side:
	// on lines of the cache that they share, two processors allocated at 0.6 of their speed. So an arena, and each
	// part of it that is written to while it is used, is a multiple of a line.
	_ [48]byte
}

// more is what most arenas do without.
type more struct {
	set   *settings // nil: defaults
	held  *held     // accounts for a large arena; nil while it is small
	past  int64     // bytes handed out before the last Reset
	state state

	rest  *base         // the stocks but those of the arena's own handles
	near  [nearby]*core // handles of these that were found last, by typeKey
	types int           // how many there are, up to fewTypes
	index map[reflect.Type]*base
	debug *record // in debug mode

	asked int  // how many times New looked for a type among these, up to often
	turn  bool // which of the arena's own handles is given to one of them next

	first, second *base // in a Pool: the stocks of the arena's own handles
	large         int64 // and bytes in large slabs

	_ [24]byte // as in Arena
}

// What arenas have once they are over, but for those that keep their own. Nobody
// writes to it.
var (
	gone = more{state: freed}
	away = more{state: pooled}
)

// state says who may use the arena.
type state uint8

const (
	inUse state = iota
	freed
	pooled // put back into a Pool
)

// noCopy makes go vet report copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// NewArena returns an empty arena with the default options. It owns no memory
// for values yet. It is inlined: an arena that its function does not store, return or pass
// to a method of an interface is on the stack, and costs the GC nothing. On 64-bit systems an
// arena and its handles have cache lines of their own: goroutines with one arena each do not
// slow each other down.
func NewArena() *Arena {
	a := new(Arena)
	if debugging {
		a.more = newMore(nil)
	}
	return a
}

// NewArenaWith returns an empty arena with the given options; nil means the
// defaults.
func NewArenaWith(o *Options) *Arena {
	return &Arena{more: newMore(o)}
}

// newMore returns what an arena with options has from the beginning.
//
//go:noinline
func newMore(o *Options) *more {
	switch {
	case debugging:
		set := resolve(o)
		return &more{set: set, debug: &record{name: set.name, made: callers()}}
	case o == nil || *o == (Options{}):
		return nil
	}
	return &more{set: resolve(o)}
}

func (m *more) settings() *settings {
	if m == nil || m.set == nil {
		return &defaults
	}
	return m.set
}

// extra returns what the arena, which is in use, has more, making it.
func (a *Arena) extra() *more {
	if a.more == nil {
		a.more = new(more)
	}
	return a.more
}

// usable reports whether the arena is neither freed nor put into a pool.
func (a *Arena) usable() bool { return a.more == nil || a.more.state == inUse }

// Free frees the arena and everything allocated from it, so that the memory
// can be reused at once, without a GC cycle. Neither the arena nor its handles nor
// a pointer into it may be used afterwards; the package documentation says what
// happens when one is. Free panics if the arena was freed or put into a Pool
// before.
//
// Free clears up to 64 KiB of each type; the arena that takes the other slabs next clears
// them. Its time depends on the number of slabs: about 10 µs for 64 MiB. Until it is cleared,
// a slab keeps alive what its values pointed to: if no arena takes it, the third GC cycle
// after Free frees it.
func (a *Arena) Free() {
	m := a.more
	if m == nil {
		if b := a.one.in; b != nil {
			b.self.release(hide(&a.one), nil)
		}
		if b := a.two.in; b != nil {
			b.self.release(hide(&a.two), nil)
		}
		a.more = &gone
		return
	}
	if m.state != inUse {
		m.misuse("Free")
	}
	if r := m.debug; r != nil {
		r.end("Free")
	}
	a.free()
	m.state = freed
	if r := m.debug; r != nil {
		r.ended()
	}
}

func (a *Arena) free() {
	m := a.more
	if m.held != nil {
		m.held.end() // so that what it held does not raise the bound for itself
	}
	for b := m.rest; b != nil; {
		next := b.next
		b.self.release(b.handle, m)
		b = next
	}
	if b := a.one.in; b != nil {
		b.self.release(hide(&a.one), m)
	}
	if b := a.two.in; b != nil {
		b.self.release(hide(&a.two), m)
	}
	m.rest, m.near, m.index = nil, [nearby]*core{}, nil
}

// Reset frees everything allocated from the arena but keeps its memory for
// what the arena allocates next. Handles stay valid; pointers into the arena
// must not be used afterwards, as after Free. Memory for a slice larger than
// a slab is not kept.
func (a *Arena) Reset() {
	a.use("Reset")
	m := a.extra()
	if r := m.debug; r != nil {
		r.end("Reset")
	}
	m.hold(a.reset(maxInt64))
	if r := m.debug; r != nil {
		r.ended()
	}
}

const (
	maxInt   = int(^uint(0) >> 1)
	maxInt64 = 1<<63 - 1
)

// reset keeps slabs of at most keep bytes and returns how many of these are in
// large ones.
func (a *Arena) reset(keep int64) (large int64) {
	m := a.extra()
	if m.held != nil {
		m.held.drop()
	}
	a.large = 0
	if b := a.one.in; b != nil {
		n, l := b.self.reset(hide(&a.one), m, keep)
		keep -= n
		large += l
	}
	if b := a.two.in; b != nil {
		n, l := b.self.reset(hide(&a.two), m, keep)
		keep -= n
		large += l
	}
	for b := m.rest; b != nil; b = b.next {
		n, l := b.self.reset(b.handle, m, keep)
		keep -= n
		large += l
	}
	return large
}

// use panics if the arena was freed or put into a pool.
func (a *Arena) use(op string) {
	if !a.usable() {
		a.more.misuse(op)
	}
}

// misuse panics: the arena is over.
func (m *more) misuse(op string) {
	what := " after Free"
	if m.state == pooled {
		what = " after Put"
	}
	if r := m.debug; r != nil {
		what += r.history()
	}
	panic("arena: " + op + what)
}
