//go:build unix

package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// become replaces folio by a program.
func become(path string, args []string) error {
	return fmt.Errorf("start %s: %w", path, unix.Exec(path, args, os.Environ()))
}
