package guard

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// ownSession keeps a terminal's ctrl-C and hangup from a process.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// detach starts command with this process's streams, in no group that a signal
// for this one reaches, and does not wait for it.
func detach(command []string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = ownSession()
	return cmd.Start()
}

// deafen has this process ignore the signals that ask it to end: the guard ends
// when its work is done.
func deafen() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
}
