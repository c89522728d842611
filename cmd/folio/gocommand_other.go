//go:build !linux

package main

import (
	"os"
	"os/exec"
)

// runTold runs a command that is told of the signals that folio gets.
func runTold(cmd *exec.Cmd, signals <-chan os.Signal) (told int, err error) {
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			return told, err
		case s := <-signals:
			told++
			_ = cmd.Process.Signal(s)
		}
	}
}
