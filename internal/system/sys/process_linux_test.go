package sys

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func TestProcess(t *testing.T) {
	fd, err := OpenProcess(os.Getpid())
	if err == unix.ENOSYS || err == unix.EPERM {
		t.Skip("no pidfd_open: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if !Alive(fd) {
		t.Error("this process has ended")
	}
	_, b := mapTest(t, 1)
	copy(b, "abcd")
	dst := make([]byte, 4)
	if n, err := ReadProcessMemory(os.Getpid(), dst, uintptr(unsafe.Pointer(&b[0]))); n != 4 || err != nil || string(dst) != "abcd" {
		t.Errorf("%q, %d, %v", dst, n, err)
	}
	// MADV_COLD is harmless, and any kernel with process_madvise takes it for the process itself.
	if err := ProcessMadvise(fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MADV_COLD); err != nil &&
		err != unix.ENOSYS && err != unix.EPERM {
		t.Error(err)
	}
	if b[0] != 'a' {
		t.Error("changed")
	}
	if _, err := OpenProcess(1 << 30); err == nil {
		t.Error("opened nobody")
	}
}
