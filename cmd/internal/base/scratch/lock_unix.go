//go:build unix && !solaris && !aix

package scratch

import (
	"errors"
	"os"
	"strings"

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

// left opens a directory that is this user's and that nobody holds, and locks it; nil for
// others.
func left(path string) *os.File {
	f, err := openDir(path)
	if err != nil {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || int(st.Uid) != os.Geteuid() || flock(f, unix.LOCK_EX|unix.LOCK_NB) != nil {
		f.Close()
		return nil
	}
	return f
}

// sweep removes a directory if it is this user's and nobody holds it.
func sweep(path string) {
	if f := left(path); f != nil {
		_ = os.RemoveAll(path)
		f.Close()
	}
}

func sweepFiles(path, prefix string) {
	f := left(path)
	if f == nil {
		return
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return
	}
	rest := len(names)
	for _, name := range names { // in the directory that is locked, whatever its name is now
		if strings.HasPrefix(name, prefix) && unix.Unlinkat(int(f.Fd()), name, 0) == nil {
			rest--
		}
	}
	if rest == 0 {
		_ = os.Remove(path) // only if it is empty
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
