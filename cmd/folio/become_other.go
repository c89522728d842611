//go:build !unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/foliomem/folio/internal/overlay"
)

// become runs a go command and ends with its exit code.
func become(c overlay.Call) error {
	cmd := c.Cmd(context.Background())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exitCode(exit.ExitCode())
	} else if err != nil {
		return fmt.Errorf("start %s: %w", c.Path, err)
	}
	return nil
}
