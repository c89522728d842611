package arena

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"unsafe"
)

// manyTypes allocates from more types than are searched one by one.
func manyTypes(a *Arena) []any {
	return []any{
		New[[1]byte](a), New[[2]byte](a), New[[3]byte](a), New[[4]byte](a), New[[5]byte](a),
		New[[6]byte](a), New[[7]byte](a), New[[8]byte](a), New[[9]byte](a), New[[10]byte](a),
		New[[11]byte](a), New[[12]byte](a), New[[13]byte](a), New[[14]byte](a), New[[15]byte](a),
	}
}

func TestManyTypes(t *testing.T) {
	a := NewArena()
	h := Of[linked](a)
	for range 3 {
		manyTypes(a)
		if Of[linked](a) != h {
			t.Fatal("another handle for the same type")
		}
	}
	if s := a.Stats(); s.Types != 16 || s.Objects != 45 || s.Used != 3*120 {
		t.Errorf("%+v", s)
	}
	a.Free()
}

func TestZeroArena(t *testing.T) {
	var a Arena
	New[linked](&a).seed = 1
	a.Free()
}

// An arena costs a few hundred bytes as long as nothing is in it.
func TestEmptyArenaIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(Arena{}) + unsafe.Sizeof(Handle[linked]{}); n > 200 {
		t.Errorf("an arena and a handle take %d bytes", n)
	}
	if debugging {
		return
	}
	if n := testing.AllocsPerRun(100, func() { keep = NewArena() }); n != 1 {
		t.Errorf("NewArena allocates %v times", n)
	}
	keep = nil
}

// Nothing is allocated on the heap once the slabs are there.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	if debugging {
		t.Skip("debug mode reuses no slabs")
	}
	if asanEnabled {
		t.Skip("the address sanitizer allocates")
	}
	a := NewArena()
	h := Of[linked](a)
	use := func() {
		for range 1000 {
			h.New()
			New[uint64](a)
		}
		MakeSlice[byte](a, 10, 100)
		_ = String(a, "a string")
		a.Reset()
	}
	use()
	if n := testing.AllocsPerRun(20, use); n != 0 {
		t.Errorf("%v allocations", n)
	}
	a.Free()
}

func TestMakeSliceClipsItsCapacity(t *testing.T) {
	a := NewArena()
	defer a.Free()
	s := MakeSlice[int](a, 1, 4)
	next := New[int](a)
	*next = 7
	s = append(s, 1, 2, 3, 4, 5)
	if *next != 7 || len(s) != 6 {
		t.Errorf("append beyond the capacity overwrote what comes next: %d", *next)
	}
	if e := MakeSlice[int](a, 0, 0); e == nil || len(e) != 0 {
		t.Errorf("an empty slice: %#v", e)
	}
}

func TestAppendGrowsInPlace(t *testing.T) {
	a := NewArena()
	defer a.Free()
	s := MakeSlice[int](a, 1, 1)
	p := &s[0]
	for i := range 20 {
		s = Append(a, s, i)
	}
	if &s[0] != p {
		t.Error("the last slice of the arena moved, with room behind it")
	}
	New[int](a)
	if s = Append(a, s, 1, 2); &s[0] == p {
		t.Error("a slice grew over what comes next")
	}
	// One that has room is not touched, and may be from elsewhere.
	outside := make([]int, 1, 9)
	if grown := Append(a, outside, 1); &grown[0] != &outside[0] {
		t.Error("a slice with room moved")
	}
	if grown := AppendSlice(a, outside, make([]int, 20)); len(grown) != 21 {
		t.Error(len(grown))
	}
	self := AppendSlice(a, s, s)
	if !slices.Equal(self, append(slices.Clone(s), s...)) {
		t.Errorf("a slice appended to itself: %v", self)
	}
}

func TestSliceLargerThanASlab(t *testing.T) {
	type linked struct{ _ [2]uint64 } // of its own: no other test left idle slabs
	a := NewArenaWith(&Options{SlabBytes: 64 << 10})
	h := Of[linked](a)
	h.New()
	big := MakeSlice[linked](a, 10_000, 10_000)
	if after := h.New(); after == &big[len(big)-1] || len(h.stock().slabs.buf) != 32 {
		t.Errorf("a slice of its own became the current slab: %d elements", len(h.stock().slabs.buf))
	}
	if s := a.Stats(); s.Used != 10_002*16 || s.Slabs != 2 {
		t.Errorf("%+v", s)
	}
	a.Reset()
	if s := a.Stats(); s.Used != 0 || s.Allocated != 10_002*16 && !debugging || s.Reserved > 64<<10 {
		t.Errorf("after Reset: %+v", s)
	}
	a.Free()
}

func TestStringAndBytes(t *testing.T) {
	a := NewArena()
	defer a.Free()
	b := []byte("bytes")
	c, s := Bytes(a, b), String(a, "text")
	b[0] = 'x'
	if string(c) != "bytes" || s != "text" || String(a, "") != "" {
		t.Errorf("%q %q", c, s)
	}
	if Bytes(a, nil) != nil || Bytes(a, []byte{}) == nil {
		t.Error("nil and empty are not kept apart")
	}
}

func TestClone(t *testing.T) {
	type text string
	a := NewArena()
	p := New[linked](a)
	p.seed = 5
	s := append(MakeSlice[int](a, 0, 10), 1, 2)
	str, named := String(a, "text"), text(String(a, "named"))
	p2, s2, str2, named2 := Clone(p), Clone(s), Clone(str), Clone(named)
	a.Free()
	if p2.seed != 5 || p2 == p || !slices.Equal(s2, []int{1, 2}) || cap(s2) != 2 || str2 != "text" || named2 != "named" {
		t.Errorf("%v %v %q %q", p2, s2, str2, named2)
	}
	if Clone[*int](nil) != nil || Clone[[]int](nil) != nil {
		t.Error("nil does not stay nil")
	}
}

