//go:build linux && (amd64 || arm64)

package witness

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The system calls in this file do not block, and are made without telling the Go scheduler:
// that would wake up its monitor for each, which together with what follows from it costs more than
// all else that is done at an exec.

// ioctl makes a request to a listener: to receive only if there is something.
func ioctl(fd int, request uintptr, arg unsafe.Pointer) unix.Errno {
	_, _, e := syscall.RawSyscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
	return e
}

// pollNow returns what poll says of a listener.
func pollNow(fd int) int16 {
	for {
		poll, now := unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}, unix.Timespec{}
		_, _, e := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&poll)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
		if e != unix.EINTR {
			return poll.Revents
		}
	}
}

// readMemory reads the memory of another process, which has just used it.
func readMemory(pid int, address uint64, b []byte) (int, error) {
	local := unix.Iovec{Base: &b[0], Len: uint64(len(b))}
	remote := unix.RemoteIovec{Base: uintptr(address), Len: len(b)}
	n, _, e := syscall.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(pid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	switch {
	case e != 0:
		return 0, e
	case n == 0:
		return 0, unix.EFAULT
	}
	return int(n), nil
}

// atCWD is AT_FDCWD as the kernel takes it; the names are absolute.
const atCWD = ^uintptr(99)

// openProc opens a link of /proc, as a place to look up names from.
func openProc(name string) (int, error) {
	p, err := syscall.BytePtrFromString(name)
	if err != nil {
		return -1, err
	}
	fd, _, e := syscall.RawSyscall6(unix.SYS_OPENAT, atCWD, uintptr(unsafe.Pointer(p)), unix.O_PATH|unix.O_CLOEXEC, 0, 0, 0)
	if e != 0 {
		return -1, e
	}
	return int(fd), nil
}

// openCached opens a file by what the kernel knows of its name already (Linux 5.12); any error
// but one of isNone means nothing.
func openCached(dir int, name string, how unix.OpenHow) (int, error) {
	p, err := syscall.BytePtrFromString(name)
	if err != nil {
		return -1, err
	}
	const cached = 0x20 // RESOLVE_CACHED
	how.Resolve |= cached
	fd, _, e := syscall.RawSyscall6(unix.SYS_OPENAT2, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
	if e != 0 {
		return -1, e
	}
	return int(fd), nil
}

func closeFile(fd int) { syscall.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

// empty is the name of a descriptor itself.
var empty [1]byte

// status returns what the kernel knows of an open file.
func status(fd int) (st unix.Statx_t, err error) {
	_, _, e := syscall.RawSyscall6(unix.SYS_STATX, uintptr(fd), uintptr(unsafe.Pointer(&empty)),
		unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_BASIC_STATS, uintptr(unsafe.Pointer(&st)), 0)
	if e != 0 {
		return st, e
	}
	return st, nil
}

// isProcess says whether a thread is the first of its process: only those have a pidfd like that.
func isProcess(thread int) bool {
	fd, _, e := syscall.RawSyscall(unix.SYS_PIDFD_OPEN, uintptr(thread), 0, 0)
	if e == 0 {
		closeFile(int(fd))
	}
	return e == 0
}
