package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// roomLeft is an error when a file has nearly filled its file system, which others use,
// too.
func roomLeft(f *os.File) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err == nil && st.Blocks > 0 && st.Bavail < st.Blocks/20 {
		return errors.New("less than 5% of the file system is free")
	}
	return nil
}
