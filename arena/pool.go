package arena

import "sync"

// A Pool keeps arenas that are ready to use, with handles and memory of their
// last use, for goroutines that each need one for a short time, such as request
// handlers. It may be used by many goroutines at once, and scales with them.
// What is in it for two collections without use is given up, as in a sync.Pool.
// The zero Pool is ready to use; it must not be copied.
type Pool struct {
	// Options are those of the arenas. They must not be changed after the first
	// Get.
	Options *Options

	// KeepBytes is how much memory an arena keeps in the pool, in bytes. It
	// does not count as idle in the sense of Options.IdleBytes; the rest of the
	// arena's memory does. Negative keeps none. Default: 1 MiB.
	KeepBytes int

	arenas sync.Pool
}

const defaultKeepBytes = 1 << 20

// Get returns an empty arena: one that was Put, or a new one.
func (p *Pool) Get() *Arena {
	if a, ok := p.arenas.Get().(*Arena); ok {
		a.more.state = inUse
		return a
	}
	return NewArenaWith(p.Options)
}

// Put resets the arena and gives it to the pool. Neither the arena nor its
// handles nor what was allocated from it may be used afterwards, as after
// Free. Put panics if the arena was freed or put already. An arena from elsewhere may be put
// too.
func (p *Pool) Put(a *Arena) {
	if !a.usable() {
		a.misuse("Put")
	}
	if r := a.debug(); r != nil {
		r.end("Put")
		a.free()
		a.more.state = pooled
		return
	}
	keep := int64(p.KeepBytes)
	if keep == 0 {
		keep = defaultKeepBytes
	}
	a.reset(keep)
	a.more.state = pooled
	p.arenas.Put(a)
}
