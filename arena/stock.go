package arena

import (
	"reflect"
	"unsafe"
)

// A stock is what a handle allocates from: the slabs of one type in one arena.
// When the arena is freed, the stock stays with its small slabs, to be reused as it
// is by an arena that comes later: a small arena that comes and goes takes one
// step into the depot and one out of it. Nobody but the handle, which loses it
// then, ever refers to a stock; handles and arenas themselves are not reused,
// so that one that was kept after Free still says so. A stock does not refer to
// the arena or its first handle, which may be on a stack: its methods are passed
// the handle.
type stock[T any] struct {
	base
	slabs  *slab[T] // the first is the current one
	kept   *slab[T] // empty ones, the small ones first
	depot  *depot[T]
	home   *shard[T] // that it was taken from
	idle   *stock[T] // the next one in the depot
	bytes  int64     // of kept, in the depot
	unused bool      // hot over a whole GC cycle
	grown  class     // size of the next slab
	_      [30]byte  // as in Arena
}

// base is the part of a stock that is the same for all types.
type base struct {
	self   store // what the base is part of
	more   *more // of the arena, and
	handle *core // the stock's handle; both nil where that is one of the arena's own
	next   *base // in the arena's list
	pinned bool  // the program has the handle
	second bool  // the handle is the arena's second one
}

// settings returns those of the arena of the stock with handle c.
func (b *base) settings(c *core) *settings {
	if b.more != nil {
		return b.more.settings()
	}
	return b.arena(c).more.settings()
}

// hold says that the arena of the stock with handle c holds one slab more, of n
// bytes.
func (b *base) hold(c *core, n int64) {
	if n < largeSlab {
		return
	}
	if b.more != nil {
		b.more.hold(n)
		return
	}
	a := b.arena(c)
	if a.large += n; a.more != nil || a.large >= largeArena {
		a.extra().hold(a.large)
		a.large = 0
	}
}

// arena returns the arena that c, the stock's handle, is part of.
func (b *base) arena(c *core) *Arena {
	if b.second {
		// Safety: it is this field of an Arena, and that of no other type.
		return (*Arena)(unsafe.Add(unsafe.Pointer(c), -int(unsafe.Offsetof(Arena{}.two))))
	}
	// Safety: it is the first field of an Arena, and that of no other type.
	return (*Arena)(unsafe.Pointer(c))
}

// store is what an Arena needs of its stocks without knowing their types. c is
// the stock's handle, nil in an arena of a Pool that did not need it since Get, and m what the arena has more, nil if nothing.
type store interface {
	open(a *Arena) *core                                    // the arena's handle of the type, with room; of nil
	fill(c *core)                                           // where the slab is full: makes another one c's; panics after Free
	release(c *core, m *more)                               // for Free
	reset(c *core, m *more, keep int64) (kept, large int64) // for Reset: keeps slabs of at most keep bytes
	detach(c *core)                                         // for Put, after reset: ends the handle
	start(c *core)                                          // makes c the stock's handle
	count(c *core, to *counter)                             // for Stats
	typ() reflect.Type
}

func (s *stock[T]) typ() reflect.Type { return reflect.TypeFor[T]() }

func (*stock[T]) open(a *Arena) *core {
	c := &handle[T](a).core
	if c.at == 0 {
		c.more()
	}
	return c
}

// fill makes a slab c's where the current one is full.
func (s *stock[T]) fill(c *core) {
	if s.depot.size == 0 {
		s.nothing(c, 1)
		return
	}
	s.push(c, s.obtain(c, 1))
}

// room returns n elements of a new slab. It becomes the current one, unless less
// would be left of it than is left of the current one.
func (s *stock[T]) room(c *core, n int) []T {
	if s.depot.size == 0 {
		return s.nothing(c, n)
	}
	l := s.obtain(c, n)
	if s.slabs == nil || len(l.buf)-n > unused[T](c) {
		s.push(c, l)
		c.at += uintptr(n) * s.depot.size
	} else {
		l.used = n
		l.link, s.slabs.link = s.slabs.link, l
	}
	return l.buf[:n:n]
}

// nothing hands out n elements of no size, which take no memory: any number of
// them is one slab.
func (s *stock[T]) nothing(c *core, n int) []T {
	if s.slabs == nil {
		s.slabs = &slab[T]{buf: make([]T, maxInt), size: own}
		c.last = unsafe.Pointer(unsafe.SliceData(s.slabs.buf))
	}
	s.slabs.used += n
	return s.slabs.buf[:n:n]
}

// push makes l the current slab.
func (s *stock[T]) push(c *core, l *slab[T]) {
	s.note(c)
	l.link, s.slabs = s.slabs, l
	from(c, l.buf)
}

// note makes the current slab say how much of it was handed out.
func (s *stock[T]) note(c *core) {
	if l := s.slabs; l != nil && c != nil {
		l.used = s.used(c)
	}
}

// used returns how many elements of the current slab, which there is, were handed out.
func (s *stock[T]) used(c *core) int {
	if s.depot.size == 0 {
		return s.slabs.used
	}
	return len(s.slabs.buf) - unused[T](c)
}

