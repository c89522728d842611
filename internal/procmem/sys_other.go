//go:build !linux

package procmem

import (
	"errors"
	"io"
	"os"
)

func readStart(file *os.File, buf []byte) (int, error) {
	n, err := file.ReadAt(buf, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func sameMemory(pid1, pid2 int) (same, ok bool) { return false, false }
