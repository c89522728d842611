//go:build linux && (amd64 || arm64)

package witness

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/spawn"
)

const (
	flagSpecAllow   = 1 << 2 // no mitigations that slow the program down (before Linux 5.16)
	flagNewListener = 1 << 3
	flagKillable    = 1 << 5 // only fatal signals end the wait for an answer (Linux 5.19)

	returnAllow  = 0x7fff0000 // SECCOMP_RET_ALLOW
	returnNotify = 0x7fc00000 // SECCOMP_RET_USER_NOTIF
	x32          = 0x40000000 // bit of the numbers of the x32 ABI
)

// arch is what the kernel calls the system calls of this architecture.
var arch = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]

// filterCode notifies of execs, and with exits of exit_group. All else passes, and all calls
// by another ABI.
func filterCode(exits bool) []unix.SockFilter {
	numbers := []uint32{unix.SYS_EXECVE, unix.SYS_EXECVEAT}
	if exits {
		numbers = append(numbers, unix.SYS_EXIT_GROUP)
	}
	const load, equal, atLeast, end = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K,
		unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	n := uint8(len(numbers))
	code := []unix.SockFilter{
		{Code: load, K: 4}, // the architecture
		{Code: equal, K: arch, Jf: n + 2},
		{Code: load, K: 0}, // the number
		{Code: atLeast, K: x32, Jt: n},
	}
	for i, number := range numbers {
		code = append(code, unix.SockFilter{Code: equal, K: number, Jt: n - uint8(i)})
	}
	return append(code, unix.SockFilter{Code: end, K: returnAllow}, unix.SockFilter{Code: end, K: returnNotify})
}

// newFilter returns the filter, with the flags that the kernel knows.
func newFilter(exits bool) (*spawn.Filter, error) {
	if err := mayListen(); err != nil {
		return nil, err
	}
	f := &spawn.Filter{Code: filterCode(exits), Flags: flagNewListener | flagSpecAllow, NoNewPrivs: !isAdmin()}
	if err := probe(f.Flags); err != unix.EFAULT {
		return nil, filterError(err)
	}
	if probe(f.Flags|flagKillable) == unix.EFAULT && !noKillable {
		f.Flags |= flagKillable
	}
	return f, nil
}

// noKillable has tests do without the flag.
var noKillable bool

// probe asks the kernel for flags: EFAULT if it knows all of them.
func probe(flags uint32) unix.Errno {
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, uintptr(flags), 0)
	return e
}

// mayListen says whether a listener can let system calls go on, and is told of the end of its
// tree.
func mayListen() error {
	var u unix.Utsname
	var major, minor int
	if err := unix.Uname(&u); err != nil {
		return fmt.Errorf("%w: uname: %w", ErrUnsupported, err)
	}
	release := unix.ByteSliceToString(u.Release[:])
	if n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor); n == 2 && (major < 5 || major == 5 && minor < 9) {
		return fmt.Errorf("%w: needs Linux 5.9, this is %s", ErrUnsupported, release)
	}
	return nil
}

// filterError explains why the kernel refused the filter.
func filterError(err error) error {
	switch {
	case errors.Is(err, unix.EBUSY):
		return ErrNested
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("%w: seccomp: %w: the kernel or sandbox has no listener (SECCOMP_FILTER_FLAG_NEW_LISTENER)", ErrUnsupported, err)
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return fmt.Errorf("%w: seccomp: %w: a seccomp filter or security module may deny it", ErrUnsupported, err)
	}
	return fmt.Errorf("%w: %w", ErrUnsupported, err)
}

// isAdmin says whether this process needs no no_new_privs for a filter.
func isAdmin() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	err := unix.Capget(&header, &data[0])
	return err == nil && data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// A notification is the kernel's struct seccomp_notif.
type notification struct {
	id    uint64
	pid   uint32 // of the thread, 0 if it is not in our namespace
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

// An answer is the kernel's struct seccomp_notif_resp.
type answer struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

const (
	requestReceive = 0xc0502100 // SECCOMP_IOCTL_NOTIF_RECV
	requestSend    = 0xc0182101 // SECCOMP_IOCTL_NOTIF_SEND
	requestValid   = 0x40082102 // SECCOMP_IOCTL_NOTIF_ID_VALID
	requestFlags   = 0x40082104 // SECCOMP_IOCTL_NOTIF_SET_FLAGS (Linux 6.6)

	answerContinue = 1 // SECCOMP_USER_NOTIF_FLAG_CONTINUE
	syncWakeUp     = 1 // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
)
