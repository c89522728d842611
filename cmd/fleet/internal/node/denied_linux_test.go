package node

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// unprivileged runs f as a user that may not read the processes of others.
func unprivileged(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	as := func(uid uintptr) { // of this thread alone
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uid, ^uintptr(0)); errno != 0 {
			t.Fatal(errno)
		}
	}
	const nobody = 65534
	as(nobody)
	defer as(0)
	f()
}

// A process that may not be read is counted, once, and is one of Go as soon as it may.
func TestDenied(t *testing.T) {
	f, n := newFake(t)
	if err := os.Chmod(filepath.Dir(f.root), 0o755); err != nil {
		t.Fatal(err)
	}
	f.process(10, "/proc/1/exe", f.container(1), 100, 0)
	unprivileged(t, func() {
		if _, err := os.Stat("/proc/1/exe"); !os.IsPermission(err) {
			t.Skipf("anybody may read process 1: %v", err)
		}
		for range 3 {
			if s := f.scan(n); s.Stats.Denied != 1 || s.Stats.NotGo != 1 || s.Stats.Unreadable[Denied] != 1 {
				t.Errorf("%+v", s.Stats)
			}
		}
	})
	f.process(10, f.exe, f.container(1), 100, 0)
	for range 20 {
		f.scan(n)
	}
	if s := f.scan(n); s.Stats.Denied != 0 || s.Stats.Go != 1 || s.Stats.Unreadable[Denied] != 1 {
		t.Errorf("%+v", s.Stats)
	}
}
