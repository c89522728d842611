//go:build !linux

package build

import (
	"os"
	"os/exec"
)

// RunTold runs a command that is told of the signals that folio gets.
func RunTold(cmd *exec.Cmd, signals <-chan os.Signal) (told int, err error) {
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
