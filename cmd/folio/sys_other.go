//go:build !unix

package main

import (
	"errors"
	"os"
)

func isTerminal(*os.File) bool { return false }

func terminalWidth(*os.File) int { return 80 }

func become(string, []string) error { return errors.New("needs Linux") }
