package arena_test

import (
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/foliomem/folio/arena"
)

type (
	pair   struct{ left, _ *pair }
	triple struct{ left, _, _ *pair }
)

// perArena is how many values fill 1 MiB.
const perArena = 1 << 16

// loops are what BenchmarkNew measures: each method allocates n values.
type loops interface {
	handle(n int)
	newFirst(n int)
	newSecond(n int)
	newThird(n int)
	newTwo(n int)
	newFour(n int)
}

// places are the same loops at several places in the code, of which BenchmarkNew reports the mean.
// How their jumps lie in lines of 64 bytes changes the time of a value by half, and any change of the
// program moves them.
var places = []loops{
	at[[1]int]{}, at[[3]int]{}, at[[5]int]{}, at[[7]int]{}, at[[9]int]{}, at[[11]int]{}, at[[13]int]{}, at[[15]int]{},
	at[[17]int]{}, at[[19]int]{}, at[[21]int]{}, at[[23]int]{}, at[[25]int]{}, at[[27]int]{}, at[[29]int]{}, at[[31]int]{},
}

// at is the loops after the code that clears a P.
type at[P any] struct{}

//go:noinline
func keep(unsafe.Pointer) {}

func (at[P]) handle(n int) {
	var p P
	keep(unsafe.Pointer(&p))
	a := arena.NewArena()
	h := arena.Of[pair](a)
	for i := range n {
		if i%perArena == 0 {
			a.Reset()
		}
		h.New().left = nil
	}
	a.Free()
}

func (at[P]) newFirst(n int) {
	var p P
	keep(unsafe.Pointer(&p))
	a := arena.NewArena()
	for i := range n {
		if i%perArena == 0 {
			a.Reset()
		}
		arena.New[pair](a).left = nil
	}
	a.Free()
}

func (at[P]) newSecond(n int) {
	var p P
	keep(unsafe.Pointer(&p))
	a := arena.NewArena()
	arena.New[int](a)
	for i := range n {
		if i%perArena == 0 {
			a.Reset()
		}
		arena.New[pair](a).left = nil
	}
	a.Free()
}

func (at[P]) newThird(n int) {
	var p P
	keep(unsafe.Pointer(&p))
	a := arena.NewArena()
	arena.New[int](a)
	arena.New[triple](a)
	for i := range n {
		if i%perArena == 0 {
			a.Reset()
		}
		arena.New[pair](a).left = nil
	}
	a.Free()
}

func (at[P]) newTwo(n int) {
	var p P
	keep(unsafe.Pointer(&p))
	a := arena.NewArena()
	for i := 0; i < n; i += 2 {
		if i%perArena == 0 {
			a.Reset()
		}
		arena.New[pair](a).left = nil
		arena.New[triple](a).left = nil
	}
	a.Free()
}

func (at[P]) newFour(n int) {
	var p P
	keep(unsafe.Pointer(&p))
	a := arena.NewArena()
	for i := 0; i < n; i += 4 {
		if i%perArena == 0 {
			a.Reset()
		}
		arena.New[pair](a).left = nil
		arena.New[triple](a).left = nil
		*arena.New[int](a) = i
		arena.New[[2]*pair](a)[0] = nil
	}
	a.Free()
}

func BenchmarkNew(b *testing.B) {
	for _, k := range []struct {
		name string
		loop func(l loops, n int)
	}{
		{"Handle", loops.handle},
		{"New", loops.newFirst},
		{"SecondType", loops.newSecond},
		{"ThirdType", loops.newThird},
		{"TwoInTurn", loops.newTwo},
		{"FourInTurn", loops.newFour},
	} {
		b.Run(k.name, func(b *testing.B) {
			for _, l := range places {
				k.loop(l, b.N/len(places)+1)
			}
		})
	}
}

// BenchmarkSmallArena makes an arena, fills it with a tree of 31 nodes and frees it.
func BenchmarkSmallArena(b *testing.B) {
	one := func() {
		a := arena.NewArena()
		h := arena.Of[pair](a)
		for range 31 {
			h.New().left = nil
		}
		a.Free()
	}
	b.Run("1", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			one()
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				one()
			}
		})
	})
}

// BenchmarkFree frees arenas of 64 MiB. What counts is free-ns: the time that Free
// takes of its caller.
func BenchmarkFree(b *testing.B) {
	b.Run("pointers", func(b *testing.B) { benchmarkFree[pair](b) })
	b.Run("none", func(b *testing.B) { benchmarkFree[[2]uint64](b) })
}

func benchmarkFree[T any](b *testing.B) {
	var all []time.Duration
	for b.Loop() {
		a := arena.NewArena()
		h := arena.Of[T](a)
		for range (64 << 20) / unsafe.Sizeof(*new(T)) {
			h.New()
		}
		start := time.Now()
		a.Free()
		all = append(all, time.Since(start))
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2]), "free-ns")
}
