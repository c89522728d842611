package scratch

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Free returns how many bytes a user may still write to the disk of a directory; ok is
// false where that is not known.
func Free(dir string) (bytes uint64, ok bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Bsize <= 0 {
		return 0, false
	}
	return st.Bavail * uint64(st.Bsize), true
}

// RoomLeft is an error when a file has nearly filled its file system, which others use,
// too.
func RoomLeft(f *os.File) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err == nil && st.Blocks > 0 && st.Bavail < st.Blocks/20 {
		return errors.New("less than 5% of the file system is free")
	}
	return nil
}
