package goruntime

import (
	"bytes"
	"encoding/binary"
	"sort"

	"github.com/foliomem/folio/internal/base/input"
)

// This reads as much of DWARF 2 to 5 as tells the layout of the runtime's variables.
// Package debug/dwarf reads all of a file's units and abbreviations before it answers,
// follows types by recursion, and believes what the file claims; this takes memory for
// nothing but one unit's abbreviations.

// debugInfo is the section .debug_info, and .debug_abbrev.
type debugInfo struct {
	order  binary.ByteOrder
	data   []byte
	abbrev []byte
	units  []unit // ascending

	known   map[uint64]abbreviation // those at knownAt
	knownAt uint64
}

// unit is a part of .debug_info that was compiled together.
type unit struct {
	at, entries, end int // the header, what follows it, the end
	version          uint16
	address, offset  int // bytes in one
	abbrevs          uint64
}

// abbreviation says of which attributes entries consist.
type abbreviation struct {
	tag      uint32
	children bool
	attrs    []attribute
}

type attribute struct {
	name, form uint32
	constant   int64 // of formImplicitConst
}

// entry is what is needed of one entry.
type entry struct {
	tag      uint32
	children bool
	name     []byte
	typ      uint64 // where its type is; 0 for none
	member   uint64 // where in a struct it is
	size     uint64
	encoding uint64
}

// Of the constants of DWARF those that are needed.
const (
	tagMember, tagStruct, tagTypedef, tagBase, tagVariable = 0x0d, 0x13, 0x16, 0x24, 0x34

	attrName, attrSize, attrMember, attrEncoding, attrType = 0x03, 0x0b, 0x38, 0x3e, 0x49

	encodingSigned, encodingUnsigned = 0x05, 0x07
)

func newDebugInfo(order binary.ByteOrder, data, abbrev []byte) *debugInfo {
	d := &debugInfo{order: order, data: data, abbrev: abbrev}
	for c := d.cursor(0, len(data)); c.off < len(data); {
		u, ok := d.header(&c)
		if !ok {
			break // what follows cannot be found
		}
		if u.entries > 0 && len(d.units) < input.MaxUnits {
			d.units = append(d.units, u)
		}
		c.off = u.end
	}
	return d
}

// header reads the header of a unit. Its entries are 0 for units without code.
func (d *debugInfo) header(c *cursor) (unit, bool) {
	u := unit{at: c.off, offset: 4}
	length := c.uint(4)
	if length == 0xffffffff {
		u.offset, length = 8, c.uint(8)
	}
	if c.bad || length == 0 || length > uint64(len(d.data)-c.off) {
		return u, false
	}
	u.end = c.off + int(length)
	u.version = uint16(c.uint(2))
	kind := uint64(1) // DW_UT_compile
	if u.version >= 5 {
		kind = c.uint(1)
		u.address = int(c.uint(1))
		u.abbrevs = c.uint(u.offset)
	} else {
		u.abbrevs = c.uint(u.offset)
		u.address = int(c.uint(1))
	}
	if !c.bad && c.off <= u.end && u.version >= 2 && u.version <= 5 && kind == 1 && (u.address == 4 || u.address == 8) {
		u.entries = c.off
	}
	return u, true
}

// variables returns where the types of these variables of package runtime are. The
// package is one unit, its types are another, and both go by its name.
func (d *debugInfo) variables(names ...string) map[string]uint64 {
	const (
		nameWithin = 512 // bytes of a unit
		mostUnits  = 64
	)
	out := make(map[string]uint64)
	seen := 0
	for _, u := range d.units {
		if !bytes.Contains(d.data[u.entries:min(u.end, u.entries+nameWithin)], []byte("runtime\x00")) {
			continue
		}
		if seen++; seen > mostUnits {
			break
		}
		d.walk(u, u.entries, func(depth int, e *entry) bool {
			if depth == 0 {
				return string(e.name) == "runtime"
			}
			if depth == 1 && e.tag == tagVariable && e.typ != 0 {
				for _, name := range names {
					if string(e.name) == name {
						out[name] = e.typ
					}
				}
			}
			return true
		})
	}
	return out
}

