//go:build !linux

package input

import "os"

// open looks first: what is not a regular file is not opened. Between the two the file
// may become another, which [Open] sees.
func open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notRegular(path)
	}
	return os.OpenFile(path, os.O_RDONLY|nonblock, 0)
}
