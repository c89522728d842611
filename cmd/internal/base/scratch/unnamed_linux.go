package scratch

import (
	"os"

	"golang.org/x/sys/unix"
)

// Unnamed returns a file that no directory has, on the disk of dir, so that nothing is left
// of it, however the process ends.
func Unnamed(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == nil {
		return os.NewFile(uintptr(fd), dir), nil
	}
	f, err := os.CreateTemp(dir, "folio-unnamed") // not all file systems can
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}
