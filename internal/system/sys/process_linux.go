package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// OpenProcess opens a pidfd: it means this process for good, also when it has
// ended and its number belongs to another. Needs kernel 5.3.
func OpenProcess(pid int) (fd int, err error) { return unix.PidfdOpen(pid, 0) }

// Alive reports whether the process of a pidfd has not ended.
func Alive(pidfd int) bool { return unix.PidfdSendSignal(pidfd, 0, nil, 0) != unix.ESRCH }

// ProcessMadvise is process_madvise(2) for one range: madvise for the memory of
// another process. Needs kernel 5.10, and 6.1 for MADV_COLLAPSE. The kernel looks at
// permissions first: a range of no bytes only asks for those.
func ProcessMadvise(pidfd int, addr, length uintptr, advice int) error {
	vec := struct{ base, len uintptr }{addr, length} // struct iovec, whose base is in the other process
	n, _, e := unix.Syscall6(unix.SYS_PROCESS_MADVISE, uintptr(pidfd), uintptr(unsafe.Pointer(&vec)), 1,
		uintptr(advice), 0, 0) // Safety: vec outlives the call; its base is not followed here.
	if e != 0 {
		return e
	}
	if n != length {
		return unix.EAGAIN // it did a part
	}
	return nil
}

// ReadProcessMemory is [ReadMemory] for another process.
func ReadProcessMemory(pid int, dst []byte, addr uintptr) (int, error) {
	return ReadProcessRanges(pid, dst, []unix.RemoteIovec{{Base: addr, Len: len(dst)}})
}

// MostRanges is how many ranges [ReadProcessRanges] takes (UIO_MAXIOV).
const MostRanges = 1024

// ReadProcessRanges copies ranges of memory of another process into dst, each right after the
// one before, and returns how many bytes it got: up to the first page that is not there, an
// error (EFAULT) if it is of the first range. A call for many small ranges takes a fraction of
// the time of a call for each.
func ReadProcessRanges(pid int, dst []byte, from []unix.RemoteIovec) (int, error) {
	if len(dst) == 0 || len(from) == 0 {
		return 0, nil
	}
	local := []unix.Iovec{{Base: unsafe.SliceData(dst)}} // Safety: dst outlives the call.
	local[0].SetLen(len(dst))
	return unix.ProcessVMReadv(pid, local, from, 0)
}
