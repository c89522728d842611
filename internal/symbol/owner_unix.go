//go:build unix

package symbol

import (
	"io/fs"
	"os"
	"syscall"
)

func ownedByUs(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// mapFile maps a file for as long as the process lives. It is replaced by
// renaming, never cut short, so that what is mapped stays.
func mapFile(path string, size int64) ([]byte, error) {
	if size <= 0 || int64(int(size)) != size {
		return nil, errNoCache
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_PRIVATE)
}
