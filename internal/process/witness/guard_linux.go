//go:build linux && (amd64 || arm64)

package witness

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxWorkers bounds how many processes are looked at at once; others wait.
const maxWorkers = 64

// A slot has what a worker has received and not answered; no id is 0 then.
type slot struct {
	notification
	_ [48]byte // for a kernel whose notifications are longer
}

// A guard is in memory that this process shares with the process of the guard, so that
// that knows what this one was looking at when it died: the kernel tells of a system call
// once.
type guard struct {
	slots [maxWorkers]slot

	// For the process of the guard, which may not allocate.
	listener, lifeline int32
	name               [12]byte
	root               [2]byte
	poll               unix.PollFd
	own                slot
	answer             answer
	word               [8]byte
}

func newGuard() (*guard, error) {
	m, err := unix.Mmap(-1, 0, int(unsafe.Sizeof(guard{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("mmap: %w", err)
	}
	// Safety: a mapping is zero and aligned, and the guard has no pointers.
	g := (*guard)(unsafe.Pointer(unsafe.SliceData(m)))
	copy(g.name[:], "folio-guard")
	copy(g.root[:], "/")
	return g, nil
}

// free gives the memory back.
func (g *guard) free() {
	_ = unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(g)), unsafe.Sizeof(*g)))
}

// start makes the process of the guard. The lifeline is closed at the end of either. No wait
// of this process but one with __WALL sees the end of it: it has no signal for that.
func (g *guard) start(listener int) (pid, lifeline int, err error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, -1, fmt.Errorf("socketpair: %w", err)
	}
	defer unix.Close(ends[1])
	g.listener, g.lifeline = int32(listener), int32(ends[1])
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, old unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^uint64(0)
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &old); err != nil {
		unix.Close(ends[0])
		return 0, -1, err
	}
	pid, errno := g.fork()
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	if errno != 0 {
		unix.Close(ends[0])
		return 0, -1, fmt.Errorf("a guard process cannot be started: %w", errno)
	}
	return pid, ends[0], nil
}

// The functions below run in a process that was forked from one with many threads, and has
// only one: the Go runtime does not work there. They may call nothing but system calls, may
// not allocate, and may not grow the stack.

// fork makes the process. All signals are blocked: none runs a handler of Go in it.
//
//go:nosplit
//go:norace
//go:noinline
func (g *guard) fork() (pid int, errno unix.Errno) {
	p, _, e := syscall.RawSyscall6(unix.SYS_CLONE, 0, 0, 0, 0, 0, 0)
	if e != 0 || p != 0 {
		return int(p), e
	}
	g.run()
	for {
		syscall.RawSyscall6(unix.SYS_EXIT_GROUP, 0, 0, 0, 0, 0, 0)
	}
}

// run is all that the process does.
//
//go:nosplit
//go:norace
func (g *guard) run() {
	g.leave()
	for {
		n, _, e := syscall.RawSyscall(unix.SYS_READ, uintptr(g.lifeline), uintptr(unsafe.Pointer(&g.word)), 1)
		if e != unix.EINTR && (e != 0 || n == 0) {
			break
		}
	}
	for i := range g.slots {
		if g.slots[i].id != 0 {
			g.goOn(&g.slots[i])
		}
	}
	for g.next() {
		continue
	}
}

// leave gives up what the process has of the one that forked it.
//
//go:nosplit
//go:norace
func (g *guard) leave() {
	low, high := uintptr(min(g.listener, g.lifeline)), uintptr(max(g.listener, g.lifeline))
	if low > 0 {
		syscall.RawSyscall(unix.SYS_CLOSE_RANGE, 0, low-1, 0)
	}
	if high > low+1 {
		syscall.RawSyscall(unix.SYS_CLOSE_RANGE, low+1, high-1, 0)
	}
	syscall.RawSyscall(unix.SYS_CLOSE_RANGE, high+1, uintptr(^uint32(0)), 0)
	syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0)
	syscall.RawSyscall(unix.SYS_CHDIR, uintptr(unsafe.Pointer(&g.root)), 0, 0)
	syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_NAME, uintptr(unsafe.Pointer(&g.name)), 0, 0, 0, 0)
}

// next lets one system call go on; false at the end of the tree.
//
//go:nosplit
//go:norace
func (g *guard) next() bool {
	g.poll = unix.PollFd{Fd: g.listener, Events: unix.POLLIN}
	_, _, e := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&g.poll)), 1, 0, 0, 0, 0)
	switch {
	case e == unix.EINTR:
		return true
	case e != 0 || g.poll.Revents&unix.POLLIN == 0:
		return false
	}
	g.own = slot{}
	_, _, e = syscall.RawSyscall(unix.SYS_IOCTL, uintptr(g.listener), requestReceive, uintptr(unsafe.Pointer(&g.own)))
	if e == 0 {
		g.goOn(&g.own)
	}
	return e == 0 || e == unix.ENOENT || e == unix.EINTR
}

//go:nosplit
//go:norace
func (g *guard) goOn(s *slot) {
	g.answer = answer{id: s.id, flags: answerContinue}
	syscall.RawSyscall(unix.SYS_IOCTL, uintptr(g.listener), requestSend, uintptr(unsafe.Pointer(&g.answer)))
}
