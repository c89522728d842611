//go:build !unix

package livegc

import (
	"errors"
	"io/fs"
	"os"
)

func mine(fs.FileInfo) bool { return false }

// lock needs a process to change, so Linux.
func lock(*os.File) error { return errors.ErrUnsupported }

func unlock(*os.File) error { return errors.ErrUnsupported }

func duplicate(uintptr) (*os.File, error) { return nil, errors.ErrUnsupported }
