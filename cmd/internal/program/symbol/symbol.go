// Package symbol gives names to addresses of programs: functions, files and
// lines of Go programs with what was inlined, also when they are stripped; the
// functions of other ELF files; and those of the Linux kernel.
//
// For Go it reads the tables that the runtime itself needs for stack traces,
// so no debugging information has to be there. The formats of Go 1.18 to 1.27
// are known; what is read of another version is marked ([File.Doubt]). A file may
// be corrupt, or made to harm: what cannot be read is unknown.
package symbol

import (
	"debug/elf"
	"fmt"
	"io"
	"iter"

	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/internal/base/input"
)

// Frame is a call. File and Line are empty where they are not known, as they
// are in programs that are not of Go.
type Frame struct {
	Func string
	File string
	Line int
	// Start is the line that the function starts at, 0 where that is not known, as in
	// programs of Go 1.18 and 1.19. The compiler counts lines from it in profiles.
	Start int
}

// File is an ELF file: a program or a shared library. It reads what it is
// asked for and keeps at most a few megabytes of it. Its methods must not be
// called from several goroutines at a time.
type File struct {
	s      *source
	closer io.Closer
	whole  io.ReaderAt
	elf    *elf.File

	pcln    *pcln // nil without
	address uint64
	located bool
	names   *names
	version *string
}

// Open opens the ELF file at path.
func Open(path string) (*File, error) {
	// A mapping's path can be that of a device or a pipe, opening which waits,
	// or does something.
	file, info, err := input.Open(path)
	if err != nil {
		return nil, fmt.Errorf("symbols: %w", err)
	}
	f, err := New(file, info.Size(), nil)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("symbols of %s: %w", path, err)
	}
	f.closer = file
	return f, nil
}

// New reads an ELF file of this size from r, which must stay usable until
// Close. Files that share a budget together keep no more in memory than one; nil is a
// budget of its own.
func New(r io.ReaderAt, size int64, b *Budget) (*File, error) {
	s := newSource(r, size)
	if b != nil {
		s.budget = b
	}
	e, whole, err := executable.New(r, s.size)
	if err != nil {
		return nil, err
	}
	f := &File{s: s, whole: whole, elf: e}
	// A table that cannot be read is like none: an old or later version of Go,
	// whose symbols still have names.
	if t, address, err := f.table(); err == nil {
		f.pcln, f.address = t, address
	}
	return f, nil
}

// Forget drops what was read of the file and can be read again. A File that is kept, and
// asked seldom, takes some KiB without it.
func (f *File) Forget() {
	f.s.forget()
	if f.pcln != nil {
		f.pcln.strings = make(map[int64]string)
	}
}

// Close closes the file that Open opened, and gives its budget what it kept.
func (f *File) Close() error {
	f.Forget()
	if f.names != nil {
		f.s.budget.memory += f.names.kept
		f.names = nil
	}
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// IsGo tells whether the file is a Go program or library.
func (f *File) IsGo() bool { return f.pcln != nil || f.GoVersion() != "" }

// GoVersion returns the version of Go that built the file, such as "go1.26.1",
// "" if unknown.
func (f *File) GoVersion() string {
	if f.version == nil {
		version := ""
		if build, err := executable.BuildOf(f.whole, f.s.size); err == nil {
			version = build.GoVersion
		} else if f.pcln != nil {
			version = f.scanVersion()
		}
		f.version = &version
	}
	return *f.version
}

// Assume has the file be of a version of Go, where it does not say so itself.
func (f *File) Assume(version string) { f.version = &version }

// Foreign says who made the file, where that is not go build alone; nil for others.
func (f *File) Foreign() *executable.ForeignError { return executable.Foreign(f.whole, f.s.size) }

// Doubt says why the names and lines of Go functions in the file may be wrong: it was
// built by a version of Go whose tables are not known. "" if there is no doubt.
func (f *File) Doubt() string {
	if f.pcln == nil {
		return "" // names come from the symbols, which have one format
	}
	return doubt(f.GoVersion())
}

// Address converts an offset in the file to the address that the linker gave
// to it. It is false where no code or data is loaded from. For an address in a
// running program the offset is the address minus the mapping's start plus the
// mapping's offset.
func (f *File) Address(fileOffset uint64) (uint64, bool) {
	// Neighboring parts share the page in which one ends and the other starts;
	// what is executed is in the part with code.
	for _, p := range f.loads(elf.PF_X, elf.PF_R, elf.PF_W) {
		if fileOffset >= p.Off && fileOffset-p.Off < p.Filesz {
			return p.Vaddr + (fileOffset - p.Off), true
		}
	}
	return 0, false
}

// Lookup returns what is executed at an address of the linker, innermost
// first: the calls that were inlined there, then the function. It is nil if
// that is unknown. callsite is for return addresses, which are those of the
// instruction after the call: another line, or even another function.
func (f *File) Lookup(vaddr uint64, callsite bool) []Frame {
	if callsite {
		if vaddr == 0 {
			return nil
		}
		vaddr--
	}
	if t := f.goTable(); t != nil {
		if frames := t.frames(vaddr); frames != nil {
			return frames
		}
	}
	if name := f.symbols().lookup(vaddr); name != "" {
		return []Frame{{Func: name}}
	}
	return nil
}

// Functions yields the names of all functions, in a Go program those that
// exist only inlined too. A name can come more than once.
func (f *File) Functions() iter.Seq[string] {
	if f.pcln != nil {
		return f.pcln.all()
	}
	return f.symbols().all()
}

// goTable is the function table once it is known where the code is, else nil.
func (f *File) goTable() *pcln {
	if f.pcln == nil {
		return nil
	}
	if !f.located {
		f.located = true
		if !f.locate(f.pcln, f.address) {
			// Without the start of the code no address means anything. The
			// names themselves are still good.
			f.pcln.text, f.pcln.functions = 0, 0
		}
	}
	return f.pcln
}

func (f *File) symbols() *names {
	if f.names == nil {
		f.names = f.readNames()
	}
	return f.names
}
