package arena

import "sync"

// A Pool keeps the memory of arenas for goroutines that each need an arena for a
// short time, such as request handlers. It may be used by many goroutines at once,
// and scales with them. Memory that is not used for two GC cycles is left to the GC, as in
// a sync.Pool. The zero Pool is ready to use; it must not be copied.
type Pool struct {
	// Options are those of the arenas. They must not be changed after the first
	// Get.
	Options *Options

	// KeepBytes is how much memory an arena keeps in the pool, in bytes. It
	// does not count as idle in the sense of Options.IdleBytes; the rest of the
	// arena's memory does. Default: 1 MiB.
	KeepBytes int

	// NoKeep keeps no memory in the pool; KeepBytes is then ignored. Default: keep
	// up to KeepBytes.
	NoKeep bool

	once sync.Once
	set  *settings // of Options
	idle sync.Pool // of *more: what arenas had when they were put
}

const defaultKeepBytes = 1 << 20

// Get returns an empty arena, with memory of one that was Put if there is any. Each Get
// allocates 128 bytes on the heap, and 64 for every value type beyond the second.
func (p *Pool) Get() *Arena {
	if debugging {
		return &Arena{more: newMore(p.Options)}
	}
	set := p.settings()
	m, ok := p.idle.Get().(*more)
	if !ok {
		if set == nil {
			return new(Arena)
		}
		m = new(more)
	}
	m.set = set
	// Arenas are not reused: one that was kept after Put must not become somebody
	// else's.
	a := &Arena{more: m}
	if b := m.first; b != nil {
		b.self.start(&a.one)
	}
	if b := m.second; b != nil {
		b.second = true
		b.self.start(&a.two)
	}
	m.hold(m.large)
	m.first, m.second, m.large = nil, nil, 0
	return a
}

func (p *Pool) settings() *settings {
	if p.Options == nil {
		return nil
	}
	p.once.Do(func() { p.set = resolve(p.Options) })
	return p.set
}

// keep is how much memory an arena keeps in the pool.
func (p *Pool) keep() int64 {
	switch {
	case p.NoKeep:
		return 0
	case p.KeepBytes > 0:
		return int64(p.KeepBytes)
	}
	return defaultKeepBytes
}

// Put frees the arena and gives its memory to the pool. Neither the arena nor its
// handles nor what was allocated from it may be used afterwards, as after Free.
// Put panics if the arena was freed or put before. It also takes arenas that
// did not come from the pool: their memory is kept, their options are not.
func (p *Pool) Put(a *Arena) {
	a.use("Put")
	if a.more != nil && a.more.debug != nil {
		r := a.more.debug
		r.end("Put")
		a.free()
		a.more.state = pooled
		r.ended()
		return
	}
	large := a.reset(p.keep())
	m := a.more
	if m.first = a.one.in; m.first != nil {
		m.first.self.detach(hide(&a.one))
	}
	if m.second = a.two.in; m.second != nil {
		m.second.self.detach(hide(&a.two))
	}
	for b := m.rest; b != nil; b = b.next {
		b.self.detach(b.handle)
	}
	m.past, m.large, m.near, m.asked = 0, large, [nearby]*core{}, 0
	a.more = &away
	p.idle.Put(m)
}
