package testenv

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// AsNobody runs f without the privileges of root over files.
func AsNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		f()
		return
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this
		err := unix.Setfsgid(65534)
		if err == nil {
			err = unix.Setfsuid(65534)
		}
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		Missing(t, "give up root's privileges over files: %v", err)
	}
}
