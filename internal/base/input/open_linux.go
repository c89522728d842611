package input

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// open looks at the file before it opens it, through one descriptor: opening a device
// may do something (a watchdog begins to count), so a look after it is too late, and
// between a look at a path and opening it the file may become another.
func open(path string) (*os.File, error) {
	fd, err := openFD(path, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, notRegular(path)
	}
	again, err := openFD("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) { // /proc is not mounted
		again, err = openSame(path, &st)
	}
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) {
			pe.Path = path
		}
		return nil, err
	}
	return os.NewFile(uintptr(again), path), nil
}

// openSame opens a path that led to this file a moment ago.
func openSame(path string, want *unix.Stat_t) (int, error) {
	fd, err := openFD(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Dev != want.Dev || st.Ino != want.Ino {
		unix.Close(fd)
		return -1, notRegular(path)
	}
	return fd, nil
}

func openFD(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if err == nil || !errors.Is(err, unix.EINTR) {
			if err != nil {
				err = &os.PathError{Op: "open", Path: path, Err: err}
			}
			return fd, err
		}
	}
}
