//go:build !unix

package overlay

import (
	"context"
	"os/exec"
)

// runGroup runs a command, and ends it when ctx does.
func runGroup(ctx context.Context, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	return cmd.Wait()
}
