package procmem

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// readStart reads the start of a file with one system call. (*os.File).ReadAt
// asks a second time to see the end, and the kernel makes up the whole text
// for each.
func readStart(file *os.File, buf []byte) (int, error) {
	for {
		n, err := unix.Pread(int(file.Fd()), buf, 0)
		runtime.KeepAlive(file)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, &os.PathError{Op: "read", Path: file.Name(), Err: err}
		}
		return n, nil
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
