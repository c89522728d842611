package procmem

import "golang.org/x/sys/unix"

// exists reports whether there is a process of this number, seen in /proc or not, and
// whether this process may send it signals, as to those of its own user.
func exists(pid int) (there, own bool) {
	err := unix.Kill(pid, 0)
	return err == nil || err == unix.EPERM, err == nil
}
