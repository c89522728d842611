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

func BenchmarkNew(b *testing.B) {
	b.Run("Handle", func(b *testing.B) {
		a := arena.NewArena()
		defer a.Free()
		h := arena.Of[pair](a)
		for i := 0; i < b.N; i++ {
			if i%perArena == 0 {
				a.Reset()
			}
			h.New().left = nil
		}
	})
	b.Run("New", func(b *testing.B) {
		a := arena.NewArena()
		defer a.Free()
		for i := 0; i < b.N; i++ {
			if i%perArena == 0 {
				a.Reset()
			}
			arena.New[pair](a).left = nil
		}
	})
	b.Run("SecondType", func(b *testing.B) {
		a := arena.NewArena()
		defer a.Free()
		arena.New[int](a)
		for i := 0; i < b.N; i++ {
			if i%perArena == 0 {
				a.Reset()
			}
			arena.New[pair](a).left = nil
		}
	})
	b.Run("ThirdType", func(b *testing.B) {
		a := arena.NewArena()
		defer a.Free()
		arena.New[int](a)
		arena.New[triple](a)
		for i := 0; i < b.N; i++ {
			if i%perArena == 0 {
				a.Reset()
			}
			arena.New[pair](a).left = nil
		}
	})
	b.Run("TwoInTurn", func(b *testing.B) {
		a := arena.NewArena()
		defer a.Free()
		for i := 0; i < b.N; i += 2 {
			if i%perArena == 0 {
				a.Reset()
			}
			arena.New[pair](a).left = nil
			arena.New[triple](a).left = nil
		}
	})
	b.Run("FourInTurn", func(b *testing.B) {
		a := arena.NewArena()
		defer a.Free()
		for i := 0; i < b.N; i += 4 {
			if i%perArena == 0 {
				a.Reset()
			}
			arena.New[pair](a).left = nil
			arena.New[triple](a).left = nil
			*arena.New[int](a) = i
			arena.New[[2]*pair](a)[0] = nil
		}
	})
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
