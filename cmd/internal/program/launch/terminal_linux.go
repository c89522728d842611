package launch

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// FromTerminal says whether a signal most likely came from a terminal, which sends it to
// all programs of the process group.
func FromTerminal(s syscall.Signal) bool {
	return (s == unix.SIGINT || s == unix.SIGQUIT) && inForeground()
}

// inForeground says whether a terminal sends its ctrl-C to this process group,
// and so to the program, which is in the same group.
func inForeground() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
