package profile

import (
	"slices"

	"github.com/foliomem/folio/internal/system/perf"
)

// process is what is mapped where in a process.
type process struct {
	maps []mapping // sorted, without overlaps
	// known keeps what addresses are; the same ones come again and again.
	known map[known]uint32
}

type known struct {
	addr    uint64
	returns bool
}

type mapping struct {
	start, end, offset uint64
	object             uint32
}

// maxKnown bounds what a process remembers: a program that generates code can
// show any number of addresses.
const maxKnown = 1 << 14

// maxMaps bounds the mappings of code that a process has. One that maps and unmaps
// for ever loses what it had before.
const maxMaps = 1 << 12

// add maps an object. What was there before is gone: the kernel reports what
// is mapped, not what is unmapped.
func (p *process) add(m *perf.Mapping, object uint32) {
	n := mapping{start: m.Addr, end: m.Addr + m.Len, offset: m.Offset, object: object}
	if n.end <= n.start {
		return
	}
	if len(p.maps) >= maxMaps {
		p.maps = nil
	}
	var maps []mapping // a new one: a child may share the old
	for _, o := range p.maps {
		if o.start < n.start {
			left := o
			left.end = min(o.end, n.start)
			maps = append(maps, left)
		}
		if o.end > n.end {
			right := o
			right.start = max(o.start, n.end)
			right.offset += right.start - o.start
			maps = append(maps, right)
		}
	}
	at, _ := slices.BinarySearchFunc(maps, n.start, func(m mapping, a uint64) int {
		if m.start < a {
			return -1
		}
		return 1
	})
	p.maps = slices.Insert(maps, at, n)
	p.known = nil
}

// find returns the mapping that an address is in, nil if it is in none.
func (p *process) find(addr uint64) *mapping {
	lo, hi := 0, len(p.maps)
	for lo < hi {
		if mid := (lo + hi) / 2; p.maps[mid].end <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(p.maps) && p.maps[lo].start <= addr {
		return &p.maps[lo]
	}
	return nil
}

// fork returns a process that has the same mapped.
func (p *process) fork() *process { return &process{maps: p.maps} }
