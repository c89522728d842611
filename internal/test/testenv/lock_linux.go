package testenv

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// MayLock skips the test unless programs may lock all their memory here (mlockall): they
// can raise RLIMIT_MEMLOCK, which is 8 MiB by default, or have CAP_IPC_LOCK.
func MayLock(t testing.TB) {
	t.Helper()
	if err := unix.Mlockall(0); !errors.Is(err, unix.EINVAL) {
		Missing(t, "no memory can be locked: %v", err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
		t.Fatal(err)
	}
	if RaiseLocked() != nil && !mayIgnoreLimits() {
		Missing(t, "RLIMIT_MEMLOCK is %d bytes: run as root, or ulimit -l unlimited", limit.Max)
	}
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
		t.Fatal(err)
	}
}

// RaiseLocked lets this process, and those that it starts, lock any amount of memory.
func RaiseLocked() error {
	return unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY})
}

// mayIgnoreLimits says whether this process has CAP_IPC_LOCK.
func mayIgnoreLimits() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_IPC_LOCK) != 0
}
