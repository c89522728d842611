package codepatch

import (
	"debug/elf"
	"encoding/binary"
	"iter"

	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// An Image is a program as Find sees it. *symbol.File is one.
type Image interface {
	IsGo() bool
	GoVersion() string
	HasTable() bool // the table of functions can be read
	Machine() elf.Machine
	Class() elf.Class
	Order() binary.ByteOrder
	Type() elf.Type
	Entry() uint64

	// Foreign says who made a program that is not of go build alone; nil for others.
	Foreign() *executable.ForeignError
	// Funcs yields the functions in the order of their addresses.
	Funcs() iter.Seq[symbol.Func]
	// FuncAt returns the function whose code is at this address.
	FuncAt(address uint64) (symbol.Func, bool)
	// Bytes returns n bytes at this address, nil if they are not in the file.
	Bytes(address uint64, n int) []byte
	// Offset returns where in the file the memory at this address comes from.
	Offset(address uint64) (int64, bool)
	// Flags says how the memory at this address may be used.
	Flags(address uint64) elf.ProgFlag
	// Words returns n words of 8 bytes, as they are when the program runs.
	Words(address uint64, n int64) []uint64
	// Pointers calls visit with the places that hold this address, until it
	// returns true.
	Pointers(address uint64, visit func(at uint64) bool)
}

// Listings returns the code of the functions that the patch is about, as the
// directory forms has it: of a program that is not patched.
func Listings(f Image) (map[string]string, error) {
	a, err := acceptable(f)
	if err != nil {
		return nil, err
	}
	funcs, err := a.collect(f)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, name := range []string{sysMapOS, noHugePageOS, hugePageOS} {
		b, err := code(f, funcs[name])
		if err != nil {
			return nil, err
		}
		l, err := a.list(f, funcs[name], b)
		if err != nil {
			return nil, err
		}
		out[name] = l.String()
	}
	return out, nil
}

// Functions are the names of the functions that Find looks for.
func Functions() []string {
	return []string{heapGrow, heapAlloc, sysMap, sysMapOS, noHugePageOS, hugePageOS, osyield}
}
