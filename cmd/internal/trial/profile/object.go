package profile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/layout"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/base/input"
	"github.com/foliomem/folio/internal/system/perf"
)

// symbols is what a collector needs of a [symbol.File].
type symbols interface {
	IsGo() bool
	Doubt() string // why names of Go may be wrong; "" for no doubt
	Address(fileOffset uint64) (uint64, bool)
	Lookup(vaddr uint64, callsite bool) []symbol.Frame
	Forget() // what can be read again
	Close() error
}

// object is what is mapped: a file, or memory without one.
type object struct {
	path    string
	syms    symbols // nil if there are none
	code    io.ReaderAt
	closer  io.Closer
	machine uint16 // of ELF
	vdso    bool
	program bool  // what its process runs, not a library
	memory  bool  // no file: generated code
	err     error // why there are no symbols
	used    int   // when it was last mapped: see Meter
}

// identity tells files apart that have the same path, in different containers
// or one after the other.
type identity struct {
	path         string
	major, minor uint32
	inode        uint64
	pid          int // of the first process, where the kernel gives no inode
	// changed tells a file from one that has its number later; 0 if nobody asks.
	changed int64
}

func identify(m *perf.Mapping) identity {
	id := identity{path: m.Path, major: m.Major, minor: m.Minor, inode: m.Inode}
	if m.Inode == 0 && strings.HasPrefix(m.Path, "/") {
		id.pid = m.PID
	}
	return id
}

// isFile says whether a mapping is of a file. Others have names such as
// "[vdso]", "//anon" or none.
func isFile(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") &&
		!strings.HasPrefix(path, "/dev/zero") && !strings.HasPrefix(path, "/SYSV")
}

// isMemory says whether a mapping is of a file without a path: a program that was
// unpacked to memory, or code that was generated there.
func isMemory(path string) bool { return strings.HasPrefix(path, "/memfd:") }

const deleted = " (deleted)"

// openObject opens what is mapped. It must do so while the process lives: its
// root, which may be a container's, goes with it.
func openObject(root string, m *perf.Mapping, b *symbol.Budget) *object {
	o := &object{path: m.Path}
	switch {
	case m.Path == "[vdso]" || m.Path == "[vsyscall]":
		o.vdso = true
		return o
	case !isFile(m.Path):
		o.memory = true
		if o.path == "" || o.path == "//anon" {
			o.path = "memory without a file"
		}
		return o
	}
	proc := filepath.Join("/", root, "proc", strconv.Itoa(m.PID))
	exe := filepath.Join(proc, "exe")
	o.program = isProgram(exe, m)
	// The kernel's own links lead to what is mapped, wherever it is and even after it
	// was removed: that of a mapping for root alone, that of the program for its owner.
	candidates := []string{filepath.Join(proc, "map_files", fmt.Sprintf("%x-%x", m.Addr, m.Addr+m.Len))}
	if o.program {
		candidates = append(candidates, exe)
	}
	if !isMemory(m.Path) {
		path := strings.TrimSuffix(m.Path, deleted)
		candidates = append(candidates, filepath.Join(proc, "root", path), path)
	}
	for _, c := range candidates {
		if o.err = o.open(c, m, b); o.err == nil {
			return o
		}
	}
	if isMemory(m.Path) && !o.program { // of a compiler that runs in the process
		o.memory, o.err = true, nil
	}
	return o
}

// isProgram says whether a mapping is of the program that its process runs, by the
// process's link to it.
func isProgram(exe string, m *perf.Mapping) bool {
	path, err := os.Readlink(exe)
	if err != nil {
		return false
	}
	info, err := os.Stat(exe)
	return err == nil && (same(info, m) ||
		strings.TrimSuffix(path, deleted) == strings.TrimSuffix(m.Path, deleted) && !replaced(info, m))
}

var (
	errReplaced = errors.New("the file was replaced or removed while it ran")
	errMany     = errors.New("too many files are mapped")
)

func (o *object) open(path string, m *perf.Mapping, b *symbol.Budget) error {
	f, info, err := input.Open(path)
	if err != nil {
		return err
	}
	if replaced(info, m) {
		f.Close()
		return errReplaced
	}
	syms, err := symbol.New(f, info.Size(), b)
	if err != nil {
		f.Close()
		return err
	}
	layout.Identify(syms) // names are read by the tables of its version
	o.syms, o.closer = syms, f
	o.setCode(f)
	return nil
}

func (o *object) setCode(r io.ReaderAt) {
	var head [20]byte
	if _, err := r.ReadAt(head[:], 0); err == nil {
		o.code = r
		o.machine = binary.LittleEndian.Uint16(head[18:])
	}
}

func (o *object) close() {
	if o.syms != nil {
		_ = o.syms.Close()
	}
	if o.closer != nil {
		_ = o.closer.Close()
	}
	o.syms, o.code, o.closer = nil, nil, nil
}

const (
	machineAMD64 = 62
	machineARM64 = 183
)

// callTarget returns the address of the linker that is called by the
// instruction before the one at this offset in the file; ok is false if that is
// no call, or one whose target is not in the instruction.
func (o *object) callTarget(offset uint64) (target uint64, ok bool) {
	if o.code == nil || o.syms == nil {
		return 0, false
	}
	var b [5]byte
	switch o.machine {
	case machineAMD64:
		if offset < 5 {
			return 0, false
		}
		if _, err := o.code.ReadAt(b[:5], int64(offset-5)); err != nil || b[0] != 0xe8 {
			return 0, false
		}
		at, ok := o.syms.Address(offset - 1)
		return at + 1 + uint64(int64(int32(binary.LittleEndian.Uint32(b[1:])))), ok
	case machineARM64:
		if offset < 4 {
			return 0, false
		}
		if _, err := o.code.ReadAt(b[:4], int64(offset-4)); err != nil {
			return 0, false
		}
		inst := binary.LittleEndian.Uint32(b[:])
		if inst>>26 != 0x25 { // BL
			return 0, false
		}
		at, ok := o.syms.Address(offset - 4)
		return at + uint64(int64(int32(inst<<6)>>6)*4), ok
	}
	return 0, false
}