func TestResetKeepsMemory(t *testing.T) {
	if debugging {
		t.Skip("debug mode reuses no slabs")
	}
	a := NewArena()
	fill := func() {
		for range 100_000 {
			New[linked](a).seed = 9
		}
	}
	fill()
	before := a.Stats()
	for range 5 {
		a.Reset()
		fill()
	}
	after := a.Stats()
	if after.Reserved != before.Reserved || after.Used != before.Used || after.Allocated != 6*before.Allocated {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
	a.Free()
	if s := a.Stats(); s.Reserved != 0 || s.Used != 0 {
		t.Errorf("after Free: %+v", s)
	}
}

func TestIdleIsBounded(t *testing.T) {
	if debugging {
		t.Skip("debug mode reuses no slabs")
	}
	use := func(o *Options, n int) {
		a := NewArenaWith(o)
		MakeSlice[[100]int64](a, 1, 1)
		for range n {
			New[[100]int64](a)
		}
		a.Free()
	}
	for _, limit := range []int64{0, 1 << 20, defaultIdleBytes} { // 0: NoIdle
		eventually(t, "idle", func() bool { return idleSlabs() == 0 })
		o := &Options{IdleBytes: int(limit), NoIdle: limit == 0}
		// A GC cycle that comes between may take what is idle: try again then.
		kept := false
		for range 10 {
			use(o, 50_000) // 40 MB
			got := idleBytes.Load()
			if slack := int64(64 * quantum); got > limit+slack || limit == 0 && idleSlabs() > 0 {
				t.Errorf("IdleBytes %d: %d bytes are idle", limit, got)
			}
			kept = kept || limit > 0 && got > limit/4
		}
		if kept != (limit > 0) {
			t.Errorf("IdleBytes %d: anything kept: %v", limit, kept)
		}
	}
	// By default what is asked for again soon is kept the next time, but not for long.
	if lately.regret.Store(0); lately.armed.Load() {
		eventually(t, "nothing is looked at", func() bool { return !lately.armed.Load() })
	}
	eventually(t, "idle", func() bool { return idleSlabs() == 0 })
	use(nil, 50_000)
	if got := idleBytes.Load(); got > defaultIdleBytes+64*quantum {
		t.Errorf("by default: %d bytes are idle after the first time", got)
	}
	kept := false
	for range 10 {
		use(nil, 50_000)
		kept = kept || idleBytes.Load() > defaultIdleBytes+64*quantum
	}
	if !kept {
		t.Error("by default: what was asked for again is not kept")
	}
	eventually(t, "8 MiB are idle", func() bool { return idleBytes.Load() <= defaultIdleBytes+64*quantum })
}

func TestPool(t *testing.T) {
	p := Pool{Options: &Options{Name: "requests"}, KeepBytes: 64 << 10}
	var wg sync.WaitGroup
	for g := range 4 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range 50 {
				a := p.Get()
				if s := a.Stats(); s.Used != 0 || s.Reserved > 64<<10 {
					t.Errorf("an arena from the pool: %+v", s)
				}
				want := fmt.Sprint(g, " ", i)
				n := New[linked](a)
				if *n != (linked{}) {
					t.Errorf("not zero: %+v", n)
				}
				n.seed = uint64(g)
				s := String(a, want)
				if i%10 == 0 {
					MakeSlice[int](a, 20_000, 20_000)
				}
				if s != want || n.seed != uint64(g) {
					t.Errorf("got %q and %d, want %q and %d", s, n.seed, want, g)
				}
				p.Put(a)
			}
		})
	}
	wg.Wait()
	p.Put(NewArena())
}

// What comes from a pool is a new arena with the memory of one that was put, of each
// type, and the pool's options.
func TestPoolKeepsMemory(t *testing.T) {
	if debugging {
		t.Skip("debug mode reuses no slabs")
	}
	if raceEnabled || asanEnabled {
		t.Skip("with the race detector a sync.Pool loses things, and the address sanitizer allocates")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a cycle empties the pool
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	p := Pool{Options: &Options{Name: "pool"}, KeepBytes: 1 << 20}
	use := func(a *Arena) {
		for range 1000 {
			New[linked](a)
			New[string](a)
			New[[2]byte](a)
		}
	}
	foreign := NewArenaWith(&Options{Name: "foreign", SlabBytes: 4096})
	use(foreign)
	reserved := foreign.Stats().Reserved
	p.Put(foreign)
	a := p.Get()
	if s := a.Stats(); a == foreign || s.Name != "pool" || s.Reserved != reserved || s.Used != 0 || s.Allocated != 0 {
		t.Errorf("%+v; %d bytes were put", s, reserved)
	}
	use(a)
	if s := a.Stats(); s.Reserved != reserved || s.Types != 3 || s.Allocated != s.Used {
		t.Errorf("used as before: %+v, want %d bytes reserved", s, reserved)
	}
	p.Put(a)
	if n := testing.AllocsPerRun(100, func() { a := p.Get(); use(a); p.Put(a) }); n != 2 {
		t.Errorf("%v allocations, want 2: the arena and the third handle", n)
	}
	// What is not used for a while is there still, within KeepBytes, and goes with Free.
	for range 3 {
		a = p.Get()
		New[linked](a)
		p.Put(a)
	}
	a = p.Get()
	if s := a.Stats(); s.Reserved != reserved {
		t.Errorf("one type used: %+v, want %d bytes reserved", s, reserved)
	}
	a.Free()
}
