package goruntime

import (
	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/sys"
)

// fast is from how many bytes on memory is read by process_vm_readv: /proc/PID/mem goes page
// by page, and copies each twice.
const fast = 16 << 10

// readFast reads memory by the number of the process, which could be of another one, or of
// another program, by now: not as long as there is something of the memory that was opened.
func (t *Target) readFast(addr uint64, buf []byte) bool {
	n, err := sys.ReadProcessMemory(t.pid, buf, uintptr(addr))
	return err == nil && n == len(buf) && t.opened()
}

// opened reports whether there is something of the memory that was opened.
func (t *Target) opened() bool {
	n, err := t.mem.ReadAt(make([]byte, 1), int64(t.at.Code+t.moved))
	return err == nil && n == 1
}

// readPieces reads pieces, whose data follow each other in buf, in as few calls as it takes,
// as readFast does. One that cannot be read loses its data. It is false if nothing is known.
func (t *Target) readPieces(pieces []piece, buf []byte) bool {
	ranges := make([]unix.RemoteIovec, 0, min(len(pieces), sys.MostRanges))
	for len(pieces) > 0 {
		ranges = ranges[:0]
		size := 0
		for _, p := range pieces[:min(len(pieces), sys.MostRanges)] {
			ranges = append(ranges, unix.RemoteIovec{Base: uintptr(p.Start), Len: len(p.data)})
			size += len(p.data)
		}
		n, err := sys.ReadProcessRanges(t.pid, buf[:size], ranges)
		if err != nil && err != unix.EFAULT {
			return false
		}
		n = max(n, 0)
		for range ranges {
			p := &pieces[0]
			pieces, buf = pieces[1:], buf[len(p.data):]
			if n < len(p.data) { // it ends before this one, which cannot be read
				p.data = nil
				break
			}
			n -= len(p.data)
		}
	}
	return t.opened()
}
