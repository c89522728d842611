package layout

import (
	"golang.org/x/arch/x86/x86asm"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// instructions decodes a function up to its padding, or to what is not an instruction.
func instructions(code []byte) (all []x86asm.Inst) {
	all = make([]x86asm.Inst, 0, len(code)/4)
	for off := 0; off < len(code) && code[off] != 0xcc; { // INT3 fills up
		in, err := x86asm.Decode(code[off:], 64)
		if err != nil || in.Op == 0 || in.Len == 0 {
			break
		}
		all = append(all, in)
		off += in.Len
	}
	return all
}

func followAMD64(fn symbol.Func, code []byte, visit func(event)) {
	targets := make(map[uint64]bool)
	all, next := instructions(code), fn.Entry
	for _, in := range all {
		next += uint64(in.Len)
		if rel, ok := in.Args[0].(x86asm.Rel); ok && in.Op != x86asm.CALL {
			targets[next+uint64(int64(rel))] = true
		}
	}
	known := make(map[x86asm.Reg]uint64)
	next = fn.Entry
	for _, in := range all {
		if targets[next] {
			clear(known)
		}
		next += uint64(in.Len)
		for _, a := range in.Args {
			if at, ok := addressAMD64(a, next, known); ok && in.Op != x86asm.LEA {
				visit(event{address: at})
			}
		}
		switch in.Op {
		case x86asm.CALL:
			if rel, ok := in.Args[0].(x86asm.Rel); ok {
				visit(event{call: true, address: next + uint64(int64(rel)), arg: known[x86asm.RAX]})
			}
			clear(known)
		case x86asm.LEA:
			to, _ := in.Args[0].(x86asm.Reg)
			at, ok := addressAMD64(in.Args[1], next, known)
			delete(known, wide(to))
			if ok && to >= x86asm.RAX && to <= x86asm.R15 {
				known[to] = at
				visit(event{address: at})
			}
		case x86asm.MOV:
			to, isReg := in.Args[0].(x86asm.Reg)
			if !isReg {
				continue
			}
			from, _ := in.Args[1].(x86asm.Reg)
			at, ok := known[from]
			delete(known, wide(to))
			if ok && to >= x86asm.RAX && to <= x86asm.R15 {
				known[to] = at
			}
		case x86asm.CMP, x86asm.TEST, x86asm.PUSH, x86asm.NOP, x86asm.PREFETCHNTA, x86asm.PREFETCHT0:
		case x86asm.ADD, x86asm.SUB, x86asm.AND, x86asm.OR, x86asm.XOR, x86asm.INC, x86asm.DEC, x86asm.NEG, x86asm.NOT,
			x86asm.SHL, x86asm.SHR, x86asm.SAR, x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD:
			if to, ok := in.Args[0].(x86asm.Reg); ok {
				delete(known, wide(to))
			}
		case x86asm.XORPS, x86asm.MOVUPS, x86asm.MOVDQU: // registers that hold no addresses
		default:
			if _, jumps := in.Args[0].(x86asm.Rel); !jumps {
				clear(known) // which registers it changes does not matter here
			}
		}
	}
}

// addressAMD64 returns the address that an operand refers to, where that is known.
func addressAMD64(a x86asm.Arg, next uint64, known map[x86asm.Reg]uint64) (uint64, bool) {
	m, ok := a.(x86asm.Mem)
	switch {
	case !ok || m.Index != 0 || m.Segment == x86asm.FS || m.Segment == x86asm.GS:
		return 0, false
	case m.Base == x86asm.RIP:
		return next + uint64(m.Disp), true
	}
	at, ok := known[m.Base]
	return at + uint64(m.Disp), ok
}

// wide returns the register of 64 bits that this one is a part of.
func wide(r x86asm.Reg) x86asm.Reg {
	switch {
	case r >= x86asm.AX && r <= x86asm.R15W:
		return r - x86asm.AX + x86asm.RAX
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return r - x86asm.EAX + x86asm.RAX
	case r >= x86asm.AL && r <= x86asm.BL:
		return r - x86asm.AL + x86asm.RAX
	case r >= x86asm.AH && r <= x86asm.BH:
		return r - x86asm.AH + x86asm.RAX
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return r - x86asm.SPB + x86asm.RSP
	}
	return r
}
