// Package codepatch finds the place in a Go program that decides whether the
// heap asks for huge pages, proves that it is what it seems to be, and says
// which bytes to change so that it does.
//
// The function runtime.sysMapOS, which maps every piece of heap, ends with
//
//	if debug.disablethp != 0 {
//		sysNoHugePageOS(v, n)
//	}
//
// and sysHugePageOS, with the same arguments, stands beside sysNoHugePageOS.
// The patch makes the branch unconditional and calls that one instead: six
// bytes on amd64, eight on arm64. Go has this from 1.21.6 on.
//
// Nothing is guessed. A program is accepted if the three functions are,
// instruction for instruction, as the releases of Go that are listed in the
// directory forms have them, if they are called as there, and if the variable
// is the one that the runtime itself names "disablethp". What release the
// program says it is of plays no part. Everything else is refused.
package codepatch

import "fmt"

// A Patch is what to change in a program, or what was changed in it.
type Patch struct {
	GoVersion string // such as "go1.26.1"; "" if the program does not say
	Arch      string // GOARCH
	// Applied tells that the program has the patch: Old is what it had before.
	Applied bool
	// Edits are in an order in which a program runs after each: first the call,
	// which is skipped as long as the branch is there.
	Edits []Edit
	Proof Proof
	// Entry is the address where the program starts, and Movable tells whether
	// the kernel may load it elsewhere; then all addresses move with it.
	Entry   uint64
	Movable bool
}

// An Edit replaces bytes by as many others.
type Edit struct {
	Offset  int64  // in the file
	Address uint64 // as linked
	Old     []byte
	New     []byte
}

// Proof is what was found, all as linked.
type Proof struct {
	// The functions, with their code as it is in the file.
	MapOS, NoHugePageOS, HugePageOS Code
	DisableTHP                      uint64 // the variable that the branch reads
	Madvise                         uint64 // which both of the functions call
	// SyscallReturn is the address of a system call instruction that a return
	// follows. It has no part in the patch; see package launch.
	SyscallReturn uint64
}

// Code is a function and its bytes, with those that the linker fills up with.
type Code struct {
	Name    string
	Address uint64
	Bytes   []byte
}

// Kind says why a program is refused.
type Kind int

// The reasons.
const (
	NotELF      Kind = iota // a script, or nothing that runs here
	NotGo                   // not built by the gc toolchain of Go
	Arch                    // for a processor that is not supported
	TooOld                  // Go before 1.21.6
	Unreadable              // packed or obfuscated, or of a Go with other tables
	UnknownForm             // Go code that is not known
	Privileged              // gains privileges, or is protected
	Patched                 // has the patch already
)

// A RefusedError says why a program cannot be patched. It is left as it is.
type RefusedError struct {
	Kind Kind
	Why  string // what was looked for, and what was found
}

func (e *RefusedError) Error() string { return e.Why }

func refuse(kind Kind, format string, args ...any) error {
	return &RefusedError{kind, fmt.Sprintf(format, args...)}
}

// Open looks at the program in the file at path. The error is a *RefusedError,
// or says why the file cannot be read.
func Open(path string) (*Patch, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Find(f)
}

// Find looks at an open program. The error is a *RefusedError.
func Find(f Image) (*Patch, error) {
	arch, err := acceptable(f)
	if err != nil {
		return nil, err
	}
	p := &Patch{GoVersion: f.GoVersion(), Arch: arch.name, Entry: f.Entry(), Movable: movable(f)}
	funcs, err := arch.collect(f)
	if err != nil {
		return nil, err
	}
	if err := p.find(f, arch, funcs); err != nil {
		return nil, err
	}
	for i := range p.Edits {
		off, ok := f.Offset(p.Edits[i].Address)
		if !ok {
			return nil, refuse(Unreadable, "the code at %#x is not in the file", p.Edits[i].Address)
		}
		p.Edits[i].Offset = off
	}
	return p, nil
}
