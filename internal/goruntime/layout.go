package goruntime

import (
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"io"
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

	cycles, percent, limit, marked, live, ready place
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
		{"gcPercent", func(l *Layout) *place { return &l.percent }}, // Go 1.18+
		{"memoryLimit", func(l *Layout) *place { return &l.limit }}, // Go 1.19+
		{"heapMarked", func(l *Layout) *place { return &l.marked }}, // Go 1.18+
		{"heapLive", func(l *Layout) *place { return &l.live }},     // Go 1.18+
		{"mappedReady", func(l *Layout) *place { return &l.ready }}, // Go 1.19+
	}},
}

// ReadLayout reads a program's file.
func ReadLayout(r io.ReaderAt) (*Layout, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("read the program's file: %w", err)
	}
	l := &Layout{entry: f.Entry, order: f.Data, word: 8}
	if f.Class == elf.ELFCLASS32 {
		l.word = 4
	}
	symbols, err := f.Symbols()
	if errors.Is(err, elf.ErrNoSymbols) {
		return nil, ErrNoDebugInfo
	}
	if err != nil {
		return nil, fmt.Errorf("read the program's symbols: %w", err)
	}
	at := make(map[string]uint64)
	for _, s := range symbols {
		switch s.Name {
		case "runtime.buildVersion", "runtime.memstats", "runtime.gcController", "runtime.gcStart":
			at[s.Name] = s.Value
		}
	}
	if at["runtime.buildVersion"] == 0 || at["runtime.gcStart"] == 0 || at["runtime.memstats"] == 0 {
		return nil, ErrNoDebugInfo
	}
	l.version = at["runtime.buildVersion"]
	if f.Section(".debug_info") == nil && f.Section(".zdebug_info") == nil {
		return nil, ErrNoDebugInfo
	}
	info, err := f.DWARF()
	if err != nil {
		return nil, fmt.Errorf("read the program's debug information: %w", err)
	}
	types, err := variableTypes(info, at["runtime.gcStart"])
	if err != nil {
		return nil, err
	}
	for _, v := range variables {
		t, ok := types[v.name].(*dwarf.StructType)
		if !ok || at[v.name] == 0 {
			continue // this version of Go has none
		}
		for _, field := range v.fields {
			p, ok := number(t, field.name)
			if !ok {
				continue
			}
			p.addr += at[v.name]
			*field.in(l) = p
		}
	}
	if l.cycles.size == 0 {
		return nil, ErrNoDebugInfo
	}
	return l, nil
}

// variableTypes returns the types of the runtime's variables, from the unit that
// the function at pc is in: package runtime is one unit.
func variableTypes(info *dwarf.Data, pc uint64) (map[string]dwarf.Type, error) {
	r := info.Reader()
	if _, err := r.SeekPC(pc); err != nil {
		if errors.Is(err, dwarf.ErrUnknownPC) {
			return nil, ErrNoDebugInfo
		}
		return nil, fmt.Errorf("read the program's debug information: %w", err)
	}
	types := make(map[string]dwarf.Type)
	for {
		e, err := r.Next()
		if err != nil {
			return nil, fmt.Errorf("read the program's debug information: %w", err)
		}
		if e == nil || e.Tag == 0 {
			return types, nil
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		off, ok := e.Val(dwarf.AttrType).(dwarf.Offset)
		if e.Tag == dwarf.TagVariable && ok && (name == "runtime.memstats" || name == "runtime.gcController") {
			t, err := info.Type(off)
			if err != nil {
				return nil, fmt.Errorf("read the type of %s: %w", name, err)
			}
			types[name] = resolve(t)
		}
		if e.Children {
			r.SkipChildren()
		}
	}
}

func resolve(t dwarf.Type) dwarf.Type {
	const most = 10 // names for a name
	for range most {
		d, ok := t.(*dwarf.TypedefType)
		if !ok {
			break
		}
		t = d.Type
	}
	return t
}

// number returns where in a struct the number of this name is. The atomic types
// keep theirs in a field value.
func number(t *dwarf.StructType, name string) (place, bool) {
	for _, f := range t.Field {
		if f.Name != name {
			continue
		}
		switch ft := resolve(f.Type).(type) {
		case *dwarf.StructType:
			p, ok := number(ft, "value")
			p.addr += uint64(f.ByteOffset)
			return p, ok
		case *dwarf.IntType, *dwarf.UintType:
			p := place{addr: uint64(f.ByteOffset), size: int(ft.Size())}
			return p, p.size == 4 || p.size == 8
		}
	}
	return place{}, false
}
