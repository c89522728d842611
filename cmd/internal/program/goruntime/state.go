package goruntime

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// State is what a runtime keeps about its heap, in bytes. What its version of
// Go does not have is nil. The numbers are read one after the other while the
// program runs: they are of one moment only nearly.
type State struct {
	Cycles uint32 // GC cycles that were completed; wraps around

	Percent *int   // GOGC in effect; -1 is off
	Limit   *int64 // GOMEMLIMIT in effect; math.MaxInt64 is none

	Marked *uint64 // live heap that the last GC cycle found
	Live   *uint64 // Marked with what was allocated since
	Held   *uint64 // what the runtime holds of the system, and did not release
	Stacks *uint64 // stacks of goroutines

	// Goroutines is the most that there were at one time, dead ones that wait for their
	// next use included: the runtime never forgets one.
	Goroutines uint64
}

// Unlimited reports whether the runtime has no memory limit. ok is false when
// that is not known.
func (s State) Unlimited() (unlimited, ok bool) {
	if s.Limit == nil {
		return false, false
	}
	return *s.Limit == math.MaxInt64, true
}

// A Reader reads the state of one process.
type Reader struct {
	layout *Layout
	mem    io.ReaderAt
	moved  uint64 // how far the program is from where its file has it
}

// NewReader makes a reader of memory whose program was moved by so many bytes.
// version is that of Go, from the program's build information.
func NewReader(l *Layout, mem io.ReaderAt, entry uint64, version string) (*Reader, error) {
	r := &Reader{layout: l, mem: mem, moved: entry - l.entry}
	have, err := r.text(l.version, len(version))
	if err != nil {
		return nil, err
	}
	if have != version {
		return nil, fmt.Errorf("the memory of the process is not as its file says: Go %q is not at its place", version)
	}
	return r, nil
}

// Read reads the state now.
func (r *Reader) Read() (State, error) {
	var s State
	l := r.layout
	var errs []error
	get := func(p place) uint64 {
		v, err := r.number(p)
		errs = append(errs, err)
		return v
	}
	s.Cycles = uint32(get(l.cycles))
	if l.goroutines.size != 0 {
		s.Goroutines = get(l.goroutines)
	}
	if l.percent.size != 0 {
		v := int(int32(get(l.percent)))
		s.Percent = &v
	}
	if l.limit.size != 0 {
		v := int64(get(l.limit))
		s.Limit = &v
	}
	for _, f := range []struct {
		at place
		in **uint64
	}{{l.marked, &s.Marked}, {l.live, &s.Live}, {l.ready, &s.Held}, {l.stacks, &s.Stacks}} {
		if f.at.size != 0 {
			v := get(f.at)
			*f.in = &v
		}
	}
	if err := errors.Join(errs...); err != nil {
		return State{}, err
	}
	return s, nil
}

func (r *Reader) order() binary.ByteOrder {
	if r.layout.order.String() == "ELFDATA2MSB" {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func (r *Reader) number(p place) (uint64, error) {
	var buf [8]byte
	if p.size != 4 && p.size != 8 {
		return 0, fmt.Errorf("a number of %d bytes", p.size)
	}
	if err := r.bytes(p.addr+r.moved, buf[:p.size]); err != nil {
		return 0, err
	}
	if p.size == 4 {
		return uint64(r.order().Uint32(buf[:])), nil
	}
	return r.order().Uint64(buf[:]), nil
}

// text reads a string variable that must have this length.
func (r *Reader) text(addr uint64, length int) (string, error) {
	at, err := r.number(place{addr, r.layout.word})
	if err != nil {
		return "", err
	}
	n, err := r.number(place{addr + uint64(r.layout.word), r.layout.word})
	if err != nil || n != uint64(length) {
		return "", err
	}
	buf := make([]byte, length)
	err = r.bytes(at, buf) // a pointer is of the process: it was moved already
	return string(buf), err
}

// bytes reads memory. Addresses beyond what a file offset can be are nobody's.
func (r *Reader) bytes(addr uint64, buf []byte) error {
	if addr > math.MaxInt64 {
		return fmt.Errorf("address %#x: out of range", addr)
	}
	_, err := r.mem.ReadAt(buf, int64(addr))
	return err
}
