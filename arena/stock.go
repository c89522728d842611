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
// so that one that was kept after Free still says so.
type stock[T any] struct {
	base
	handle *Handle[T]
	slabs  *slab[T] // the first is the current one
	kept   *slab[T] // empty ones, the small ones first
	depot  *depot[T]
	home   *shard[T] // that it was taken from
	idle   *stock[T] // the next one in the depot
	bytes  int64     // of kept, in the depot
	unused bool      // hot over a whole collection
	grown  class     // size of the next slab
}

// base is the part of a stock that is the same for all types.
type base struct {
	self  store // what the base is part of
	arena *Arena
	next  *base // in the arena's list
}

// store is what an Arena needs of its stocks without knowing their types.
type store interface {
	fill() unsafe.Pointer                           // a new element where the slab is full; panics after Free
	release(a *Arena)                               // for Free
	reset(a *Arena, keep int64) (kept, large int64) // for Reset: keeps slabs of at most keep bytes
	detach()                                        // for Put, after reset: ends the handle
	attach(*Arena)                                  // makes a handle
	count(*counter)
	typ() reflect.Type
	common() *base
}

func (b *base) common() *base { return b }

func (s *stock[T]) typ() reflect.Type { return reflect.TypeFor[T]() }

// fill is New where the current slab is full.
func (s *stock[T]) fill() unsafe.Pointer {
	s.push(s.obtain(1, s.arena.settings()))
	h := s.handle
	h.n = 1
	return h.first // Safety: New makes it a *T again.
}

// room adds a slab with at least n elements. It becomes the current one,
// unless less would be left of it than is left of the current one.
func (s *stock[T]) room(n int) *slab[T] {
	h := s.handle
	l := s.obtain(n, s.arena.settings())
	if s.slabs == nil || len(l.buf)-n > h.left() {
		s.push(l)
		return l
	}
	l.link, s.slabs.link = s.slabs.link, l
	return l
}

// push makes l the current slab.
func (s *stock[T]) push(l *slab[T]) {
	h := s.handle
	if s.slabs != nil {
		s.slabs.used = h.used()
	}
	l.link, s.slabs = s.slabs, l
	h.from(l.buf)
}

// obtain returns a slab with at least n zero elements: one that Reset kept,
// or one of the depot's.
func (s *stock[T]) obtain(n int, set *settings) *slab[T] {
	d := s.depot
	if d.size == 0 {
		// Any number of them takes no memory.
		return &slab[T]{buf: make([]T, maxInt), size: own}
	}
	if n > d.most(set.maxClass) {
		l := &slab[T]{buf: make([]T, n), size: own}
		s.arena.hold(l.bytes())
		d.advise(l, set)
		return l
	}
	for p := &s.kept; *p != nil; p = &(*p).link {
		if l := *p; len(l.buf) >= n {
			*p = l.link
			return l
		}
	}
	c := max(min(s.grown, set.maxClass), d.least(n))
	s.grown = c.next()
	l := d.obtain(c, set)
	s.arena.hold(l.bytes())
	return l
}

// drain takes all slabs from the stock and its handle and passes them to f, the
// oldest, which are the smallest, first. It does not use the stock any more then.
func (s *stock[T]) drain(f func(*slab[T])) {
	if s.slabs != nil && s.handle != nil {
		s.slabs.used = s.handle.used()
	}
	lists := [...]*slab[T]{s.kept, s.slabs}
	s.slabs, s.kept = nil, nil
	if h := s.handle; h != nil {
		h.from(nil)
	}
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

func (s *stock[T]) release(a *Arena) {
	h, d := s.handle, s.depot
	if r := a.debug(); r != nil {
		s.quarantineAll(r)
		h.in = newEnded(a)
		return
	}
	most := a.settings().idle
	var out dropped[T]
	if l := s.slabs; h != nil && l != nil && l.link == nil && s.kept == nil && l.bytes() < largeSlab && l.size != own {
		// The one slab of a small arena.
		l.used = h.used()
		l.clear()
		h.from(nil)
		s.slabs, s.kept, s.bytes, s.grown = nil, l, l.bytes(), l.size.next()
	} else {
		s.sort(&out, most)
	}
	if h != nil {
		h.in = nil
	}
	s.arena, s.next, s.handle = nil, nil, nil
	// The bound is for what one may release; of small slabs that are dropped
	// the GC takes care.
	d.putStock(s, most)
	out.end(d, most)
}

// sort leaves the small slabs in the stock and gives the others to the depot, or
// to out. What the arena had at hand and did not need does not stay for long: the
// largest of that goes to the depot each time.
func (s *stock[T]) sort(out *dropped[T], most int64) {
	unused := s.kept
	s.kept = nil
	last, bytes := &s.kept, int64(0)
	s.drain(func(l *slab[T]) {
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

func (s *stock[T]) reset(a *Arena, keep int64) (n, large int64) {
	if r := a.debug(); r != nil {
		s.quarantineAll(r)
		return 0, 0
	}
	size := int64(s.depot.size)
	if l := s.slabs; l != nil && l.link == nil && s.kept == nil && l.size != own && l.bytes() <= keep {
		if h := s.handle; h != nil {
			a.more.past += int64(h.n) * size
			clear(h.buf()[:h.n])
			h.n = 0
		}
		if n = l.bytes(); n >= largeSlab {
			large = n
		}
		return n, large
	}
	set := a.settings()
	s.grown = s.depot.first
	var list *slab[T]
	var out dropped[T]
	s.drain(func(l *slab[T]) {
		b := l.bytes()
		a.more.past += int64(l.used) * size
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

// attach makes the stock that of a handle of the arena.
func (s *stock[T]) attach(a *Arena) {
	h := handleOne[T](a)
	if h.in != nil {
		h = new(Handle[T])
	}
	h.in, s.handle, s.arena = s, h, a
	if l := s.slabs; l != nil {
		h.from(l.buf)
	} else if l := s.kept; l != nil {
		s.kept = l.link
		s.push(l)
	}
}

func (s *stock[T]) detach() {
	if h := s.handle; h != nil {
		h.in = pooledAway
		h.from(nil)
		s.arena, s.handle = nil, nil
	}
}
