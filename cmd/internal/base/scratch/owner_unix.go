//go:build unix

package scratch

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func openOwn(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// owned checks what was opened.
func owned(path string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return &UnsafeError{path, "its owner is not known", "remove it"}
	}
	return safe(path, int(st.Uid), uint32(info.Mode().Perm()), false)
}

// safe checks an owner and a mode. Where the sticky bit counts, others may write in a
// directory, but replace nothing that is not theirs.
func safe(path string, uid int, mode uint32, sticky bool) error {
	switch {
	case uid != 0 && uid != os.Geteuid():
		return &UnsafeError{path, "it belongs to " + userName(uid), "set XDG_CACHE_HOME to a directory of your own"}
	case mode&0o022 != 0 && !sticky:
		return &UnsafeError{path, fmt.Sprintf("others may write in it (mode %#o)", mode), "chmod go-w " + path}
	}
	return nil
}

func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return fmt.Sprintf("%s (user %d)", u.Username, uid)
	}
	return fmt.Sprintf("user %d", uid)
}

// checkDir goes down from the root, by descriptors: what is in a directory that nobody
// else can write in stays what it is.
func checkDir(dir string) error {
	const look = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Open("/", look, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: "/", Err: err}
	}
	defer func() { unix.Close(fd) }()
	at := "/"
	parts := strings.Split(strings.Trim(dir, "/"), "/")
	for i := 0; ; i++ {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return &os.PathError{Op: "stat", Path: at, Err: err}
		}
		last := i == len(parts)
		if err := safe(at, int(st.Uid), uint32(st.Mode)&0o777, !last && uint32(st.Mode)&unix.S_ISVTX != 0); err != nil {
			return err
		}
		if last {
			return nil
		}
		at = filepath.Join(at, parts[i])
		next, err := openAt(fd, parts[i], look)
		if err != nil {
			return &os.PathError{Op: "open", Path: at, Err: err}
		}
		unix.Close(fd)
		fd = next
	}
}

// openAt opens a directory, which may be one that others may only pass through.
func openAt(fd int, name string, flags int) (int, error) {
	for {
		next, err := unix.Openat(fd, name, flags, 0)
		switch {
		case err == unix.EINTR:
		case err == unix.EACCES && passThrough != 0:
			return unix.Openat(fd, name, flags|passThrough, 0)
		default:
			return next, err
		}
	}
}
