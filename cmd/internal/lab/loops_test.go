package lab

import (
	"testing"
	"time"
	"unsafe"
)

// A chain visits each of its slots once and then begins anew.
func TestLink(t *testing.T) {
	for bits := uint(0); bits <= 14; bits++ {
		n := 1 << bits
		mem := make([]uint64, n*line/8)
		base := unsafe.Pointer(&mem[0])
		link(base, bits)
		seen := make([]bool, n)
		at := uint64(0)
		for i := range n {
			if at%line != 0 || at >= uint64(n*line) || seen[at/line] {
				t.Fatalf("%d bits: step %d is at %d, again or outside", bits, i, at)
			}
			seen[at/line] = true
			at = mem[at/8]
		}
		if at != 0 || chase(base, 0, n) != 0 {
			t.Errorf("%d bits: the chain ends at %d, not where it began", bits, at)
		}
	}
}

func TestRead(t *testing.T) {
	const bits = 10
	mem := make([]uint64, 1<<bits)
	var want uint64
	for i := range mem {
		mem[i] = uint64(i) * 0x100000001
	}
	state := uint64(seed)
	hit := make([]bool, len(mem))
	for range 16 << bits {
		state = state*lcgMul + lcgInc
		i := state >> 24 % uint64(len(mem))
		want += mem[i]
		hit[i] = true
	}
	if got := read(unsafe.Pointer(&mem[0]), bits, seed, lcgMul, lcgInc, 16<<bits); got != want {
		t.Errorf("sum %d, want %d", got, want)
	}
	for i, h := range hit {
		if !h {
			t.Errorf("word %d was never read", i)
		}
	}
}

func TestTouch(t *testing.T) {
	mem := make([]byte, 1000)
	touch(unsafe.Pointer(&mem[0]), 1000, 300)
	for i, b := range mem {
		if (b == 42) != (i%300 == 0) {
			t.Errorf("byte %d is %d", i, b)
		}
	}
}

func TestQuantile(t *testing.T) {
	var d []time.Duration
	for i := range 100 {
		d = append(d, time.Duration(i+1))
	}
	for q, want := range map[float64]time.Duration{0.5: 50, 0.99: 99, 1: 100, 0.001: 1} {
		if got := quantile(d, q); got != want {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
	if got := quantile(d[:1], 0.99); got != 1 {
		t.Errorf("of one: %v", got)
	}
	if got := median([]time.Duration{3, 1, 2}); got != 2 {
		t.Errorf("median %v", got)
	}
}
