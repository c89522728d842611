package layout

import (
	"debug/elf"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// An event is what matters of an instruction: it calls a function, or refers to a
// variable.
type event struct {
	call    bool
	address uint64 // of the function or the variable
	arg     uint64 // of a call: its first argument, where that is the address of a variable; else 0
}

// A follower goes through the code of a function and says what it calls and refers to.
// It follows the addresses of variables through registers, from each instruction to the
// next. Where another instruction jumps to, and after a call, it knows of none.
type follower func(fn symbol.Func, code []byte, visit func(event))

var followers = map[elf.Machine]follower{
	elf.EM_X86_64:  followAMD64,
	elf.EM_AARCH64: followARM64,
}
