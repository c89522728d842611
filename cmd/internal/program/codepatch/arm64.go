package codepatch

import (
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/arch/arm64/arm64asm"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// listARM64 decodes a function.
func listARM64(img Image, fn symbol.Func, code []byte) (listing, error) {
	d := newDecoder()
	half := adrp{}
	for off := 0; off+4 <= len(code); off += 4 {
		word := binary.LittleEndian.Uint32(code[off:])
		if word == 0 { // with which the linker fills up
			if strings.Trim(string(code[off:]), "\x00") != "" {
				return nil, fmt.Errorf("%s+%#x: not an instruction: zeros", fn.Name, off)
			}
			break
		}
		in, err := arm64asm.Decode(code[off:])
		if err != nil {
			return nil, fmt.Errorf("%s+%#x: not an instruction: %08x", fn.Name, off, word)
		}
		i := insn{address: fn.Entry + uint64(off), size: 4}
		if half.ok {
			// The two halves of a global's address are one operand; nothing may
			// jump between them.
			if err := i.joinARM64(img, in, word, half); err != nil {
				return nil, fmt.Errorf("%s+%#x: %w", fn.Name, off, err)
			}
			half = adrp{}
			d.listing = append(d.listing, i)
			continue
		}
		d.start(i.address)
		if in.Op == arm64asm.NOP {
			continue
		}
		if half = readADRP(i.address, word); half.ok {
			continue
		}
		if err := i.describeARM64(img, in); err != nil {
			return nil, fmt.Errorf("%s+%#x: %w", fn.Name, off, err)
		}
		d.listing = append(d.listing, i)
	}
	if half.ok {
		return nil, fmt.Errorf("%s: half of an address at its end", fn.Name)
	}
	return d.number(fn)
}

// An adrp is an instruction that puts the page of an address into a register.
type adrp struct {
	ok       bool
	page     uint64
	register uint32
}

func readADRP(address uint64, word uint32) adrp {
	if word&0x9f000000 != 0x90000000 {
		return adrp{}
	}
	pages := int64(int32(word<<8)>>13<<2 | int32(word>>29&3))
	return adrp{true, address&^0xfff + uint64(pages<<12), word & 31}
}

// global returns the address that an instruction after it refers to: it adds
// the rest, or reads or writes there.
func (a adrp) global(word uint32) (address uint64, isAdd, ok bool) {
	n := uint64(word >> 10 & 0xfff)
	switch {
	case word>>5&31 != a.register:
	case word&0xffc00000 == 0x91000000 && word&31 == a.register: // ADD to the same register
		return a.page + n, true, true
	case word&0x3f000000 == 0x39000000: // loads and stores, offset in their size
		return a.page + n<<(word>>30), false, true
	}
	return 0, false, false
}

// usesARM64 lists what a function calls and refers to.
func usesARM64(fn symbol.Func, code []byte) (out []use, err error) {
	half := adrp{}
	for off := 0; off+4 <= len(code); off += 4 {
		address, word := fn.Entry+uint64(off), binary.LittleEndian.Uint32(code[off:])
		if word>>26 == 0x25 { // BL
			out = append(out, use{address + uint64(int64(int32(word<<6)>>4)), true})
		}
		if half.ok {
			if at, _, ok := half.global(word); ok {
				out = append(out, use{at, false})
			}
		}
		half = readADRP(address, word)
	}
	return out, nil
}

func (i *insn) describeARM64(img Image, in arm64asm.Inst) error {
	var args []string
	for _, a := range in.Args {
		rel, jumps := a.(arm64asm.PCRel)
		switch {
		case a == nil:
			continue
		case jumps && in.Op == arm64asm.BL:
			i.target = i.address + uint64(int64(rel))
			name, err := callee(img, i.target)
			if err != nil {
				return err
			}
			i.text = "call " + name
			return nil
		case jumps:
			i.target = i.address + uint64(int64(rel))
			args = append(args, "@")
		default:
			args = append(args, strings.ToLower(a.String()))
		}
	}
	i.text = strings.TrimSpace(strings.ToLower(in.Op.String()) + " " + strings.Join(args, ", "))
	return nil
}

// joinARM64 describes the instruction after an ADRP.
func (i *insn) joinARM64(img Image, in arm64asm.Inst, word uint32, half adrp) error {
	address, isAdd, ok := half.global(word)
	if !ok {
		return fmt.Errorf("an address that is used in a way that is not known: %s", in)
	}
	i.global = address
	op := strings.ToLower(in.Op.String())
	if isAdd {
		op = "adr"
	}
	to, _ := in.Args[0].(fmt.Stringer)
	i.text = fmt.Sprintf("%s %s, [%s]", op, strings.ToLower(to.String()), kind(img, i.global))
	return nil
}
