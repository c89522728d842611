// The addresses are those of 64-bit processes.

//go:build !386 && !arm && !mips && !mipsle

package goheap

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

// TestAround: what is found is held against what the runtime says it has.
func TestAround(t *testing.T) {
	const a, b = 0x260620000000, 0x270000000000
	vmas := []procmem.VMA{
		anon(a, a+40*mib, true, ""), anon(a+40*mib, a+64*mib, false, ""),
		anon(b, b+10*mib, true, ""), anon(b+10*mib, b+64*mib, false, ""),
	}
	for _, c := range []struct {
		mapped uint64
		want   string
	}{
		{40 * mib, fmt.Sprint([]page.Range{{Start: a, End: a + 40*mib}})},
		{50 * mib, fmt.Sprint([]page.Range{{Start: a, End: a + 40*mib}, {Start: b, End: b + 10*mib}})},
		{45 * mib, "[]"}, // neither with nor without the second
		{20 * mib, "[]"}, // something that is not the heap is part of the mapping
	} {
		got, err := around(vmas, a+mib, c.mapped, heapState{mapped: c.mapped, other: mib})
		if fmt.Sprint(got) != c.want || (err == nil) != (got != nil) {
			t.Errorf("%d MiB mapped: %v, %v, want %s", c.mapped/mib, got, err, c.want)
		}
	}
	if got, err := around(vmas, stack, mib, heapState{mapped: mib}); err == nil {
		t.Errorf("an object elsewhere: %v", got)
	}
}
