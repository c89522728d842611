package procmem

import (
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/base/input"
)

// file is an open file of /proc or /sys that is read from its start, again and
// again, while a program is being measured.
//
// It makes the system calls itself. os.Open tries to wait for a file by epoll,
// and (*os.File).Fd asks the kernel for flags, which together is twice as many
// calls as the reading takes. And they are raw calls, of which the Go scheduler
// does not know: it would wake a thread to watch over each, and waking costs
// more than these calls do. None of them waits for anything.
type file struct {
	fd   int
	path string
}

// openFile opens a file for reading.
func openFile(path string) (*file, error) {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	at := unix.AT_FDCWD
	fd, err := retry(func() (uintptr, uintptr, unix.Errno) {
		return unix.RawSyscall6(unix.SYS_OPENAT, uintptr(at), uintptr(unsafe.Pointer(name)),
			unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0) // Safety: name outlives the call.
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return &file{fd, path}, nil
}

func (f *file) Close() {
	_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(f.fd), 0, 0) // nothing was written
}

// readStart reads the start of the file with one system call. A second one, to
// see the end, would have the kernel make up the whole text again.
func (f *file) readStart(buf []byte) (int, error) {
	return f.read(unix.SYS_PREAD64, buf)
}

// read fills buf by SYS_READ, or by SYS_PREAD64 from the start. (The offset is
// 0, so that it does not matter how a 32-bit system passes it.)
func (f *file) read(call uintptr, buf []byte) (int, error) {
	n, err := retry(func() (uintptr, uintptr, unix.Errno) {
		return unix.RawSyscall6(call, uintptr(f.fd), uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)),
			0, 0, 0) // Safety: buf outlives the call.
	})
	if err != nil {
		return 0, &os.PathError{Op: "read", Path: f.path, Err: err}
	}
	return n, nil
}

// readFile reads a whole file.
func readFile(path string) ([]byte, error) {
	return readMost(path, input.MaxProc, &input.TooLargeError{What: path, Most: input.MaxProc})
}

// readMost reads a file of at most so many bytes. Of a longer one the beginning comes
// with an error. These files may come in pieces of any size, so only an empty one is
// the end.
func readMost(path string, most int, tooLarge error) ([]byte, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for buf := make([]byte, 0, 4096); ; {
		buf = slices.Grow(buf, 1024)
		n, err := f.read(unix.SYS_READ, buf[len(buf):cap(buf)])
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return buf, nil
		}
		if buf = buf[:len(buf)+n]; len(buf) > most {
			return buf[:most], tooLarge
		}
	}
}

// retry calls f again while a signal interrupts it.
func retry(f func() (r1, r2 uintptr, errno unix.Errno)) (int, error) {
	for {
		n, _, errno := f()
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// sameMemory reports whether two processes have one address space. ok is false
// when the kernel does not say: it needs the right to ptrace both, and
// containers may forbid the call.
func sameMemory(pid1, pid2 int) (same, ok bool) {
	const kcmpVM = 1 // KCMP_VM in linux/kcmp.h
	r, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(pid1), uintptr(pid2), kcmpVM, 0, 0, 0)
	if errno != 0 {
		return false, false
	}
	return r == 0, true
}
