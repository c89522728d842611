package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Mmap maps private anonymous memory that can be read and written, where the
// kernel likes.
func Mmap(length uintptr, flags int) (unsafe.Pointer, error) {
	return unix.MmapPtr(-1, 0, nil, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|flags)
}

// Munmap unmaps whole pages.
func Munmap(addr, length uintptr) error {
	return errno(unix.Syscall(unix.SYS_MUNMAP, addr, length, 0))
}

// Madvise is madvise(2). Some advice takes the kernel long, so the Go scheduler is
// told.
func Madvise(addr, length uintptr, advice int) error {
	return errno(unix.Syscall(unix.SYS_MADVISE, addr, length, uintptr(advice)))
}

// SetName names anonymous memory, as /proc/PID/maps shows it.
func SetName(addr, length uintptr, name string) error {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	return errno(unix.Syscall6(unix.SYS_PRCTL, unix.PR_SET_VMA, unix.PR_SET_VMA_ANON_NAME, addr, length,
		uintptr(unsafe.Pointer(p)), 0)) // Safety: p outlives the call, which copies.
}

// ReadMemory copies memory of this process into dst and returns how many bytes
// it got. The kernel copies: an address that is not mapped is an error (EFAULT), no
// crash, and the race detector does not look.
func ReadMemory(dst []byte, addr uintptr) (int, error) {
	if len(dst) == 0 {
		return 0, nil
	}
	local := []unix.Iovec{{Base: unsafe.SliceData(dst)}} // Safety: dst outlives the call.
	local[0].SetLen(len(dst))
	return unix.ProcessVMReadv(unix.Getpid(), local, []unix.RemoteIovec{{Base: addr, Len: len(dst)}}, 0)
}

// THPDisabled returns what PR_SET_THP_DISABLE was called with for this process
// or its parents: 0 is not, 1 is for all memory, 3 for memory that is not advised.
func THPDisabled() (int, error) {
	return unix.PrctlRetInt(unix.PR_GET_THP_DISABLE, 0, 0, 0, 0)
}

func errno(_, _ uintptr, e unix.Errno) error {
	if e != 0 {
		return e
	}
	return nil
}
