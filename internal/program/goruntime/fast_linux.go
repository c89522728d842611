package goruntime

import (
	"os"
	"strconv"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/system/sys"
)

// fast is from how many bytes on memory is read by process_vm_readv: /proc/PID/mem goes page
// by page, and copies each twice.
const fast = 16 << 10

// readFast reads memory by the number of the process, which could be of another one, or of
// another program, by now: not as long as there is something of the memory that was opened.
func (t *Target) readFast(addr uint64, buf []byte) bool {
	if n, err := sys.ReadProcessMemory(t.pid, buf, uintptr(addr)); err != nil || n != len(buf) {
		return false
	}
	n, err := t.mem.ReadAt(make([]byte, 1), int64(t.at.Code+t.moved))
	return err == nil && n == 1
}

// numbered reports whether the numbers of processes in a /proc are those that this process
// sees: not where it is that of another machine's root, or of another namespace.
func numbered(fs procmem.FS) bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self == strconv.Itoa(os.Getpid()) && fs.Path("proc") == "/proc"
}
