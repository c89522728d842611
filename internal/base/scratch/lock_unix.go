//go:build unix && !solaris && !aix

package scratch

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func openDir(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// share locks a file, with others or alone, if nobody is in the way.
func share(f *os.File, alone bool) error {
	how := unix.LOCK_SH
	if alone {
		how = unix.LOCK_EX
	}
	if err := flock(f, how|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return ErrHeld
	}
	return nil // file systems without locks have caches that nobody holds
}

// hold locks a new directory. Between its making and its locking another folio may
// have found it without a lock, and is removing it then: an errSwept.
func hold(path string) (*os.File, error) {
	f, err := openDir(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errSwept
	} else if err != nil {
		return nil, err
	}
	// File systems without locks have directories that nobody takes for left.
	if err := flock(f, unix.LOCK_EX); err != nil {
		return f, nil
	}
	mine, err := f.Stat()
	if err == nil {
		var there os.FileInfo
		if there, err = os.Lstat(path); err == nil && os.SameFile(mine, there) {
			return f, nil
		}
	}
	f.Close()
	if err == nil || errors.Is(err, os.ErrNotExist) {
		err = errSwept
	}
	return nil, err
}

// sweep removes a directory if it is this user's and nobody holds it.
func sweep(path string) {
	f, err := openDir(path)
	if err != nil {
		return
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || int(st.Uid) != os.Geteuid() {
		return
	}
	if flock(f, unix.LOCK_EX|unix.LOCK_NB) == nil {
		_ = os.RemoveAll(path)
	}
}

// sweepable reports whether nobody else can put other directories in the place of those
// in base while they are looked at.
func sweepable(base string) bool {
	var st unix.Stat_t
	if err := unix.Stat(base, &st); err != nil {
		return false
	}
	owner := int(st.Uid) == 0 || int(st.Uid) == os.Geteuid()
	return owner && (uint32(st.Mode)&0o022 == 0 || uint32(st.Mode)&unix.S_ISVTX != 0)
}
