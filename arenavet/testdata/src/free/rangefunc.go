package free

import (
	"errors"
	"iter"

	"github.com/foliomem/folio/arena"
)

// The body of a range over a function is a function of its own to the compiler: what it
// does with an arena is what the function around it does.

func rangeBefore(seq iter.Seq[int], bad bool) error {
	a := arena.NewArena() // want `the arena is not freed on every return path: not at the return in line 16`
	if bad {
		return errors.New("bad")
	}
	for x := range seq {
		arena.New[Node](a).X = x
	}
	a.Free()
	return nil
}

func rangeInside(seq iter.Seq[int]) error {
	a := arena.NewArena() // want `the arena is not freed on every return path: not at the return in line 30`
	for x := range seq {
		n := arena.New[Node](a)
		if n.X = x; x < 0 {
			return errors.New("negative")
		}
	}
	a.Free()
	return nil
}

func rangeNever(seq iter.Seq2[int, int]) (sum int) {
	a := arena.NewArena() // want `the arena is never freed`
	for x, y := range seq {
		n := arena.New[Node](a)
		n.X = x + y
		sum += n.X
	}
	return sum
}

func rangeNested(seq iter.Seq[iter.Seq[int]]) bool {
	a := arena.NewArena() // want `not at the return in line 53`
	for s := range seq {
		for x := range s {
			arena.New[Node](a).X = x
			if x == 7 {
				return true
			}
		}
	}
	a.Free()
	return false
}

func rangeMade(seq iter.Seq[int]) error {
	for x := range seq {
		a := arena.NewArena() // want `not at the return in line 66`
		arena.New[Node](a).X = x
		if x < 0 {
			return errors.New("negative")
		}
		a.Free()
	}
	return nil
}

func rangeDeferred(seq iter.Seq[int]) error {
	a := arena.NewArena()
	defer a.Free()
	for x := range seq {
		if arena.New[Node](a).X = x; x < 0 {
			return errors.New("negative")
		}
	}
	return nil
}

func rangeDeferredInside(seq iter.Seq[int]) error {
	a := arena.NewArena()
	for x := range seq {
		defer a.Free()
		if arena.New[Node](a).X = x; x < 0 {
			return errors.New("negative")
		}
		break
	}
	return nil
}

func rangeMadeDeferred(seq iter.Seq[int]) error {
	for x := range seq {
		a := arena.NewArena()
		defer a.Free()
		if arena.New[Node](a).X = x; x < 0 {
			return errors.New("negative")
		}
	}
	return nil
}

func rangeFreed(seq iter.Seq[int]) error {
	a := arena.NewArena()
	for x := range seq {
		if arena.New[Node](a).X = x; x < 0 {
			a.Free()
			return errors.New("negative")
		}
	}
	a.Free()
	return nil
}

func rangeReturned(seq iter.Seq[int]) *arena.Arena {
	a := arena.NewArena()
	for x := range seq {
		if arena.New[Node](a).X = x; x < 0 {
			return a
		}
	}
	a.Free()
	return nil
}

func rangeReturnedNode(seq iter.Seq[int]) *Node {
	a := arena.NewArena()
	for x := range seq {
		if n := arena.New[Node](a); x < 0 {
			return n
		}
	}
	a.Free()
	return nil
}

func rangeKept(seq iter.Seq[int]) {
	a := arena.NewArena()
	for x := range seq {
		if x < 0 {
			keep(a)
			return
		}
	}
	a.Free()
}

func rangePassedOn(seq iter.Seq[int], yield func(*arena.Arena) bool) {
	a := arena.NewArena()
	for x := range seq {
		if x < 0 && !yield(a) {
			return
		}
	}
	a.Free()
}

func rangeNamed(seq iter.Seq[int]) (a *arena.Arena, err error) {
	a = arena.NewArena()
	for x := range seq {
		if arena.New[Node](a).X = x; x < 0 {
			return
		}
	}
	return
}

var keptBy *arena.Arena

func keep(a *arena.Arena) { keptBy = a }

func closureReturned(do func(func())) *Node {
	a := arena.NewArena()
	var n *Node
	do(func() { n = arena.New[Node](a) })
	return n
}

func closureReturnedNode(do func(func())) *Node {
	a := arena.NewArena()
	var n *Node
	do(func() { n = arena.New[Node](a) })
	if n.X == 3 {
		return n
	}
	a.Free()
	return nil
}
