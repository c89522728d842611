package layout

import (
	"encoding/binary"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// followARM64 reads the few forms by which the compiler and the linker refer to
// variables; of all others it forgets what they may change.
func followARM64(fn symbol.Func, code []byte, visit func(event)) {
	words := len(code) / 4
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(code[4*i:]) }
	targets := make(map[int]bool)
	for i := range words {
		if to, ok := branchARM64(word(i)); ok {
			targets[i+to] = true
		}
	}
	var known [32]uint64 // 0 is unknown; register 31 is none
	for i := range words {
		if targets[i] {
			known = [32]uint64{}
		}
		w, address := word(i), fn.Entry+uint64(4*i)
		to, from := w&31, w>>5&31
		switch {
		case w>>26 == 0x25: // BL
			visit(event{call: true, address: address + uint64(int64(int32(w<<6)>>4)), arg: known[0]})
			known = [32]uint64{}
		case w&0x9f000000 == 0x90000000: // ADRP
			pages := int64(int32(w<<8)>>13<<2 | int32(w>>29&3))
			known[to] = address&^0xfff + uint64(pages<<12)
		case w&0xff800000 == 0x91000000: // ADD of a number
			at := known[from]
			if n := uint64(w >> 10 & 0xfff); at != 0 && w>>22&1 == 0 {
				at += n
				visit(event{address: at})
			} else {
				at = 0
			}
			known[to] = at
		case w&0xffe0ffe0 == 0xaa0003e0: // MOV
			known[to] = known[w>>16&31]
		case w&0x3b000000 == 0x39000000: // load or store, offset in its size
			if at := known[from]; at != 0 && from != 31 {
				visit(event{address: at + uint64(w>>10&0xfff)<<(w>>30)})
			}
			if w>>26&1 == 0 && w>>22&3 != 0 { // it loads a register that can hold addresses
				known[to] = 0
			}
		case w&0x0a000000 == 0x08000000: // other loads and stores
			if at := known[from]; at != 0 && from != 31 {
				visit(event{address: at})
			}
			known[to], known[from], known[w>>10&31], known[w>>16&31] = 0, 0, 0, 0
		default:
			if _, jumps := branchARM64(w); !jumps {
				known[to] = 0
			}
		}
		known[31] = 0
	}
}

// branchARM64 returns how many instructions further a jump leads.
func branchARM64(w uint32) (to int, ok bool) {
	switch {
	case w>>26 == 0x05: // B
		return int(int32(w<<6) >> 6), true
	case w>>24 == 0x54, w>>25&0x3f == 0x1a: // B.cond, CBZ, CBNZ
		return int(int32(w<<8) >> 13), true
	case w>>25&0x3f == 0x1b: // TBZ, TBNZ
		return int(int32(w<<13) >> 18), true
	}
	return 0, false
}
