package codepatch

import (
	"debug/elf"
	"fmt"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// An insn is one instruction.
type insn struct {
	address uint64
	size    int
	// text has neither addresses nor distances: places in the function are
	// numbers of instructions, calls are names, globals are kinds of memory.
	text   string
	target uint64 // where it jumps to, or whom it calls
	global uint64 // the global that it reads or writes
}

// A listing is the code of a function without its padding. Two functions with
// the same listing do the same to the globals and functions that they name.
type listing []insn

func (l listing) String() string {
	var b strings.Builder
	for _, i := range l {
		b.WriteString(i.text)
		b.WriteByte('\n')
	}
	return b.String()
}

// calls returns the numbers of the instructions that call this function.
func (l listing) calls(name string) (out []int) {
	for n, i := range l {
		if i.text == "call "+name {
			out = append(out, n)
		}
	}
	return out
}

// kind says what memory at this address is for: a listing has that in place of
// the address.
func kind(img Image, address uint64) string {
	switch f := img.Flags(address); {
	case f&elf.PF_W != 0:
		return "variable"
	case f&elf.PF_R != 0:
		return "constant"
	}
	return "nowhere"
}

// callee returns the name of the function that starts at this address.
func callee(img Image, address uint64) (string, error) {
	f, ok := img.FuncAt(address)
	if !ok || f.Entry != address {
		return "", fmt.Errorf("a call of %#x, where no function starts", address)
	}
	return f.Name, nil
}

// A decoder makes a listing.
type decoder struct {
	listing
	// starts has the number of the instruction that is executed after a jump to
	// an address: where instructions start, also those that are padding.
	starts map[uint64]int
}

func newDecoder() *decoder { return &decoder{starts: map[uint64]int{}} }

// start notes that an instruction starts here.
func (d *decoder) start(address uint64) { d.starts[address] = len(d.listing) }

// jump is what a text ends with until its target has a number.
const jump = " @"

// number turns the targets of jumps into numbers of instructions.
func (d *decoder) number(fn symbol.Func) (listing, error) {
	for n, i := range d.listing {
		text, ok := strings.CutSuffix(i.text, jump)
		if !ok {
			continue
		}
		to, ok := d.starts[i.target]
		if !ok {
			return nil, fmt.Errorf("a jump from %s+%#x to %#x, where no instruction of it starts", fn.Name, i.address-fn.Entry, i.target)
		}
		d.listing[n].text = fmt.Sprintf("%s %d", text, to)
	}
	return d.listing, nil
}

// A use is a function that code calls, or a global that it refers to.
type use struct {
	address uint64
	call    bool
}
