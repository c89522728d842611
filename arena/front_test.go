package arena

import (
	"testing"
	"unsafe"
)

// frontIs says which type has the first handle.
func frontIs[T any](a *Arena) bool {
	_, ok := a.one.in.(*stock[T])
	return ok
}

// TestOftenAskedTypeHasTheFirstHandle: the type that New is asked for again and again becomes the one
// whose look-up is inlined, whatever was allocated first, and everything stays where it was.
func TestOftenAskedTypeHasTheFirstHandle(t *testing.T) {
	a := NewArena()
	first, second := newSeeded(a, 1), New[string](a)
	*second = "second"
	var all []*string
	for i := range 3 * often {
		all = append(all, New[string](a))
		*all[i] = "later"
		if want := i+2 > often; frontIs[string](a) != want { // second was the first time
			t.Fatalf("after %d times: the second type has the first handle: %v, want %v", i+2, !want, want)
		}
	}
	third := newSeeded(a, 3)
	if *first != (linked{seed: 1}) || *third != (linked{seed: 3}) || *second != "second" {
		t.Error("values changed")
	}
	if third != next(first) || all[0] != next(second) || all[len(all)-1] != next(all[len(all)-2]) {
		t.Error("values of a type are not beside each other")
	}
	if s := a.Stats(); s.Types != 2 || s.Objects != 3*often+3 {
		t.Errorf("%+v", s)
	}
	for range 2 * often {
		newSeeded(a, 4)
	}
	if !frontIs[linked](a) {
		t.Error("the first type has not got the first handle back")
	}
	h := Of[string](a)
	h.New()
	a.Free()
	for name, f := range map[string]func(){
		"a handle":           func() { h.New() },
		"New, of the first":  func() { New[linked](a) },
		"New, of the second": func() { New[string](a) },
	} {
		if !panics(f) {
			t.Errorf("%s after Free did not panic", name)
		}
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
		for range 2 * often {
			New[uint64](a)
		}
		if !debugging && !frontIs[uint64](a) && !raceEnabled {
			t.Errorf("%s: after Put, handles stay where they were", name)
		}
		a.Free()
	}
}

// next returns the address of the value after p.
func next[T any](p *T) *T { return &unsafe.Slice(p, 2)[1] }
