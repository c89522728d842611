package goruntime

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/program/layout"
	"github.com/foliomem/folio/internal/system/sys"
)

// ownMemory returns a Target of this process, and pages of it whose words are their addresses;
// every fourth page cannot be read.
func ownMemory(t *testing.T, pages int) (*Target, uint64) {
	t.Helper()
	size := os.Getpagesize()
	b, err := unix.Mmap(-1, 0, pages*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	start := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) // Safety: only the number is used.
	for i := 0; i < len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], start+uint64(i))
	}
	empty, err := unix.MemfdCreate("empty", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(empty)
	for i := 3; i < pages; i += 4 { // pages of an empty file: nobody can read them, and nothing else gets there
		if _, err := unix.MmapPtr(empty, 0, unsafe.Pointer(&b[i*size]), uintptr(size), unix.PROT_READ, unix.MAP_SHARED|unix.MAP_FIXED); err != nil { // Safety: b is not the Go heap.
			t.Fatal(err)
		}
	}
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Close() })
	target := &Target{mem: mem, pid: os.Getpid(), at: &layout.Globals{Code: start}}
	target.begin()
	return target, start
}

// TestReadPieces reads more ranges than one call takes, some of which are not there.
func TestReadPieces(t *testing.T) {
	size := uint64(os.Getpagesize())
	const pages = 6 * sys.MostRanges
	target, start := ownMemory(t, pages)
	b := newBatch(target, pages*int(size))
	for i := uint64(1); i < pages; i += 2 { // each is far from the next
		b.add(start+i*size+16, 8)
	}
	b.add(^uint64(15), 8) // nothing is there, and nobody may ask for it
	b.read()
	for i := uint64(1); i < pages; i += 2 {
		at := start + i*size + 16
		switch got := b.at(at, 8); {
		case i%4 == 3 && got != nil:
			t.Fatalf("page %d cannot be read: %x", i, got)
		case i%4 != 3 && (got == nil || binary.LittleEndian.Uint64(got) != at):
			t.Fatalf("page %d: %x, want %x", i, got, at)
		}
	}
	if b.at(^uint64(15), 8) != nil {
		t.Error("it read what is not there")
	}
	target.reads, target.bytes = 10, mostBytes // there is an end to it: it is not read at once
	b.read()
	if n := len(slices.DeleteFunc(slices.Clone(b.pieces), func(p piece) bool { return p.data == nil })); n > 10 {
		t.Errorf("%d pieces were read, 10 may be", n)
	}
}

// TestStructures reads structures in the order of their addresses, backwards, and in none.
func TestStructures(t *testing.T) {
	target, start := ownMemory(t, 3) // without a hole
	var up []uint64
	const size = 160
	for at := start; at+size <= start+3*uint64(os.Getpagesize()); at += size {
		up = append(up, at)
	}
	down := slices.Clone(up)
	slices.Reverse(down)
	mixed := slices.Clone(up)
	rand.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	for name, addrs := range map[string][]uint64{"up": up, "down": down, "mixed": mixed, "one": up[:1], "none": nil, "each twice": slices.Concat(up, down)} {
		var got []uint64
		err := target.structures(slices.Clone(addrs), size, func(b []byte) error {
			if len(b) != size {
				t.Errorf("%s: %d bytes", name, len(b))
			}
			got = append(got, binary.LittleEndian.Uint64(b))
			return nil
		})
		slices.Sort(got)
		want := slices.Sorted(slices.Values(addrs))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %d structures, want %d: %v", name, len(got), len(want), err)
		}
	}
	target, start = ownMemory(t, 4)
	hole := start + 3*uint64(os.Getpagesize())
	if err := target.structures([]uint64{start, start + size, hole - size, hole}, size, func([]byte) error { return nil }); err == nil {
		t.Error("a structure that is not there is no error")
	}
	if err := target.structures([]uint64{^uint64(7), ^uint64(0) - size}, size, func([]byte) error { return nil }); err == nil {
		t.Error("structures at the end of all addresses are not an error")
	}
}
