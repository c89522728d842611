package arena

import (
	"runtime/debug"
	"testing"
	"unsafe"
)

// owns reports whether one of the arena's own handles, at which New looks without a call, is that of T.
func owns[T any](a *Arena) bool {
	key := typeKey((*stock[T])(nil))
	return a.one.key == key || a.two.key == key
}

// TestOftenAskedTypesHaveTheOwnHandles: the types that New is asked for again and again become those
// whose look-up is inlined, whatever was allocated first, and everything stays where it was.
func TestOftenAskedTypesHaveTheOwnHandles(t *testing.T) {
	a := NewArena()
	*New[uint64](a), *New[[2]uint64](a) = 1, [2]uint64{2, 2}
	if !owns[uint64](a) || !owns[[2]uint64](a) {
		t.Fatal("the first two types have not got the arena's own handles")
	}
	first, second := newSeeded(a, 1), New[string](a)
	*second = "second"
	var nodes []*linked
	var texts []*string
	for i := range 3 * often {
		nodes, texts = append(nodes, newSeeded(a, uint64(i))), append(texts, New[string](a))
		*texts[i] = "later"
		// One gets a handle when they were asked for often together, the other when it was so alone.
		one, both := owns[linked](a) || owns[string](a), owns[linked](a) && owns[string](a)
		if n := i + 1; one != (n >= often/2) || both != (n >= often/2+often) {
			t.Fatalf("after %d times: one has an own handle: %v, both: %v", n, one, both)
		}
	}
	if *first != (linked{seed: 1}) || *second != "second" {
		t.Error("values changed")
	}
	if !beside(first, nodes[0]) || !beside(second, texts[0]) {
		t.Error("values of a type are not beside each other")
	}
	for i := range nodes {
		if nodes[i].seed != uint64(i) || *texts[i] != "later" {
			t.Errorf("value %d changed", i)
		}
	}
	if *New[uint64](a) != 0 || *New[[2]uint64](a) != [2]uint64{} {
		t.Error("the first two types have no new values")
	}
	if s := a.Stats(); s.Types != 4 || s.Objects != 6*often+6 {
		t.Errorf("%+v", s)
	}
	h := Of[string](a)
	h.New()
	a.Free()
	for name, f := range map[string]func(){
		"a handle":           func() { h.New() },
		"New, of the first":  func() { New[linked](a) },
		"New, of the second": func() { New[string](a) },
		"New, of another":    func() { New[uint64](a) },
	} {
		if !panics(f) {
			t.Errorf("%s after Free did not panic", name)
		}
	}
}

// TestTwoTypesAllocateNothing: an arena of two types that comes and goes makes no garbage.
func TestTwoTypesAllocateNothing(t *testing.T) {
	if debugging || raceEnabled || asanEnabled {
		t.Skip("debug mode reuses nothing, a sync.Pool with the race detector not always, and the address sanitizer allocates")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a GC cycle would take what is idle
	n := testing.AllocsPerRun(1000, func() {
		a := NewArena()
		for range 31 {
			New[linked](a).next = nil
			*New[uint64](a) = 1
		}
		a.Free()
	})
	if n != 0 {
		t.Errorf("an arena of two types makes %v allocations, want none", n)
	}
}

func newSeeded(a *Arena, seed uint64) *linked {
	n := New[linked](a)
	n.seed = seed
	return n
}

// TestHandlesStayTheirTypes: handles that the program has never become another type's.
func TestHandlesStayTheirTypes(t *testing.T) {
	for name, kept := range map[string]func(a *Arena) (uses func() bool){
		"the first": func(a *Arena) func() bool {
			h := Of[linked](a)
			return func() bool { return h == Of[linked](a) && *h.New() == linked{} }
		},
		"the second": func(a *Arena) func() bool {
			New[linked](a)
			h := Of[string](a)
			return func() bool { return h == Of[string](a) && *h.New() == "" }
		},
		"the first, late": func(a *Arena) func() bool {
			New[linked](a)
			for range 2 * often {
				New[string](a)
			}
			h := Of[string](a)
			return func() bool { return h == Of[string](a) && *h.New() == "" }
		},
	} {
		var p Pool
		a := p.Get()
		uses := kept(a)
		for i := range 4 * often {
			for range i {
				*New[string](a) = "text"
			}
			for range i {
				newSeeded(a, 1)
				New[[3]*int](a)[1] = new(int)
			}
			for range i {
				*New[uint64](a) = 1
			}
			if !uses() {
				t.Fatalf("%s: the handle is another type's", name)
			}
			if i == often {
				a.Reset()
			}
		}
		p.Put(a)
		// Nobody has a handle of the arena that comes now.
		a = p.Get()
		New[linked](a)
		for range 4 * often {
			New[uint64](a)
			New[[3]*int](a)
		}
		if !debugging && !(owns[uint64](a) && owns[[3]*int](a)) && !raceEnabled {
			t.Errorf("%s: after Put, handles stay where they were", name)
		}
		a.Free()
	}
}

// beside reports whether q comes right after p.
func beside[T any](p, q *T) bool {
	return uintptr(unsafe.Pointer(q)) == uintptr(unsafe.Pointer(p))+unsafe.Sizeof(*p)
}
