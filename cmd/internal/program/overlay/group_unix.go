//go:build unix

package overlay

import (
	"context"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// runGroup runs a command and ends all that it started, when it ends and when ctx does:
// tests start programs, and an emulator may be stuck in one.
func runGroup(ctx context.Context, cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	group := -cmd.Process.Pid
	stop := context.AfterFunc(ctx, func() { _ = unix.Kill(group, unix.SIGKILL) })
	defer stop()
	err := cmd.Wait()
	_ = unix.Kill(group, unix.SIGKILL) // ESRCH: nothing is left
	return err
}
