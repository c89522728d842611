package goruntime

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"

	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/base/input"
)

// ErrNoDebugInfo is for programs that cannot be read for want of symbols or
// debug information.
var ErrNoDebugInfo = errors.New("the program was built without debug information (-ldflags=-s or -w)")

// A place is a number in the runtime's variables.
type place struct {
	addr uint64 // as the file has it; the process may have moved it
	size int    // bytes; 0: this version of Go has no such number
}

// A Layout says where a program keeps what a State is made of.
type Layout struct {
	entry   uint64
	word    int
	order   elf.Data
	version uint64 // of the string runtime.buildVersion

	cycles, percent, limit, marked, live, ready, stacks, goroutines place
}

// variables are the runtime's variables, and the fields that are read.
var variables = []struct {
	name   string
	fields []struct {
		name string
		in   func(*Layout) *place
	}
}{
	{"runtime.memstats", []struct {
		name string
		in   func(*Layout) *place
	}{
		{"numgc", func(l *Layout) *place { return &l.cycles }},
	}},
	{"runtime.gcController", []struct {
		name string
		in   func(*Layout) *place
	}{
		{"gcPercent", func(l *Layout) *place { return &l.percent }},   // Go 1.18+
		{"memoryLimit", func(l *Layout) *place { return &l.limit }},   // Go 1.19+
		{"heapMarked", func(l *Layout) *place { return &l.marked }},   // Go 1.18+
		{"heapLive", func(l *Layout) *place { return &l.live }},       // Go 1.18+
		{"mappedReady", func(l *Layout) *place { return &l.ready }},   // Go 1.19+
		{"maxStackScan", func(l *Layout) *place { return &l.stacks }}, // Go 1.19+
	}},
}

// ReadLayout reads a program's file, which has this size.
func ReadLayout(r io.ReaderAt, size int64) (*Layout, error) {
	file, err := symbol.New(r, size, nil)
	if err != nil {
		return nil, fmt.Errorf("read the program's file: %w", err)
	}
	f := file.ELF()
	l := &Layout{entry: f.Entry, order: f.Data, word: 8}
	if f.Class == elf.ELFCLASS32 {
		l.word = 4
	}
	at := file.Values("runtime.buildVersion", "runtime.memstats", "runtime.gcController", "runtime.allglen")
	if at["runtime.buildVersion"] == 0 || at["runtime.memstats"] == 0 {
		return nil, ErrNoDebugInfo
	}
	l.version = at["runtime.buildVersion"]
	if glen := at["runtime.allglen"]; glen != 0 {
		l.goroutines = place{glen, l.word}
	}
	info, err := readDebugInfo(f)
	if err != nil {
		return nil, err
	}
	types := info.variables("runtime.memstats", "runtime.gcController")
	for _, v := range variables {
		if types[v.name] == 0 || at[v.name] == 0 {
			continue // this version of Go has none
		}
		for _, field := range v.fields {
			if p, ok := info.number(types[v.name], field.name); ok {
				p.addr += at[v.name]
				*field.in(l) = p
			}
		}
	}
	if l.cycles.size == 0 {
		return nil, ErrNoDebugInfo
	}
	return l, nil
}

func readDebugInfo(f *elf.File) (*debugInfo, error) {
	abbrev, err := executable.Debug(f, "abbrev", input.MaxAbbreviations)
	if err != nil {
		return nil, fmt.Errorf("read the program's debug information: %w", err)
	}
	data, err := executable.Debug(f, "info", input.MaxSection)
	if err != nil {
		return nil, fmt.Errorf("read the program's debug information: %w", err)
	}
	if abbrev == nil || data == nil {
		return nil, ErrNoDebugInfo
	}
	return newDebugInfo(f.ByteOrder, data, abbrev), nil
}
