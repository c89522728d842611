package arena

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"
	"weak"

	"github.com/foliomem/folio/internal/test/testenv"
)

// child runs the test binary in a role, with more environment.
func child(t *testing.T, role string, env ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	// With the race detector a program otherwise waits for a second at its end.
	env = append([]string{"ARENA_TEST_ROLE=" + role, "GORACE=atexit_sleep_ms=0"}, env...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// eventually collects until done, which is soon, or fails.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	testenv.Eventually(t, what, func() bool {
		runtime.GC()
		return done()
	})
}

// The GC must see every pointer, also while it is checked twice, runs
// all the time, and overwrites what it frees.
func TestUnderCollectorStress(t *testing.T) {
	for _, role := range []string{"programs", "useAfterFree"} {
		for _, env := range []string{"GODEBUG=clobberfree=1", "GODEBUG=clobberfree=1,gccheckmark=1"} {
			t.Run(role+" "+env, func(t *testing.T) {
				t.Parallel()
				if out, err := child(t, role, "GOGC=1", env); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			})
		}
	}
}

func init() {
	roles["programs"] = func() int {
		if err := randomPrograms(20, 2); err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	}
	roles["useAfterFree"] = useAfterFree
}

// useAfterFree does what no program may: it goes on using what it freed. It must
// never see anything but values of the type, however the memory is reused.
func useAfterFree() int {
	const magic = 0xF011
	type leaf struct{ magic uint64 }
	type branch struct {
		leaf *leaf
		next *branch
		id   uint64
	}
	var stale []*branch
	var handle *Handle[branch]
	for round := range uint64(40) {
		a := NewArenaWith(&Options{SlabBytes: 8 << 10, IdleBytes: 20 << 10})
		if handle = Of[branch](a); a.Stats().Objects != 0 {
			return 1
		}
		for i := range uint64(400) {
			b := handle.New()
			*b = branch{leaf: &leaf{magic}, next: b, id: round}
			if i%40 == 0 {
				stale = append(stale, b)
			}
		}
		if round%2 == 0 {
			a.Free()
			func() {
				defer func() { recover() }()
				handle.New()
				fmt.Println("New after Free did not panic")
				os.Exit(1)
			}()
		}
		for _, b := range stale {
			if b.leaf != nil && b.leaf.magic != magic {
				fmt.Printf("a pointer that was kept past Free leads to %#x\n", b.leaf.magic)
				return 1
			}
			if b.next != nil && (b.next.id > round || b.next.leaf != nil && b.next.leaf.magic != magic) {
				fmt.Printf("a pointer that was kept past Free leads to %+v\n", *b.next)
				return 1
			}
			// Writing is as wrong, and as harmless to all but the program's own values.
			b.leaf = &leaf{magic}
			b.next = stale[round%uint64(len(stale))]
		}
		if round%10 == 0 {
			runtime.GC()
		}
	}
	return 0
}

func TestHeapPointersSurvive(t *testing.T) {
	type pointers struct {
		number *uint64
		text   string
	}
	n := 2_000_000
	if raceEnabled {
		n = 200_000
	}
	a := NewArena()
	h := Of[pointers](a)
	all := make([]*pointers, n)
	for i := range all {
		p := h.New()
		p.number = new(uint64)
		*p.number = uint64(i)
		if i%16 == 0 {
			p.text = strings.Repeat("x", 1+i%100)
		}
		all[i] = p
	}
	runtime.GC()
	runtime.GC()
	garbage := make([]*uint64, 100_000) // takes the place of what was freed wrongly
	for i := range garbage {
		garbage[i] = new(uint64)
		*garbage[i] = 1 << 63
	}
	for i, p := range all {
		if *p.number != uint64(i) || i%16 == 0 && p.text != strings.Repeat("x", 1+i%100) {
			t.Fatalf("value %d points to %d and %q", i, *p.number, p.text)
		}
	}
	runtime.KeepAlive(garbage)
	a.Free()
}

// weakly allocates from an arena made with o and returns a weak pointer to it.
//
//go:noinline
func weakly(o *Options, n int, end func(*Arena)) weak.Pointer[linked] {
	a := NewArenaWith(o)
	h := Of[linked](a)
	p := weak.Make(h.New())
	for range n {
		h.New()
	}
	end(a)
	return p
}

func TestMemoryIsCollected(t *testing.T) {
	type end = func(*Arena)
	for name, c := range map[string]struct {
		o   *Options
		n   int
		end end
	}{
		"freed, kept idle":     {nil, 10, (*Arena).Free},
		"freed, nothing idle":  {&Options{NoIdle: true}, 10, (*Arena).Free},
		"large":                {nil, 1 << 20, (*Arena).Free},
		"never freed":          {nil, 10, func(*Arena) {}},
		"never freed, large":   {nil, 1 << 20, func(*Arena) {}},
		"reset, then dropped":  {nil, 10, (*Arena).Reset},
		"in a pool, then idle": {nil, 10, new(Pool).Put},
	} {
		t.Run(name, func(t *testing.T) {
			p := weakly(c.o, c.n, c.end)
			eventually(t, "collected", func() bool { return p.Value() == nil })
		})
	}
	eventually(t, "large arenas are out of the account", func() bool { return inUseBytes.Load() == 0 })
	eventually(t, "the depots are empty", func() bool { return idleBytes.Load() < 64*quantum && idleSlabs() == 0 })
}

