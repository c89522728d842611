//go:build unix

package main

import (
	"os"
	"syscall"
)

// become replaces folio by a program.
func become(path string, args []string) error { return syscall.Exec(path, args, os.Environ()) }
