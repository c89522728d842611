package arena

import (
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"
)

// TestArenaStaysOnTheStack asks the compiler: an arena that its function keeps to itself
// is on the stack, and nothing that is hidden from it stores an arena or a handle.
func TestArenaStaysOnTheStack(t *testing.T) {
	out := goTool(t, "build", "-gcflags=-m", "-o", os.DevNull, "./testdata/inline")
	n := 0
	for line := range strings.Lines(out) {
		if !strings.Contains(line, "main.go:") {
			continue
		}
		if strings.Contains(line, "arena.Arena") && strings.Contains(line, "escapes to heap") {
			t.Error(line)
		}
		if strings.Contains(line, "arena.Arena") && strings.Contains(line, "does not escape") {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d arenas are on the stack, want 2\n%s", n, out)
	}

	// Arenas and handles are a, c and h wherever they are passed. The compiler speaks of the
	// methods of store for any type, too, by which it does not see what is called.
	leaks := regexp.MustCompile(`parameter (\w+) leaks to \{heap\} for (.*) with derefs=0`)
	out = goTool(t, "build", "-gcflags=-m=2", ".")
	n = 0
	for _, m := range leaks.FindAllStringSubmatch(out, -1) {
		n++
		// Nothing is hidden from next and second: they call a parameter, which the compiler knows where they are inlined.
		if strings.Contains(" a c h ", " "+m[1]+" ") && !strings.HasPrefix(m[2], "store.") && !strings.HasSuffix(m[2], ".next") && m[2] != "second" {
			t.Error(m[0])
		}
	}
	if n == 0 {
		t.Error("the compiler says of no parameter that it leaks")
	}
}

// onStack makes an arena, two types of values in it while the stack grows below it, and
// frees it. It returns how many values are wrong.
//
//go:noinline
func onStack(depth int) (wrong int) {
	a := NewArena()
	h := Of[linked](a)
	n := h.New()
	wrong = deeper(a, h, n, depth)
	if depth > 0 {
		a.Reset()
		wrong += deeper(a, h, nil, depth)
	}
	a.Free()
	return wrong
}

//go:noinline
func deeper(a *Arena, h *Handle[linked], above *linked, depth int) (wrong int) {
	var frame [512]byte
	frame[depth%len(frame)] = 1
	n := h.New()
	n.next, n.seed = above, uint64(depth)
	s := MakeSlice[uint64](a, 3, 3)
	s[0] = uint64(depth)
	if depth > 0 {
		wrong = deeper(a, h, n, depth-1)
	}
	if n.next != above || n.seed != uint64(depth) || s[0] != uint64(depth) || frame[depth%len(frame)] != 1 {
		wrong++
	}
	return wrong
}

// TestStackGrows moves arenas while they are in use.
func TestStackGrows(t *testing.T) {
	rounds := 100
	if raceEnabled {
		rounds = 20
	}
	done := make(chan int)
	for range rounds {
		for _, depth := range []int{1, 20, 200, 2000} {
			go func() { done <- onStack(depth) }() // with a small stack
			if wrong := <-done; wrong != 0 {
				t.Fatalf("depth %d: %d values are wrong", depth, wrong)
			}
		}
		runtime.GC() // stacks shrink
	}
}

//go:noinline
func small() {
	a := NewArena()
	h := Of[linked](a)
	for range 31 {
		h.New().seed = 1
	}
	New[linked](a).next = nil
	a.Free()
}

// TestSmallArenaAllocatesNothing: what a small arena needs is there from the last one.
func TestSmallArenaAllocatesNothing(t *testing.T) {
	if debugging || raceEnabled || asanEnabled {
		t.Skip("debug mode reuses nothing, a sync.Pool with the race detector not always, and the address sanitizer allocates")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a GC cycle would take what is idle
	if n := testing.AllocsPerRun(1000, small); n != 0 {
		t.Errorf("an arena of 32 values that comes and goes makes %v allocations, want none", n)
	}
	// With a slab of 64 KiB and one of 128 KiB, for which the arena has no account yet.
	n := testing.AllocsPerRun(100, func() {
		a := NewArena()
		for range 150 << 10 / unsafe.Sizeof(linked{}) {
			New[linked](a).next = nil
		}
		a.Free()
	})
	if n != 0 {
		t.Errorf("an arena of 150 KiB that comes and goes makes %v allocations, want none", n)
	}
}

// TestStaleHandleOnTheStack: what is on the stack says so, too, when it is used after Free.
func TestStaleHandleOnTheStack(t *testing.T) {
	use := func(f func(a *Arena, h *Handle[linked])) {
		a := NewArena()
		h := Of[linked](a)
		h.New()
		a.Free()
		small() // has the stock now
		f(a, h)
	}
	for name, f := range map[string]func(){
		"Handle.New": func() { use(func(_ *Arena, h *Handle[linked]) { h.New() }) },
		"New":        func() { use(func(a *Arena, _ *Handle[linked]) { New[linked](a) }) },
		"Of":         func() { use(func(a *Arena, _ *Handle[linked]) { Of[linked](a) }) },
		"Free":       func() { use(func(a *Arena, _ *Handle[linked]) { a.Free() }) },
		"Reset":      func() { use(func(a *Arena, _ *Handle[linked]) { a.Reset() }) },
	} {
		if !panics(f) {
			t.Errorf("%s after Free did not panic", name)
		}
	}
}