// What a freed arena pointed to is collected although its slabs are idle and were not
// cleared.
func TestIdleSlabsKeepNothingForLong(t *testing.T) {
	type holder struct {
		p *linked
		_ [7]uint64
	}
	point := func() (targets []weak.Pointer[linked]) {
		a := NewArena()
		h := Of[holder](a)
		for range 1 << 14 { // 1 MiB
			p := &linked{seed: 1}
			h.New().p = p
			targets = append(targets, weak.Make(p))
		}
		a.Free()
		return targets
	}
	targets := point()
	for range 3 { // as the package documentation says
		runtime.GC()
		tended.tend() // does not wait for the cleanup that does this after each cycle
	}
	for i, w := range targets {
		if w.Value() != nil {
			t.Fatalf("what value %d of a freed arena pointed to is alive after three GC cycles", i)
		}
	}
	targets = point()
	gone := func() bool {
		for _, w := range targets {
			if w.Value() != nil {
				return false
			}
		}
		return true
	}
	eventually(t, "what freed values pointed to is collected", gone)

	// An arena that uses a part of the slabs has cleared all that it took.
	targets = point()
	a := NewArena()
	for range 1 << 13 {
		New[holder](a)
	}
	eventually(t, "what freed values pointed to is collected while an arena has the slabs", gone)
	runtime.KeepAlive(a)
	a.Free()
}

// idleSlabs counts the slabs in the depots.
func idleSlabs() (n int) {
	depots.Range(func(_, d any) bool {
		n += d.(interface{ idle() int }).idle()
		return true
	})
	return n
}

func (d *depot[T]) idle() (n int) {
	for i := range d.shards {
		sh := &d.shards[i]
		sh.mu.Lock()
		for _, l := range sh.lists {
			n += int(l.n)
		}
		sh.mu.Unlock()
	}
	return n
}

// A pointer into an arena that is unreachable keeps its slab alive, and no more.
func TestPointersKeepTheirSlab(t *testing.T) {
	p, other := func() (*linked, weak.Pointer[uint64]) {
		a := NewArena()
		New[linked](a).seed = 1
		p := New[linked](a)
		p.next, p.seed = &linked{seed: 2}, 3
		return p, weak.Make(New[uint64](a))
	}()
	eventually(t, "the other slab is collected", func() bool { return other.Value() == nil })
	first := (*linked)(unsafe.Add(unsafe.Pointer(p), -int(unsafe.Sizeof(*p))))
	if p.next.seed != 2 || p.seed != 3 || first.seed != 1 {
		t.Fatalf("%+v, %+v", p, first)
	}
}

// What the package documentation says of cleanups: one that is attached to a
// value in an arena runs when the slab is collected, and not at Free.
func TestCleanupRunsWithTheSlab(t *testing.T) {
	if debugging {
		t.Skip("debug mode reuses no slabs")
	}
	ran := make(chan int, 1)
	var keep *linked
	func() {
		a := NewArenaWith(&Options{NoIdle: true})
		keep = New[linked](a)
		runtime.AddCleanup(New[linked](a), func(n int) { ran <- n }, 7)
		a.Free()
	}()
	for range 3 {
		runtime.GC()
	}
	select {
	case <-ran:
		t.Fatal("the cleanup ran while a pointer led to another value of the slab")
	default:
	}
	runtime.KeepAlive(keep)
	keep = nil
	eventually(t, "the cleanup runs", func() bool {
		select {
		case n := <-ran:
			return n == 7
		default:
			return false
		}
	})
}

// What the package documentation says of finalizers.
func TestFinalizer(t *testing.T) {
	if debugBuild {
		t.Skip("debug mode reuses no slabs")
	}
	const accepted, ends = "ran: true", "fatal error: runtime.SetFinalizer: pointer not at beginning of allocated block"
	for value, want := range map[string]string{
		"first, with pointers":  accepted,
		"second, with pointers": ends,
		"second, 8 bytes":       accepted,
		"second, 16 bytes":      ends,
		"second, 24 bytes":      ends,
	} {
		out, _ := child(t, "finalizer of "+value, "FOLIO=")
		if line, _, _ := strings.Cut(out, "\n"); line != want {
			t.Errorf("%s: %q, want %q", value, line, want)
		}
	}
}

func init() {
	roles["finalizer of first, with pointers"] = func() int { return finalizerOf[linked](1) }
	roles["finalizer of second, with pointers"] = func() int { return finalizerOf[linked](2) }
	roles["finalizer of second, 8 bytes"] = func() int { return finalizerOf[uint64](2) }
	roles["finalizer of second, 16 bytes"] = func() int { return finalizerOf[[2]uint64](2) }
	roles["finalizer of second, 24 bytes"] = func() int { return finalizerOf[[3]uint64](2) }
}

// finalizerOf sets a finalizer for the nth value of an arena and says whether it
// ran once the slab was freed.
func finalizerOf[T any](n int) int {
	ran := make(chan bool, 1)
	func() {
		a := NewArenaWith(&Options{NoIdle: true})
		var p *T
		for range n {
			p = New[T](a)
		}
		runtime.SetFinalizer(p, func(*T) { ran <- true })
		a.Free()
	}()
	fmt.Println("ran:", testenv.Within(func() bool {
		runtime.GC()
		return len(ran) > 0
	}))
	return 0
}
