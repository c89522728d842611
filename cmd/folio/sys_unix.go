//go:build unix

package main

import (
	"os"
	"syscall"

	"golang.org/x/term"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// terminalWidth returns the columns of a terminal, 80 when it does not say.
func terminalWidth(f *os.File) int {
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		return w
	}
	return 80
}

// become replaces folio by a program.
func become(path string, args []string) error { return syscall.Exec(path, args, os.Environ()) }
