package arena

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestStockIsReused frees arenas of several sizes and looks at what the next one
// finds: the small slabs of the last, all zero, but for one that it did not need.
func TestStockIsReused(t *testing.T) {
	if debugging {
		t.Skip("in debug mode nothing is reused")
	}
	// One processor has one shard, in which nothing can be overlooked; a GC cycle
	// would take what is idle.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	type node struct{ left, right *node }
	fill := func(a *Arena, n int) {
		t.Helper()
		h := Of[node](a)
		for range n {
			p := h.New()
			if *p != (node{}) {
				t.Fatal("a new value is not zero")
			}
			p.left, p.right = p, p
		}
	}
	slabs := func(a *Arena) (kept, used int) {
		s := Of[node](a).stock()
		for l := s.kept; l != nil; l = l.link {
			kept++
		}
		for l := s.slabs; l != nil; l = l.link {
			used++
		}
		return kept, used
	}
	first := NewArena()
	fill(first, 31+63+127) // 512 bytes, 1 and 2 KiB
	was := Of[node](first).in
	first.Free()

	a := NewArena()
	for _, c := range []struct {
		objects            int
		kept, used         int // what is at hand before the objects are made
		wantKept, wantUsed int // and after
	}{
		{221, 2, 1, 0, 3}, // all of it, and no more is needed
		{31, 2, 1, 2, 1},  // too much
		{31, 1, 1, 1, 1},  // the largest went
		{31, 0, 1, 0, 1},
		{221, 0, 1, 0, 3},
	} {
		Of[node](a)
		if kept, used := slabs(a); kept != c.kept || used != c.used {
			t.Errorf("before %d objects: %d slabs at hand and %d in use, want %d and %d", c.objects, kept, used, c.kept, c.used)
		}
		fill(a, c.objects)
		if kept, used := slabs(a); kept != c.wantKept || used != c.wantUsed {
			t.Errorf("after %d objects: %d slabs at hand and %d in use, want %d and %d", c.objects, kept, used, c.wantKept, c.wantUsed)
		}
		if Of[node](a).in != was {
			t.Error("another stock")
		}
		a.Free()
		a = NewArena()
	}
	a.Free()
}

// TestHandleOfFreedArena keeps a handle while its stock goes to another arena.
func TestHandleOfFreedArena(t *testing.T) {
	type node struct{ _, _ *int }
	for _, types := range []string{"one", "two"} {
		a := NewArena()
		if types == "two" {
			New[string](a) // has the handle that is part of the arena
		}
		h := Of[node](a)
		h.New()
		a.Free()
		b := NewArena()
		other := Of[node](b)
		p := other.New()
		for name, f := range map[string]func(){
			"New":       func() { h.New() },
			"New[T]":    func() { New[node](a) },
			"Of":        func() { Of[node](a) },
			"MakeSlice": func() { MakeSlice[node](a, 1, 1) },
			"Append":    func() { Append(a, nil, node{}) },
			"Reset":     a.Reset,
			"Free":      a.Free,
		} {
			if !panics(f) {
				t.Errorf("%s types: %s after Free did not panic", types, name)
			}
		}
		if q := other.New(); q == p || b.Stats().Objects != 2 {
			t.Errorf("%s types: the freed arena changed another: %+v", types, b.Stats())
		}
		b.Free()
	}
}

func panics(f func()) (p bool) {
	defer func() { p = recover() != nil }()
	f()
	return false
}
