//go:build unix

package cgroup

import "syscall"

// ownSession keeps a terminal's ctrl-C and hangup from a process.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// reap takes note of the end of an orphan, if this process is the one that orphans get. It is
// no error if not, or if somebody else did.
func reap(pid int) {
	for {
		if _, err := syscall.Wait4(pid, nil, 0, nil); err != syscall.EINTR {
			return
		}
	}
}
