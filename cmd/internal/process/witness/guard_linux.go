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

// A guard is in memory that this process shares with the processes of the guard, so that
// they know what this one was looking at when it died: the kernel tells of a system call
// once.
type guard struct {
	slots [maxWorkers + 1]slot // the last one is the guard's

	// For the processes of the guard, which may not allocate.
	listener, lifeline int32
	name               [16]byte
	root               [2]byte
}

func newGuard() (*guard, error) {
	m, err := unix.Mmap(-1, 0, int(unsafe.Sizeof(guard{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("mmap: %w", err)
	}
	// Safety: a mapping is zero and aligned, and the guard has no pointers.
	g := (*guard)(unsafe.Pointer(unsafe.SliceData(m)))
	copy(g.name[:], "seccomp-guard") // pkill -9 folio is not meant for it
	copy(g.root[:], "/")
	return g, nil
}

// free gives the memory back.
func (g *guard) free() {
	_ = unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(g)), unsafe.Sizeof(*g)))
}

// start makes the process of the guard, which makes another one: each replaces the other
// when that is killed. The lifeline is to close with this process. No wait of this process but one
// with __WALL sees the end of the guard: it has no signal for that.
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

// run is all that the processes do. The one that serves has a twin, which waits for its end
// and then has a twin itself.
//
//go:nosplit
//go:norace
func (g *guard) run() {
	g.leave()
	dead := false // this process's parent
	for {
		var ends [2]int32
		twin := ^uintptr(0)
		_, _, e := syscall.RawSyscall6(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM, 0, uintptr(unsafe.Pointer(&ends)), 0, 0)
		if e != 0 {
			ends = [2]int32{-1, -1}
		} else if twin, _, e = syscall.RawSyscall6(unix.SYS_CLONE, 0, 0, 0, 0, 0, 0); e == 0 && twin == 0 {
			closeFD(ends[0])
			if readByte(ends[1]) {
				return // it is over
			}
			closeFD(ends[1])
			dead = false
			continue
		}
		closeFD(ends[1])
		if e != 0 { // without a twin, then
			closeFD(ends[0])
			ends[0] = -1
		}
		over := g.serve(ends[0], &dead)
		closeFD(ends[0])
		syscall.RawSyscall6(unix.SYS_WAIT4, twin, 0, unix.WALL, 0, 0, 0)
		if over {
			return
		}
	}
}

// serve lets system calls go on once the supervisor is dead, until the tree has ended; false if
// the twin has ended before.
//
//go:nosplit
//go:norace
func (g *guard) serve(twin int32, dead *bool) (over bool) {
	for {
		fds := [3]unix.PollFd{{Fd: twin}, {Fd: g.lifeline}, {Fd: -1, Events: unix.POLLIN}}
		if *dead {
			fds[1].Fd, fds[2].Fd = -1, g.listener
		}
		_, _, e := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds)), 3, 0, 0, 0, 0)
		switch {
		case e == unix.EINTR:
		case e != 0:
			return true
		case fds[0].Revents != 0:
			return false
		case fds[1].Revents != 0:
			*dead = true
			for i := range g.slots {
				g.goOn(&g.slots[i])
			}
		case fds[2].Revents&unix.POLLIN != 0:
			own := &g.slots[maxWorkers]
			*own = slot{}
			syscall.RawSyscall(unix.SYS_IOCTL, uintptr(g.listener), requestReceive, uintptr(unsafe.Pointer(own)))
			g.goOn(own)
		case fds[2].Revents != 0:
			var word [1]byte
			syscall.RawSyscall(unix.SYS_WRITE, uintptr(twin), uintptr(unsafe.Pointer(&word)), 1)
			return true
		}
	}
}

//go:nosplit
//go:norace
func closeFD(fd int32) { syscall.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

// readByte waits for a byte; false at the end of the stream.
//
//go:nosplit
//go:norace
func readByte(fd int32) bool {
	var word [1]byte
	for {
		n, _, e := syscall.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&word)), 1)
		if e != unix.EINTR {
			return e == 0 && n == 1
		}
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

// goOn lets a system call go on, if the slot has one.
//
//go:nosplit
//go:norace
func (g *guard) goOn(s *slot) {
	if s.id == 0 {
		return
	}
	a := answer{id: s.id, flags: answerContinue}
	syscall.RawSyscall(unix.SYS_IOCTL, uintptr(g.listener), requestSend, uintptr(unsafe.Pointer(&a)))
	s.id = 0
}
