package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// unnamed returns a file that no directory has, so that nothing is left of it, however
// folio ends.
func unnamed(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == nil {
		return os.NewFile(uintptr(fd), dir), nil
	}
	f, err := os.CreateTemp(dir, "folio-stdin") // not all file systems can
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// roomLeft is an error when a file has nearly filled its file system, which others use,
// too.
func roomLeft(f *os.File) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err == nil && st.Blocks > 0 && st.Bavail < st.Blocks/20 {
		return errors.New("less than 5% of the file system is free")
	}
	return nil
}
