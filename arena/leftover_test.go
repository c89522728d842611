package arena

import (
	"fmt"
	"runtime"
	"testing"
	"unsafe"
)

// TestLeftoversAreReused frees an arena beyond the bound of idle memory and
// fills another one before a cycle begins, and after one.
func TestLeftoversAreReused(t *testing.T) {
	if debugging {
		t.Skip("debug mode reuses no slabs")
	}
	for role, want := range map[string]string{
		"leftovers":            "again, all zero: true; after a cycle: false",
		"leftovers, none kept": "again, all zero: false; after a cycle: false",
	} {
		if out, err := child(t, role, "GOGC=off", "FOLIO="); err != nil || out != want+"\n" {
			t.Errorf("%s: %v: %s\nwant %s", role, err, out, want)
		}
	}
}

func init() {
	type value struct {
		next *value
		_    [63]uint64
	}
	addresses := func(a *Arena) map[uintptr]bool {
		all := map[uintptr]bool{}
		for l := Of[value](a).stock().slabs; l != nil; l = l.link {
			if l.bytes() >= largeSlab {
				all[uintptr(unsafe.Pointer(&l.buf[0]))] = true
			}
		}
		return all
	}
	fill := func(o *Options) (at map[uintptr]bool, zero bool) {
		a := NewArenaWith(o)
		h := Of[value](a)
		zero = true
		for range 32 << 20 / unsafe.Sizeof(value{}) {
			p := h.New()
			zero = zero && *p == value{}
			p.next = p
		}
		at = addresses(a)
		a.Free()
		return at, zero
	}
	reused := func(o *Options) func() int {
		return func() int {
			first, _ := fill(o)
			again, zero := fill(o)
			n := 0
			for at := range again {
				if first[at] {
					n++
				}
			}
			d := depotOf[value]()
			runtime.GC()
			left := false
			for c := range class(numClasses) {
				left = left || d.leftovers.get(c) != nil
			}
			fmt.Printf("again, all zero: %v; after a cycle: %v\n", zero && n == len(again), left)
			return 0
		}
	}
	roles["leftovers"] = reused(nil)
	roles["leftovers, none kept"] = reused(&Options{NoIdle: true})
}

// Leftovers that are not needed are forgotten after a cycle or two, so that their list
// does not grow.
func TestLeftoversAreForgotten(t *testing.T) {
	var o leftovers[linked]
	s := &slab[linked]{buf: make([]linked, 1<<16), used: 1, size: classAbove(1 << 20)}
	s.buf[0].seed = 1
	for range 3 {
		o.add(s)
	}
	if first, second := o.tend(), o.tend(); !first || second || len(o.lists[s.size].slabs) != 0 {
		t.Errorf("any left after one cycle: %v, want true; after two: %v, want false", first, second)
	}
	o.add(s)
	if o.get(s.size-1) != nil || o.get(s.size) != s || s.used != 0 || s.buf[0].seed != 0 {
		t.Errorf("not found, or not cleared: %d in use", s.used)
	}
	if o.get(s.size) != nil {
		t.Error("found twice")
	}
}
