package codepatch

import (
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// listAMD64 decodes a function.
func listAMD64(img Image, fn symbol.Func, code []byte) (listing, error) {
	d := newDecoder()
	err := walkAMD64(fn, code, func(address uint64, in x86asm.Inst) error {
		i := insn{address: address, size: in.Len}
		if in.Op == x86asm.NOP {
			d.start(address)
			return nil
		}
		if err := i.describeAMD64(img, in); err != nil {
			return fmt.Errorf("%s+%#x: %w", fn.Name, address-fn.Entry, err)
		}
		if last := len(d.listing) - 1; last >= 0 && d.listing[last].isThread(i) {
			// The two instructions that read g in a program that can be anywhere
			// do what the one in other programs does.
			d.listing[last].text = "mov r14, 8:[thread]"
			d.listing[last].size += i.size
			return nil
		}
		d.start(address)
		d.listing = append(d.listing, i)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return d.number(fn)
}

// isThread tells whether this instruction and the next one read g.
func (i insn) isThread(next insn) bool {
	return strings.HasPrefix(i.text, "mov r14, -0x") && next.text == "mov r14, 8:fs:[r14]" && next.address == i.address+uint64(i.size)
}

// walkAMD64 calls visit with each instruction of a function.
func walkAMD64(fn symbol.Func, code []byte, visit func(address uint64, in x86asm.Inst) error) error {
	for off := 0; off < len(code); {
		if code[off] == 0xcc { // INT3, with which the linker fills up
			if bytes.Count(code[off:], []byte{0xcc}) != len(code)-off {
				return fmt.Errorf("%s+%#x: a breakpoint", fn.Name, off)
			}
			return nil
		}
		in, err := x86asm.Decode(code[off:], 64)
		if err != nil || in.Op == 0 {
			return fmt.Errorf("%s+%#x: not an instruction: %x", fn.Name, off, code[off:min(len(code), off+8)])
		}
		if err := visit(fn.Entry+uint64(off), in); err != nil {
			return err
		}
		off += in.Len
	}
	return nil
}

// usesAMD64 lists what a function calls and refers to.
func usesAMD64(fn symbol.Func, code []byte) (out []use, err error) {
	err = walkAMD64(fn, code, func(address uint64, in x86asm.Inst) error {
		next := address + uint64(in.Len)
		for _, a := range in.Args {
			if rel, ok := a.(x86asm.Rel); ok && in.Op == x86asm.CALL {
				out = append(out, use{next + uint64(int64(rel)), true})
			}
			if m, ok := a.(x86asm.Mem); ok && m.Base == x86asm.RIP {
				out = append(out, use{next + uint64(m.Disp), false})
			}
		}
		return nil
	})
	return out, err
}

func (i *insn) describeAMD64(img Image, in x86asm.Inst) error {
	next := i.address + uint64(in.Len)
	var args []string
	for _, a := range in.Args {
		switch a := a.(type) {
		case nil:
			continue
		case x86asm.Rel:
			i.target = next + uint64(int64(a))
			if in.Op != x86asm.CALL {
				args = append(args, "@")
				continue
			}
			name, err := callee(img, i.target)
			if err != nil {
				return err
			}
			args = append(args, name)
		case x86asm.Mem:
			args = append(args, i.memoryAMD64(img, in, a, next))
		default:
			args = append(args, strings.ToLower(a.String()))
		}
	}
	i.text = strings.TrimSpace(strings.ToLower(in.Op.String()) + " " + strings.Join(args, ", "))
	return nil
}

// memoryAMD64 describes an operand in memory.
func (i *insn) memoryAMD64(img Image, in x86asm.Inst, m x86asm.Mem, next uint64) string {
	size := fmt.Sprintf("%d:", in.MemBytes)
	switch {
	case m.Base == x86asm.RIP:
		i.global = next + uint64(m.Disp)
		return size + "[" + kind(img, i.global) + "]"
	case m.Segment == x86asm.FS && m.Base == 0 && m.Index == 0 && int32(m.Disp) < 0:
		return size + "[thread]" // where the linker puts g differs
	}
	text := ""
	if m.Segment != 0 {
		text = strings.ToLower(m.Segment.String()) + ":"
	}
	var sum []string
	if m.Base != 0 {
		sum = append(sum, strings.ToLower(m.Base.String()))
	}
	if m.Index != 0 {
		sum = append(sum, fmt.Sprintf("%s*%d", strings.ToLower(m.Index.String()), m.Scale))
	}
	if m.Disp != 0 || len(sum) == 0 {
		sum = append(sum, fmt.Sprintf("%#x", m.Disp))
	}
	return size + text + "[" + strings.Join(sum, "+") + "]"
}
