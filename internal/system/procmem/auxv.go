package procmem

import (
	"encoding/binary"
	"fmt"
)

// auxvEntry is AT_ENTRY of linux/auxvec.h.
const auxvEntry = 9

// Entry returns the address at which the program of a process starts, from
// /proc/PID/auxv; pid 0 is the calling process. Less the entry in the program's
// file it is how far the program was moved. word is the size of a pointer of
// the program, 4 or 8. A process of another user needs the right to ptrace it
// (CAP_SYS_PTRACE).
func (f FS) Entry(pid, word int) (uint64, error) {
	return loadBy(readSlowly, f.procPath(pid, "auxv"), func(data []byte) (uint64, error) {
		return parseEntry(data, word)
	})
}

// parseEntry looks for AT_ENTRY in pairs of words. See getauxval(3).
func parseEntry(data []byte, word int) (uint64, error) {
	if word != 4 && word != 8 {
		return 0, fmt.Errorf("words of %d bytes", word)
	}
	number := func(b []byte) uint64 {
		if word == 4 {
			return uint64(binary.NativeEndian.Uint32(b))
		}
		return binary.NativeEndian.Uint64(b)
	}
	for ; len(data) >= 2*word; data = data[2*word:] {
		if number(data) == auxvEntry {
			return number(data[word:]), nil
		}
	}
	return 0, errEmpty
}

// MemPath names the memory of a process, as a file that is read at its addresses.
// A process of another user needs the right to ptrace it (CAP_SYS_PTRACE). pid 0
// is the calling process.
func (f FS) MemPath(pid int) string { return f.procPath(pid, "mem") }
