package lab

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A holder is a child that shares this process's memory by fork, and does
// nothing.
type holder struct{ pid int }

// newHolder forks. The child must not run any code of the Go runtime: of its
// threads only this one is left, and locks that others held stay held. So it
// blocks all signals and sleeps until it is killed. The caller is locked to its
// thread.
func newHolder() (*holder, error) {
	var all, old unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &old); err != nil {
		return nil, fmt.Errorf("block signals: %w", err)
	}
	pid, errno := forkAsleep(os.Getpid())
	err := unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	if errno != 0 {
		return nil, os.NewSyscallError("fork", errno)
	}
	return &holder{int(pid)}, err
}

// forkAsleep forks; in the child it never returns. With the stack as it is, and
// raw system calls only, nothing of the runtime runs there.
//
//go:norace
//go:nosplit
//go:noinline
func forkAsleep(parent int) (pid uintptr, errno syscall.Errno) {
	pid, _, errno = syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	syscall.RawSyscall6(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0, 0)
	if ppid, _, _ := syscall.RawSyscall(syscall.SYS_GETPPID, 0, 0, 0); ppid == uintptr(parent) { // else it died before it could be watched
		for {
			syscall.RawSyscall6(syscall.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
		}
	}
	for {
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
	}
}

// close ends the child.
func (h *holder) close() error {
	if h == nil {
		return nil
	}
	err := unix.Kill(h.pid, unix.SIGKILL)
	for {
		_, werr := unix.Wait4(h.pid, nil, 0, nil)
		if werr != unix.EINTR {
			return errors.Join(err, os.NewSyscallError("wait", werr))
		}
	}
}

// writeEach writes to slots of step bytes, slots a power of two, in a random
// order and to each but once, and takes the time of each write.
//
//go:norace
func writeEach(base unsafe.Pointer, slots, step uint64, took []time.Duration) {
	state := uint64(seed)
	begin := time.Now()
	last := time.Since(begin)
	for i := range took {
		state = (state*lcgMul + lcgInc) & (slots - 1) // a cycle through all of them
		// Safety: state is below slots, and the caller has mapped slots*step bytes.
		*(*byte)(unsafe.Add(base, shuffle(state, slots)*step)) = 43
		now := time.Since(begin)
		took[i], last = now-last, now
	}
}

// shuffle spreads the numbers below slots, a power of two: the low bits of the
// generator's states are little random.
func shuffle(n, slots uint64) uint64 {
	half := 0
	for s := slots; s > 1; s >>= 2 {
		half++
	}
	return n ^ n>>half
}
