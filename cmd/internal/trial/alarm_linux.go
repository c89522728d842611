package trial

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An alarm wakes a goroutine after a while, or at once when it is rung. It is a
// timer of the kernel: for each of its own timers the Go runtime wakes a second
// thread, its monitor, and all waking is at the cost of the program that runs.
type alarm struct {
	file *os.File
	conn syscall.RawConn
	fd   uintptr
	rung atomic.Bool
}

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	a := &alarm{file: os.NewFile(uintptr(fd), "timer"), fd: uintptr(fd)}
	if a.conn, err = a.file.SyscallConn(); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

// wait returns after d, which must be more than 0, or once the alarm was rung.
func (a *alarm) wait(d time.Duration) {
	a.set(d)
	if a.rung.Load() {
		a.set(1) // ring may have come before set
	}
	_ = a.conn.Read(func(fd uintptr) bool {
		var n [8]byte
		_, _, errno := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&n[0])), 8) // Safety: n outlives the call.
		return errno != unix.EAGAIN
	})
}

// ring makes wait return, now and whenever it is called. It must not be called
// after close.
func (a *alarm) ring() {
	a.rung.Store(true)
	a.set(1)
}

// set sets the timer without the Go scheduler, whose monitor would wake up for it.
func (a *alarm) set(d time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	_, _, _ = unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, a.fd, 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0) // Safety: spec outlives the call.
}

func (a *alarm) close() { _ = a.file.Close() }
