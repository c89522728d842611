package arena

import "testing"

// TestHotStock: a small stock that was freed is hot, serves the next arena, and is
// left to the GC when a whole cycle did not need it.
func TestHotStock(t *testing.T) {
	if debugging {
		t.Skip("debug mode reuses no stocks")
	}
	type value struct{ _ *value }
	d := &depot[value]{size: 8, pointers: true}
	sh := &shard[value]{}
	put := func() *stock[value] {
		s := &stock[value]{depot: d, home: sh, bytes: minSlab}
		d.putStock(s, -1)
		return s
	}

	s := put()
	if !sh.cool() {
		t.Error("the first call drops a stock that was put since the last one")
	}
	if got := sh.takeHot(); got != s {
		t.Fatalf("the hot stock is %p, want %p", got, s)
	}
	if sh.takeHot() != nil {
		t.Fatal("two have the hot stock")
	}

	put()
	sh.cool()
	if sh.cool() || sh.takeHot() != nil {
		t.Error("a stock that was not needed between two calls is still there")
	}
}

// TestHotStockIsBounded: what is not counted as idle is small, and belongs to no arena
// that has a bound of its own.
func TestHotStockIsBounded(t *testing.T) {
	type value struct{ _ *value }
	for _, c := range []struct {
		bytes, most int64
		hot         bool
	}{
		{minSlab, -1, true},
		{quantum, -1, true},
		{quantum + 1, -1, false},
		{minSlab, 1 << 30, false},
		{minSlab, 0, false},
	} {
		d := &depot[value]{size: 8, pointers: true, shards: make([]shard[value], 1)}
		d.at.New = func() any { return &d.shards[0] }
		sh := &d.shards[0]
		d.putStock(&stock[value]{depot: d, home: sh, bytes: c.bytes}, c.most)
		if hot := sh.takeHot() != nil; hot != c.hot {
			t.Errorf("a stock of %d bytes with a bound of %d: hot is %v, want %v", c.bytes, c.most, hot, c.hot)
		}
		if sh.stock != nil {
			sh.tell(-c.bytes)
			sh.settle()
		}
	}
}

// TestIdleIsTold: what comes and goes changes no counter that processors share, and what was taken
// counts as idle until a GC cycle at most.
func TestIdleIsTold(t *testing.T) {
	const slab = 64 << 10
	d := &depot[byte]{size: 1, shards: make([]shard[byte], 1)}
	sh := &d.shards[0]
	for i, c := range []struct{ n, untold int64 }{
		{slab, 0},
		{-slab, -slab}, // taken
		{slab, 0},      // and put back
		{-slab, -slab},
		{-slab, -2 * slab},
		{-slab, -3 * slab},
		{-slab, 0}, // it was lag
		{quantum - 1, quantum - 1},
		{1, 0},
		{-quantum, -quantum},
	} {
		sh.tell(c.n)
		if sh.untold != c.untold {
			t.Errorf("step %d, %d bytes: %d are untold, want %d", i, c.n, sh.untold, c.untold)
		}
	}
	d.tend()
	if sh.untold != 0 {
		t.Errorf("after a GC cycle %d bytes are untold", sh.untold)
	}
	sh.tell(3 * slab) // what the test took that was not there
	sh.settle()
}
