//go:build !unix

package main

import (
	"os"
	"syscall"
)

func signalNumber(string) syscall.Signal { return 0 }

func isTerminal(*os.File) bool { return false }

func terminalWidth(*os.File) int { return 80 }
