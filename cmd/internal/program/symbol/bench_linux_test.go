package symbol

import (
	"os"
	"testing"
)

// self is the test binary.
func self(b *testing.B) *File {
	b.Helper()
	path, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		b.Fatal(err)
	}
	return f
}

func BenchmarkOpen(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if !self(b).HasTable() {
			b.Fatal("it has no table of functions")
		}
	}
}

// Each sample of a program has some ten addresses.
func BenchmarkLookup(b *testing.B) {
	f := self(b)
	var addresses []uint64
	for fn := range f.Funcs() {
		addresses = append(addresses, fn.Entry)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		f.Lookup(addresses[i%len(addresses)], false)
		i += 997
	}
}

func BenchmarkFuncAt(b *testing.B) {
	f := self(b)
	var addresses []uint64
	for fn := range f.Funcs() {
		addresses = append(addresses, fn.Entry)
	}
	i := 0
	for b.Loop() {
		if _, ok := f.FuncAt(addresses[i%len(addresses)]); !ok {
			b.Fatalf("nothing is at %#x", addresses[i%len(addresses)])
		}
		i += 997
	}
}
