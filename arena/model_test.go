package arena

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"unsafe"
)

// The types that programs allocate: all alignments, pointers of every sort,
// sizes from nothing to more than a slab.
type (
	odd    [3]byte
	linked struct {
		next *linked
		seed uint64
	}
	mixed struct {
		b bool
		s string
		m map[string]int
		i any
		f func() uint64
		c chan uint64
		p *uint64
	}
	wide struct {
		p *uint64
		_ [3000]byte
		q *uint64
	}
	enormous struct {
		p    *uint64
		data [9000]byte // more than the smallest largest slab
	}
)

// allocation is what the model knows of one allocation.
type allocation struct {
	from, to uintptr
	check    func() error
}

// kind is a type that programs allocate. In each, what is allocated must be
// zero and is then filled with what the seed says.
type kind struct {
	name  string
	new   func(a *Arena, viaHandle bool, seed uint64) allocation
	slice func(a *Arena, n, cap int, seed uint64) allocation
	grow  func(a *Arena, n, times int, seed uint64) allocation
}

func kindOf[T any](value func(seed uint64) T, equal func(v *T, seed uint64) bool) kind {
	var zero T
	size, align := unsafe.Sizeof(zero), unsafe.Alignof(zero)
	check := func(s []T, seed uint64) error {
		for i := range s {
			if !equal(&s[i], seed+uint64(i)) {
				return fmt.Errorf("%T at %p, element %d of %d, lost its content", zero, &s[i], i, len(s))
			}
		}
		return nil
	}
	// span describes s, which has its content already.
	span := func(s []T, seed uint64) allocation {
		p := uintptr(unsafe.Pointer(unsafe.SliceData(s)))
		if p%align != 0 {
			panic(fmt.Sprintf("%T at %#x: alignment %d", zero, p, align))
		}
		return allocation{p, p + uintptr(cap(s))*size, func() error { return check(s, seed) }}
	}
	mustBeZero := func(s []T) {
		b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), uintptr(len(s))*size)
		if len(bytes.Trim(b, "\x00")) != 0 {
			panic(fmt.Sprintf("%d new values of type %T are not zero", len(s), zero))
		}
	}
	fill := func(s []T, seed uint64) {
		for i := range s {
			s[i] = value(seed + uint64(i))
		}
	}
	return kind{
		name: reflect.TypeFor[T]().String(),
		new: func(a *Arena, viaHandle bool, seed uint64) allocation {
			var p *T
			if viaHandle {
				p = Of[T](a).New()
			} else {
				p = New[T](a)
			}
			s := unsafe.Slice(p, 1)
			mustBeZero(s)
			fill(s, seed)
			return span(s, seed)
		},
		slice: func(a *Arena, n, c int, seed uint64) allocation {
			s := MakeSlice[T](a, n, c)
			if len(s) != n || cap(s) != c {
				panic(fmt.Sprintf("MakeSlice(%d, %d): len %d, cap %d", n, c, len(s), cap(s)))
			}
			mustBeZero(s[:c])
			fill(s[:c], seed)
			return span(s[:c], seed)
		},
		grow: func(a *Arena, n, times int, seed uint64) allocation {
			var s []T
			for range times {
				part := make([]T, n)
				fill(part, seed+uint64(len(s)))
				if n == 1 {
					s = Append(a, s, part[0])
				} else {
					s = AppendSlice(a, s, part)
				}
			}
			if len(s) != n*times {
				panic(fmt.Sprintf("%d appends of %d: len %d", times, n, len(s)))
			}
			return span(s, seed)
		},
	}
}

func plain[T comparable](value func(seed uint64) T) kind {
	return kindOf(value, func(v *T, seed uint64) bool { return *v == value(seed) })
}

func heap(seed uint64) *uint64 { return &[]uint64{seed}[0] }

var kinds = []kind{
	plain(func(seed uint64) byte { return byte(seed) }),
	plain(func(seed uint64) uint16 { return uint16(seed) }),
	plain(func(seed uint64) float64 { return float64(seed) }),
	plain(func(seed uint64) complex128 { return complex(float64(seed), 1) }),
	plain(func(seed uint64) odd { return odd{byte(seed), 1, byte(seed >> 8)} }),
	plain(func(seed uint64) struct{} { return struct{}{} }),
	plain(func(seed uint64) string { return fmt.Sprint("heap ", seed) }),
	kindOf(func(seed uint64) linked { return linked{&linked{nil, seed}, seed} },
		func(v *linked, seed uint64) bool { return v.seed == seed && v.next.seed == seed }),
	kindOf(func(seed uint64) []byte { return fmt.Append(nil, seed) },
		func(v *[]byte, seed uint64) bool { return string(*v) == fmt.Sprint(seed) }),
	kindOf(func(seed uint64) mixed {
		c := make(chan uint64, 1)
		c <- seed
		return mixed{true, fmt.Sprint(seed), map[string]int{"seed": int(seed)}, seed, func() uint64 { return seed }, c, heap(seed)}
	}, func(v *mixed, seed uint64) bool {
		got := <-v.c
		v.c <- got
		return v.b && v.s == fmt.Sprint(seed) && v.m["seed"] == int(seed) && v.i == any(seed) && v.f() == seed && got == seed && *v.p == seed
	}),
	kindOf(func(seed uint64) wide { return wide{p: heap(seed), q: heap(seed + 1)} },
		func(v *wide, seed uint64) bool { return *v.p == seed && *v.q == seed+1 }),
	kindOf(func(seed uint64) enormous { return enormous{p: heap(seed), data: [9000]byte{8999: byte(seed)}} },
		func(v *enormous, seed uint64) bool { return *v.p == seed && v.data[8999] == byte(seed) }),
}