// number returns where in the struct at typ the number of this name is, as an offset
// and a size. The atomic types keep theirs in a field value.
func (d *debugInfo) number(typ uint64, name string) (place, bool) {
	p := place{}
	for range 3 { // a struct in a struct
		e, field, ok := d.field(typ, name)
		if !ok {
			return place{}, false
		}
		p.addr += e.member
		switch {
		case field.tag == tagStruct:
			typ, name = e.typ, "value"
		case field.tag == tagBase && (field.encoding == encodingSigned || field.encoding == encodingUnsigned):
			p.size = int(field.size)
			return p, p.size == 4 || p.size == 8
		default:
			return place{}, false
		}
	}
	return place{}, false
}

// field returns the field of this name of the struct at typ, and its type.
func (d *debugInfo) field(typ uint64, name string) (field, of entry, ok bool) {
	u, at, ok := d.resolve(typ, &of)
	if !ok || of.tag != tagStruct || !of.children {
		return field, of, false
	}
	ok = false
	d.walk(u, at, func(depth int, e *entry) bool {
		if depth == 1 && e.tag == tagMember && string(e.name) == name {
			field, ok = *e, true
		}
		return !ok
	})
	if ok {
		_, _, ok = d.resolve(field.typ, &of)
	}
	return field, of, ok
}

// resolve finds the type at an offset, behind its other names.
func (d *debugInfo) resolve(typ uint64, e *entry) (u unit, at int, ok bool) {
	const most = 10 // names for a name
	for range most {
		i := sort.Search(len(d.units), func(i int) bool { return uint64(d.units[i].end) > typ })
		if i == len(d.units) || uint64(d.units[i].entries) > typ {
			return u, 0, false
		}
		u, at = d.units[i], int(typ)
		*e = entry{}
		d.walk(u, at, func(_ int, found *entry) bool { *e = *found; return false })
		if e.tag != tagTypedef {
			return u, at, e.tag != 0
		}
		typ = e.typ
	}
	return u, 0, false
}

// walk calls visit with the entry at an offset of a unit and with all that is in it,
// until it returns false.
func (d *debugInfo) walk(u unit, at int, visit func(depth int, e *entry) bool) {
	abbrevs := d.abbreviations(u.abbrevs)
	depth := 0
	for c := d.cursor(at, u.end); c.off < u.end; {
		code := c.uleb()
		if code == 0 {
			if depth--; depth <= 0 {
				return
			}
			continue
		}
		a, ok := abbrevs[code]
		if !ok {
			return
		}
		e := entry{tag: a.tag, children: a.children}
		for _, attr := range a.attrs {
			c.attribute(u, attr, &e)
		}
		if c.bad || !visit(depth, &e) {
			return
		}
		if a.children {
			depth++
		}
		if depth == 0 {
			return
		}
	}
}

// abbreviations reads the table at an offset of .debug_abbrev.
func (d *debugInfo) abbreviations(at uint64) map[uint64]abbreviation {
	if d.known != nil && d.knownAt == at {
		return d.known
	}
	d.known, d.knownAt = make(map[uint64]abbreviation), at
	if at >= uint64(len(d.abbrev)) {
		return d.known
	}
	part := d.abbrev[at:min(uint64(len(d.abbrev)), at+input.MaxUnitAbbreviations)]
	c := cursor{order: d.order, data: part, end: len(part)}
	for {
		code := c.uleb()
		if code == 0 || c.bad {
			return d.known
		}
		a := abbreviation{tag: uint32(c.uleb()), children: c.uint(1) != 0}
		for {
			attr := attribute{name: uint32(c.uleb()), form: uint32(c.uleb())}
			if attr.form == formImplicitConst {
				attr.constant = c.sleb()
			}
			if c.bad {
				return d.known
			}
			if attr.name == 0 && attr.form == 0 {
				break
			}
			a.attrs = append(a.attrs, attr)
		}
		d.known[code] = a
	}
}
