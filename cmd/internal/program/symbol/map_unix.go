//go:build unix

package symbol

import (
	"os"
	"syscall"
)

// mapFile maps a file for as long as the process lives. It is replaced by
// renaming, never cut short, so that what is mapped stays.
func mapFile(f *os.File, size int64) ([]byte, error) {
	if size <= 0 || int64(int(size)) != size {
		return nil, errNoCache
	}
	return syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_PRIVATE)
}