// modeled is an arena and what the model says it holds.
type modeled struct {
	*Arena
	live []allocation
}

// runProgram interprets b as a program of allocations and checks them.
func runProgram(b []byte) error {
	next := func() int {
		if len(b) == 0 {
			return 0
		}
		c := b[0]
		b = b[1:]
		return int(c)
	}
	var pool Pool
	var arenas []*modeled
	end := func(i int, f func(a *Arena)) error {
		err := verify(arenas)
		f(arenas[i].Arena)
		arenas[i].live = nil
		return err
	}
	seed := uint64(1)
	for len(b) > 0 {
		op := next()
		if len(arenas) == 0 || op%16 == 0 && len(arenas) < 4 {
			o := &Options{SlabBytes: 4096 << (next() % 3)}
			switch next() % 3 {
			case 1:
				o.NoIdle = true
			case 2:
				o.IdleBytes = 32 << 10
			}
			a := &modeled{}
			if op%3 == 0 {
				a.Arena = pool.Get()
			} else {
				a.Arena = NewArenaWith(o)
			}
			arenas = append(arenas, a)
			continue
		}
		i := next() % len(arenas)
		a := arenas[i]
		k := kinds[next()%len(kinds)]
		seed += 1 << 16
		switch op % 16 {
		case 0, 1, 2, 3, 4:
			n, handles := uint64(next())%40, next()%3 // by New only, in turn, by a handle only
			for j := range n {
				a.live = append(a.live, k.new(a.Arena, handles == 2 || handles == 1 && j%2 == 0, seed+j))
			}
		case 5, 6, 7:
			c := next() * next() % 700
			a.live = append(a.live, k.slice(a.Arena, min(next(), c), c, seed))
		case 8, 9:
			a.live = append(a.live, k.grow(a.Arena, 1+next()%20, 1+next()%20, seed))
		case 10:
			want := fmt.Sprint("text ", seed)
			s := String(a.Arena, want)
			p := Bytes(a.Arena, []byte(want))
			a.live = append(a.live,
				allocation{uintptr(unsafe.Pointer(unsafe.StringData(s))),
					uintptr(unsafe.Pointer(unsafe.StringData(s))) + uintptr(len(s)), func() error {
						if s != want || string(p) != want {
							return fmt.Errorf("text %q and %q, want %q", s, p, want)
						}
						return nil
					}})
		case 11:
			if err := end(i, (*Arena).Reset); err != nil {
				return err
			}
		case 12:
			if err := end(i, (*Arena).Free); err != nil {
				return err
			}
			arenas = append(arenas[:i], arenas[i+1:]...)
		case 13:
			if err := end(i, pool.Put); err != nil {
				return err
			}
			arenas = append(arenas[:i], arenas[i+1:]...)
		case 14:
			if next()%8 == 0 {
				runtime.GC()
			}
		case 15:
			a.Stats()
		}
	}
	err := verify(arenas)
	for _, a := range arenas {
		a.Free()
	}
	return err
}

// verify checks that all that is live has its content and that no two
// allocations share memory.
func verify(arenas []*modeled) error {
	var all []allocation
	for _, a := range arenas {
		all = append(all, a.live...)
		var used uint64
		for _, l := range a.live {
			if err := l.check(); err != nil {
				return err
			}
			used += uint64(l.to - l.from)
		}
		if s := a.Stats(); s.Used < used || s.Used > s.Reserved || s.Allocated < s.Used {
			return fmt.Errorf("live %d, %+v", used, s)
		}
	}
	slices.SortFunc(all, func(a, b allocation) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	for i := 1; i < len(all); i++ {
		if all[i].from < all[i-1].to {
			return fmt.Errorf("%#x-%#x and %#x-%#x overlap", all[i-1].from, all[i-1].to, all[i].from, all[i].to)
		}
	}
	return nil
}

func TestModel(t *testing.T) {
	seed := rand.Uint64()
	if err := randomPrograms(100, seed); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
}

func FuzzModel(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 0, 7, 39, 5, 0, 9, 20, 20, 3, 11, 0, 0, 1, 0, 9, 9})
	f.Add([]byte{1, 0, 1, 8, 0, 4, 19, 19, 10, 0, 0, 13, 0, 0, 0, 0, 0, 0, 2, 0, 10, 30})
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) > 300 {
			return
		}
		if err := runProgram(program); err != nil {
			t.Fatal(err)
		}
	})
}

// randomPrograms runs n programs that begin from a seed.
func randomPrograms(n int, seed uint64) error {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	r := rand.NewChaCha8(key)
	for range n {
		b := make([]byte, 100)
		r.Read(b)
		if err := runProgram(b); err != nil {
			return err
		}
	}
	return nil
}
