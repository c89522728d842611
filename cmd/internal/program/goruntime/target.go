package goruntime

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"syscall"

	"github.com/foliomem/folio/cmd/internal/program/layout"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/base/input"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A Target is a process whose runtime is read as it is laid out in the memory of the
// process, without symbols or debug information. It is not stopped, so what is read one
// after the other is of different moments. A Target is for one goroutine at a time.
//
// The process is believed nothing: counts and pointers are checked before they are
// followed, and what is read for one answer is bounded.
type Target struct {
	mem     io.ReaderAt
	pid     int // of the process; 0 where mem is all that reads it
	closer  []io.Closer
	file    *symbol.File
	also    []plugged // Go plugins, whose code it runs
	moved   uint64    // how far the program is from where its file has it
	version string
	l       *layout.Layout
	at      *layout.Globals
	base    uint64 // arenaBaseOffset: the address of arena 0, of chunk 0

	gc *gcReader // nil until the GC is read

	missing []string // fields that were asked for, and that this version does not have

	// Of the answer that is being made: how much more may be read.
	reads, bytes int64
}

var (
	// ErrOtherProgram says that the memory of a process is not that of its program's file.
	ErrOtherProgram = errors.New("the memory of the process is not as its file says")
	// ErrGone says that a process has ended, or that it began another program.
	ErrGone = errors.New("it has ended, or began another program")
	// ErrInconsistent says that what was read of a runtime contradicts itself: it changed
	// while it was read, or its layout is another one.
	ErrInconsistent = errors.New("what its runtime says contradicts itself")
)

// What one answer may cost: a heap of 1 TiB takes less than that.
const (
	mostReads = 1 << 22
	mostBytes = 64 << 30
)

// Attach prepares to read the runtime of a process. A process of another user needs the
// right to ptrace it (CAP_SYS_PTRACE). What is read of a process is always of the
// program that it had at this moment: after an exec reading fails.
func Attach(fs procmem.FS, pid int) (*Target, error) {
	exe, info, err := input.Open(fs.ExePath(pid))
	if err != nil {
		return nil, err
	}
	t, err := attach(fs, pid, exe, info.Size())
	if err != nil {
		exe.Close()
		return nil, err
	}
	return t, nil
}

