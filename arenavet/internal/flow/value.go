package flow

import (
	"go/token"

	"golang.org/x/tools/go/ssa"
)

// what is what a pointer leads to.
type what uint8

const (
	nothing  what = iota
	anArena       // the arena itself
	aHandle       // a handle of it
	aMapping      // a page.Mapping
	memory        // allocated from the arena, or bytes of the mapping
)

func (w what) String() string {
	return [...]string{"value", "arena", "handle", "mapping", "memory"}[w]
}

// An identity names what a pointer leads to: equal identities are the same
// object. It is an ssa.Value, where that made the object or brought it into the
// function; a content, for what was found in memory; or an inner, for an
// address inside an object.
type identity any

// content is the identity of what was read from the memory of an object, first by
// the instruction at.
type content struct {
	in   identity
	path string
	at   ssa.Instruction
}

// inner is the identity of a part of an object.
type inner struct {
	in   identity
	path string
}

// life says whether what a pointer leads to may still be used.
type life uint8

const (
	alive  life = iota
	unsure      // ended on some of the paths that lead here
	dead        // ended on all of them
)

// An end is a call that ended the life of what is in an arena.
type end struct {
	pos      token.Pos
	name     string // of the function: Free, Reset, Put, Close
	deferred bool
	all      bool // not only Reset
	mapping  bool
	by       string // the function that was called, if that was not one of package arena
	instr    ssa.Instruction
}

// A value is what is known of the value of a variable.
type value struct {
	id     identity
	region identity // the identity of the arena, or mapping, it belongs to; nil: none, or unknown
	what   what     // nothing if region is nil
	life   life
	end    *end // why it is not alive
	empty  bool // nil, or a constant: leads to nothing, so to nothing wrong
	mixed  bool // of the contents of a container: some are other things
	room   room // of a slice
}

// room is what is known of the room at the end of a slice.
type room struct {
	known    bool
	len, cap int64
	full     bool // len is cap
	grown    bool // from Append: there may be room
}

// join is what is known where two paths meet, of a variable that has value v
// on one and w on the other.
func (v value) join(w value) value {
	switch {
	case v.empty && w.empty:
		return v
	case v.empty:
		w.room = room{}
		return w
	case w.empty:
		v.room = room{}
		return v
	}
	out := value{id: v.id, region: v.region, what: v.what, life: v.life, end: v.end, mixed: v.mixed || w.mixed, room: v.room}
	if v.region != w.region || v.what != w.what {
		out.region, out.what, out.life, out.end = nil, nothing, alive, nil
	} else if v.life != w.life {
		out.life = unsure
		if out.end == nil {
			out.end = w.end
		}
	}
	if v.id != w.id {
		out.id = nil
	}
	if v.room != w.room {
		out.room = room{}
	}
	return out
}

// with is what is known of the contents of a container that has contents v, after
// w was added.
func (v value) with(w value) value {
	switch {
	case w.empty:
		return v
	case v.empty:
		w.room = room{}
		return w
	case v.region == w.region && v.what == w.what:
		v.mixed = v.mixed || w.mixed
		v.life = max(v.life, w.life)
		if v.end == nil {
			v.end = w.end
		}
		return v
	case v.region == nil:
		w.mixed = true
		return w
	}
	v.mixed = true
	return v
}

// tracked reports whether the value belongs to an arena or mapping.
func (v value) tracked() bool { return v.region != nil }