// obtain returns a slab with at least n zero elements: one that Reset kept,
// or one of the depot's.
func (s *stock[T]) obtain(c *core, n int) *slab[T] {
	d, set := s.depot, s.settings(c)
	if n > d.most(set.maxClass) {
		l := &slab[T]{buf: make([]T, n), size: own}
		s.hold(c, l.bytes())
		d.advise(l, set)
		return l
	}
	for p := &s.kept; *p != nil; p = &(*p).link {
		if l := *p; len(l.buf) >= n {
			*p = l.link
			return l
		}
	}
	size := max(min(s.grown, set.maxClass), d.least(n))
	s.grown = size.next()
	l := d.obtain(size, set)
	s.hold(c, l.bytes())
	return l
}

// drain takes all slabs from the stock and its handle and passes them to f, the
// oldest, which are the smallest, first. It does not use the stock any more then.
func (s *stock[T]) drain(c *core, f func(*slab[T])) {
	s.note(c)
	lists := [...]*slab[T]{s.kept, s.slabs}
	s.slabs, s.kept = nil, nil
	from[T](c, nil)
	for _, l := range lists {
		var back *slab[T]
		for l != nil {
			l, l.link, back = l.link, back, l
		}
		for l = back; l != nil; {
			next := l.link
			l.link = nil
			f(l)
			l = next
		}
	}
}

func (s *stock[T]) release(c *core, m *more) {
	d := s.depot
	if m != nil && m.debug != nil {
		s.quarantineAll(c, m.debug)
		c.end(newEnded(m)) // there are no pools in debug mode
		return
	}
	most := m.settings().idle
	var out dropped[T]
	if l := s.slabs; l != nil && l.link == nil && s.kept == nil && l.bytes() < largeSlab && l.size != own {
		// The one slab of a small arena.
		s.note(c)
		l.clear()
		from[T](c, nil)
		s.slabs, s.kept, s.bytes, s.grown = nil, l, l.bytes(), l.size.next()
	} else {
		s.sort(c, &out, most)
	}
	if c != nil {
		c.end(nil)
	}
	s.base = base{self: s.self}
	// The bound is for what one may release; of small slabs that are dropped
	// the GC takes care.
	d.putStock(s, most)
	out.end(d, most)
}

// sort leaves the small slabs in the stock and gives the others to the depot, or
// to out. What the arena had at hand and did not need does not stay for long: the
// largest of that goes to the depot each time.
func (s *stock[T]) sort(c *core, out *dropped[T], most int64) {
	unused := s.kept
	s.kept = nil
	last, bytes := &s.kept, int64(0)
	s.drain(c, func(l *slab[T]) {
		if b := l.bytes(); l.size != own && bytes+b <= largeSlab {
			l.clear()
			*last, last, bytes = l, &l.link, bytes+b
		} else if !s.depot.put(l, most) {
			out.add(l)
		}
	})
	for l := unused; l != nil; {
		next := l.link
		l.link = nil
		if b := l.bytes(); next != nil && bytes+b <= largeSlab {
			*last, last, bytes = l, &l.link, bytes+b
		} else if !s.depot.put(l, most) {
			out.add(l)
		}
		l = next
	}
	s.bytes, s.grown = bytes, s.depot.first
	for l := s.kept; l != nil; l = l.link {
		s.grown = max(s.grown, l.size.next())
	}
}

func (s *stock[T]) reset(c *core, m *more, keep int64) (n, large int64) {
	if r := m.debug; r != nil {
		s.quarantineAll(c, r)
		return 0, 0
	}
	size := int64(s.depot.size)
	if l := s.slabs; l != nil && l.link == nil && s.kept == nil && l.size != own && l.bytes() <= keep {
		s.note(c)
		m.past += int64(l.used) * size
		l.clear()
		from(c, l.buf)
		if n = l.bytes(); n >= largeSlab {
			large = n
		}
		return n, large
	}
	set := m.settings()
	s.grown = s.depot.first
	var list *slab[T]
	var out dropped[T]
	s.drain(c, func(l *slab[T]) {
		b := l.bytes()
		m.past += int64(l.used) * size
		if l.size != own && n+b <= keep {
			l.clear()
			n += b
			if b >= largeSlab {
				large += b
			}
			l.link, list = list, l
			s.grown = max(s.grown, l.size.next())
			return
		}
		if !s.depot.put(l, set.idle) {
			out.add(l)
		}
	})
	out.end(s.depot, set.idle)
	s.kept = list
	return n, large
}

// attach makes a handle of the arena the stock's: one of its own, if that is free.
func (s *stock[T]) attach(a *Arena) *Handle[T] {
	switch {
	case a.one.in == nil:
		s.start(&a.one)
		return handleOf[T](&a.one)
	case a.two.in == nil:
		s.second = true
		s.start(&a.two)
		return handleOf[T](&a.two)
	}
	m := a.extra()
	m.list(&s.base)
	return s.attachListed(m)
}

// attachListed makes a new handle for a stock of the list.
func (s *stock[T]) attachListed(m *more) *Handle[T] {
	c := &new(listed).core
	s.handle, s.more = c, m
	s.start(c)
	return handleOf[T](c)
}

// start makes c the stock's handle.
func (s *stock[T]) start(c *core) {
	c.key, c.in = typeKey(s), &s.base
	if l := s.slabs; l != nil {
		from(c, l.buf)
	} else if l := s.kept; l != nil {
		s.kept = l.link
		s.push(c, l)
	}
}

func (s *stock[T]) detach(c *core) {
	if c != nil {
		c.end(pooledAway)
	}
	s.handle, s.more, s.pinned, s.second = nil, nil, false, false
}