func attach(fs procmem.FS, pid int, exe *os.File, size int64) (*Target, error) {
	f, err := open(exe, size)
	if err != nil {
		return nil, err
	}
	p, err := Find(f)
	if err != nil {
		return nil, err
	}
	t, err := p.attach(fs, pid, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	t.file, t.closer = f, append(t.closer, exe)
	f.Forget() // a Target may be kept for as long as its process runs
	return t, nil
}

func open(exe *os.File, size int64) (*symbol.File, error) {
	f, err := symbol.New(exe, size, nil)
	if err != nil {
		return nil, fmt.Errorf("read the program's file: %w", err)
	}
	return f, nil
}

// attach makes a Target without names of a process of the program, whose memory is opened to
// be read, or written too.
func (p *Program) attach(fs procmem.FS, pid, flag int) (*Target, error) {
	mem, err := openMemory(fs, pid, flag)
	if err != nil {
		return nil, err
	}
	t, err := p.attachTo(fs, pid, mem)
	if err != nil {
		mem.Close()
	}
	return t, err
}

func openMemory(fs procmem.FS, pid, flag int) (*os.File, error) {
	mem, err := os.OpenFile(fs.MemPath(pid), flag, 0)
	if errors.Is(err, os.ErrPermission) {
		// More is needed than for the files before, which the same user may read.
		return nil, &deniedError{err, fs.Denied(pid)}
	}
	return mem, err
}

// attachTo is attach with the open memory of the process.
func (p *Program) attachTo(fs procmem.FS, pid int, mem *os.File) (*Target, error) {
	entry, err := fs.Entry(pid, 8)
	if err != nil {
		return nil, err
	}
	number := 0
	if fs.Numbered() {
		number = pid
	}
	t, err := p.target(mem, number, entry-p.entry)
	if err != nil {
		return nil, err
	}
	t.closer = []io.Closer{mem}
	return t, nil
}

// NewTarget makes a Target of a program's file and memory in which the program is so many
// bytes from where its file has it.
func NewTarget(f *symbol.File, mem io.ReaderAt, moved uint64) (*Target, error) {
	p, err := Find(f)
	if err != nil {
		return nil, err
	}
	t, err := p.target(mem, 0, moved)
	if err != nil {
		return nil, err
	}
	t.file = f
	f.Forget()
	return t, nil
}

func (p *Program) target(mem io.ReaderAt, pid int, moved uint64) (*Target, error) {
	t := &Target{mem: mem, pid: pid, moved: moved, version: p.version, l: p.l, at: p.at}
	if p.l.Arch == "amd64" {
		t.base = 0xffff800000000000
	}
	t.begin()
	have := make([]byte, len(p.code))
	if err := t.read(p.at.Code+moved, have); err != nil {
		return nil, err
	}
	if !bytes.Equal(p.code, have) {
		return nil, ErrOtherProgram
	}
	if _, err := t.Stats(); err != nil {
		return nil, err
	}
	return t, nil
}

// Close ends the reading.
func (t *Target) Close() (err error) {
	for _, c := range t.closer {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Beside returns a Target of the same process that can be read while t is, as long as only
// one of both asks for names and stacks. It ends with t.
func (t *Target) Beside() *Target {
	other := *t
	other.closer, other.missing, other.gc = nil, nil, nil
	return &other
}

// Version returns the version of Go of the program.
func (t *Target) Version() string { return t.version }

// Alive reports whether the process still has the program that it had at the beginning.
func (t *Target) Alive() bool {
	t.begin()
	return t.read(t.at.Code+t.moved, make([]byte, 8)) == nil
}

// begin begins an answer.
func (t *Target) begin() { t.reads, t.bytes = mostReads, mostBytes }

// read reads memory. Addresses beyond what a file offset can be are nobody's.
func (t *Target) read(addr uint64, buf []byte) error {
	if addr > math.MaxInt64-uint64(len(buf)) {
		return fmt.Errorf("%w: address %#x", ErrInconsistent, addr)
	}
	t.reads--
	if t.bytes -= int64(len(buf)); t.reads < 0 || t.bytes < 0 {
		return fmt.Errorf("%w: there is no end to it", ErrInconsistent)
	}
	if len(buf) >= fast && t.pid != 0 && t.readFast(addr, buf) {
		return nil
	}
	n, err := t.mem.ReadAt(buf, int64(addr))
	if n == len(buf) {
		return nil
	}
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return fmt.Errorf("read its memory: %w", ErrGone)
	case errors.Is(err, syscall.EIO): // nothing is mapped there
		return fmt.Errorf("%w: nothing is at address %#x", ErrInconsistent, addr)
	}
	return fmt.Errorf("read its memory at %#x: %w", addr, err)
}

func (t *Target) word(addr uint64) (uint64, error) {
	var b [8]byte
	err := t.read(addr, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

// A slice is a slice of the process.
type slice struct{ ptr, len, cap uint64 }

// slice reads a slice of at most so many elements of this size.
func (t *Target) slice(addr, size, most uint64) (slice, error) {
	var b [24]byte
	if err := t.read(addr, b[:]); err != nil {
		return slice{}, err
	}
	s := slice{binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])}
	if s.len > s.cap || s.len > most || s.cap > math.MaxInt64/max(size, 1) || s.ptr > math.MaxInt64-s.cap*size || s.len > 0 && s.ptr == 0 {
		return slice{}, fmt.Errorf("%w: a slice of %d, which has room for %d", ErrInconsistent, s.len, s.cap)
	}
	return s, nil
}

// field returns where a field is. One that this version of Go does not have is noted; its
// place is the beginning of the structure, and its size 0.
func (t *Target) field(path string) layout.Field {
	f, ok := t.l.Field(path)
	if !ok {
		t.missing = append(t.missing, path)
	}
	return f
}

// lacks returns the error of fields that were asked for, and are not in the table.
func (t *Target) lacks() error {
	if len(t.missing) == 0 {
		return nil
	}
	return fmt.Errorf("the runtime of %s: field %s is %w", t.l.Version, t.missing[0], layout.ErrUnknown)
}

// number takes a field of a structure that was read.
func number(b []byte, f layout.Field) uint64 {
	if end := f.Offset + 8; f.Size == 8 && end <= uint64(len(b)) {
		return binary.LittleEndian.Uint64(b[f.Offset:end])
	}
	return smallNumber(b, f)
}

// smallNumber is number, which is inlined for fields of 8 bytes.
func smallNumber(b []byte, f layout.Field) uint64 {
	if f.Offset+f.Size > uint64(len(b)) {
		return 0
	}
	switch b = b[f.Offset:]; f.Size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return 0
}

// A Range is a part of the address space of the process.
type Range struct{ Start, End uint64 }

// Len returns its size in bytes.
func (r Range) Len() uint64 { return r.End - r.Start }
