package layout

import (
	"debug/elf"
	"errors"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// FuzzFollow goes through code that may be anything.
func FuzzFollow(f *testing.F) {
	f.Add([]byte{0x48, 0x8d, 0x05, 1, 2, 3, 0, 0xe8, 1, 2, 3, 0, 0xcc}) // LEAQ x(SB), AX; CALL
	f.Add([]byte{0, 0, 0, 0x90, 0, 4, 0, 0x91, 1, 0, 0, 0x94})          // ADRP; ADD; BL
	f.Fuzz(func(t *testing.T, code []byte) {
		for _, follow := range followers {
			n := 0
			follow(symbol.Func{Entry: 0x400000, End: 0x400000 + uint64(len(code))}, code, func(event) { n++ })
			if n > 8*len(code) {
				t.Errorf("%d events of %d bytes", n, len(code))
			}
		}
	})
}

// TestFollow is about what is passed to functions, and what hides it.
func TestFollow(t *testing.T) {
	const entry = 0x400000
	lea := []byte{0x48, 0x8d, 0x05, 0xf9, 0x0f, 0, 0} // LEAQ entry+0x1000, AX
	call := []byte{0xe8, 0, 0, 0, 0}
	for name, c := range map[string]struct {
		code []byte
		arg  uint64
	}{
		"passed":                       {append(append([]byte{}, lea...), call...), entry + 0x1000},
		"overwritten":                  {append(append(append([]byte{}, lea...), 0x48, 0x89, 0xd8), call...), 0}, // MOVQ BX, AX
		"overwritten in part":          {append(append(append([]byte{}, lea...), 0xb0, 1), call...), 0},          // MOVB $1, AL
		"jumped to":                    {append(append([]byte{0xeb, 7}, lea...), call...), 0},                    // JMP to the call
		"by another register":          {[]byte{0x48, 0x8d, 0x0d, 0xf9, 0x0f, 0, 0, 0x48, 0x89, 0xc8, 0xe8, 0, 0, 0, 0}, entry + 0x1000},
		"after a call it is forgotten": {append(append(append([]byte{}, lea...), call...), call...), 0},
	} {
		var last event
		followAMD64(symbol.Func{Entry: entry, End: entry + uint64(len(c.code))}, c.code, func(e event) {
			if e.call {
				last = e
			}
		})
		if !last.call || last.arg != c.arg {
			t.Errorf("%s: %+v, want %#x", name, last, c.arg)
		}
	}
}

func TestFor(t *testing.T) {
	for _, c := range []struct {
		version string
		machine elf.Machine
		ok      bool
	}{
		{"go1.26.8", elf.EM_X86_64, true}, {"go1.21.0", elf.EM_AARCH64, true}, {"go1.26.8 X:nogreenteagc", elf.EM_X86_64, true},
		{"go1.27rc1", elf.EM_X86_64, true}, {"go1.20.14", elf.EM_X86_64, false}, {"go1.99.1", elf.EM_X86_64, false},
		{"devel go1.28-abcdef", elf.EM_X86_64, false}, {"", elf.EM_X86_64, false}, {"go1.26.8", elf.EM_S390, false},
	} {
		l, err := For(c.version, c.machine)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrUnknown) {
			t.Errorf("%q %v: %+v, %v", c.version, c.machine, l, err)
		}
	}
}

// TestTable checks that no version lacks what is read of all.
func TestTable(t *testing.T) {
	all, err := table()
	versions := make(map[string]bool)
	for _, l := range all {
		versions[l.Version] = true
	}
	if err != nil || len(all) != 2*len(versions) {
		t.Fatalf("%d, %v", len(all), err)
	}
	for _, l := range all {
		if m := l.Missing("mheap.allspans", "mspan.state", "mstats.heapStats", "gcControllerState.heapMarked", "g.goid", "p.pcache", "bucket.typ"); m != nil {
			t.Errorf("%s/%s lacks %v", l.Version, l.Arch, m)
		}
		if len(l.SizeClasses()) != 68 {
			t.Errorf("%d size classes", len(l.SizeClasses()))
		}
	}
}

func TestParseTable(t *testing.T) {
	for _, text := range []string{"field go1.26\n", "field go1.26/amd64\na 1:2 3:4\n", "field go1.26/amd64\na b\n", "size_classes x\n"} {
		if all, err := parse(text); err == nil {
			t.Errorf("%q: %v", text, all)
		}
	}
}
