// The addresses are those of 64-bit processes.

//go:build !386 && !arm && !mips && !mipsle

package heapmap

import (
	"fmt"
	"testing"

	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

func anon(start, end uint64, rw bool, name string) procmem.VMA {
	return procmem.VMA{Start: start, End: end, Read: rw, Write: rw, Name: name}
}

const (
	mib   = 1 << 20
	stack = 0x7ffc15467000
)

// stackTop is what the kernel maps at the top of a 64-bit process on amd64.
var stackTop = procmem.VMA{Start: stack, End: stack + 0x21000, Read: true, Write: true, Name: "[stack]"}

// TestShapes has the maps of processes as kernels without names show them.
func TestShapes(t *testing.T) {
	const random, classic, glibc = 0x260620000000, 0xc000000000, 0x7f1234000000
	for _, c := range []struct {
		name string
		vmas []procmem.VMA
		want []page.Range
	}{
		{"randomized, begins within an arena", []procmem.VMA{
			anon(random, random+24*mib, false, ""), anon(random+24*mib, random+132*mib, true, ""), anon(random+132*mib, random+192*mib, false, ""),
		}, []page.Range{{Start: random + 24*mib, End: random + 132*mib}}},
		{"parts with other flags are one", []procmem.VMA{
			anon(classic, classic+8*mib, true, ""), anon(classic+8*mib, classic+16*mib, true, ""), anon(classic+16*mib, classic+64*mib, false, ""),
		}, []page.Range{{Start: classic, End: classic + 16*mib}}},
		{"glibc's arenas are not", []procmem.VMA{
			anon(glibc, glibc+mib, true, ""), anon(glibc+mib, glibc+64*mib, false, ""),
		}, nil},
		{"the classic place wins", []procmem.VMA{
			anon(classic, classic+64*mib, true, ""), anon(random, random+64*mib, true, ""),
		}, []page.Range{{Start: classic, End: classic + 64*mib}}},
		{"not whole arenas", []procmem.VMA{anon(random, random+63*mib, true, "")}, nil},
		{"only reserved", []procmem.VMA{anon(random, random+64*mib, false, "")}, nil},
		{"a file", []procmem.VMA{{Start: random, End: random + 64*mib, Read: true, Write: true, Inode: 1, Name: "/f"}}, nil},
		{"shared", []procmem.VMA{{Start: random, End: random + 64*mib, Read: true, Write: true, Shared: true}}, nil},
		{"somebody else's name", []procmem.VMA{anon(random, random+64*mib, true, "[anon:jit]")}, nil},
		{"nothing", nil, nil},
	} {
		if got := Shaped(append(c.vmas, stackTop)); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if got := Shaped([]procmem.VMA{anon(0x8000000, 0xc000000, true, ""), {Start: 0xffffd000, End: 0xfffff000, Name: "[stack]"}}); got != nil {
		t.Errorf("a 32-bit process: %v", got)
	}
}

func TestNames(t *testing.T) {
	got := Named([]procmem.VMA{
		anon(1*mib, 2*mib, false, reservationName), anon(2*mib, 3*mib, true, heapName), anon(3*mib, 4*mib, true, heapName),
		anon(4*mib, 5*mib, true, "[anon: Go: gc bits]"), anon(6*mib, 7*mib, true, heapName),
	})
	if want := []page.Range{{Start: 2 * mib, End: 4 * mib}, {Start: 6 * mib, End: 7 * mib}}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}
