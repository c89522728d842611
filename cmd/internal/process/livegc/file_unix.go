//go:build unix

package livegc

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// mine reports whether this user owns a file.
func mine(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// lock locks a file until it is closed here and in all processes started since.
func lock(file *os.File) error {
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrHeld
	}
	if err == nil {
		_, err = unix.FcntlInt(file.Fd(), unix.F_SETFD, 0)
	}
	return err
}

// unlock ends a lock.
func unlock(file *os.File) error {
	_, err := unix.FcntlInt(file.Fd(), unix.F_SETFD, unix.FD_CLOEXEC)
	return errors.Join(err, unix.Flock(int(file.Fd()), unix.LOCK_UN))
}

// duplicate opens an open file again.
func duplicate(fd uintptr) (*os.File, error) {
	n, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(n), "memory"), nil
}
