//go:build linux && (amd64 || arm64)

package witness

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/program/launch"
)

// exec looks at an execve or execveat.
func (w *worker) exec(n *notification) {
	t := w.tree
	c := newCall(n)
	if c == nil {
		return // it does not execute anything
	}
	e, fresh := t.lookAt(c)
	if e == nil || !t.valid(n) {
		e.close()
		return
	}
	defer e.close()
	t.known.executes(t, e)
	if t.options.OnExec == nil {
		return
	}
	if fresh {
		w.yield() // it may take long to look at the file
	}
	stop := t.options.OnExec(e)
	if stop == nil {
		return
	}
	if e.Program.Privileged != "" {
		stop(e.PID, errors.New(e.Program.Privileged))
		return
	}
	w.yield()
	w.stopAt(n, e.PID, stop)
}

// stopAt lets the exec go on, and stops it when the program is in memory.
func (w *worker) stopAt(n *notification, pid int, stop AtExec) {
	// Only the thread that seized a process may do anything to it.
	runtime.LockOSThread()
	defer func() {
		if !w.retired { // else the thread ends with the goroutine
			runtime.UnlockOSThread()
		}
	}()
	thread := int(n.pid)
	if e := ptrace(unix.PTRACE_SEIZE, thread, 0, unix.PTRACE_O_TRACEEXEC); e != 0 {
		if e != unix.ESRCH {
			stop(pid, whyNot(thread, e))
		}
		return
	}
	interrupted := w.tree.killable
	if interrupted {
		// It waits for the answer all the same. A stop comes either way: at the exec, or after an
		// execve that failed.
		ptrace(unix.PTRACE_INTERRUPT, thread, 0, 0)
	}
	w.goOn(n)
	delay := time.Duration(w.tree.delay.Load())
	for {
		if !interrupted && !awaitStop(delay) {
			// It failed, or takes long. If it has not woken up yet, it will make the call again.
			ptrace(unix.PTRACE_INTERRUPT, thread, 0, 0)
		}
		interrupted = true
		got, status, ended := nextStop()
		if ended {
			w.retired = got != 0 // a zombie that is our child is its parent's to see
			return
		}
		switch signal, event := status>>8&0xff, status>>16; {
		case event == unix.PTRACE_EVENT_EXEC:
			stop(got, nil)
			ptrace(unix.PTRACE_DETACH, got, 0, 0)
		case event != 0:
			ptrace(unix.PTRACE_DETACH, got, 0, 0)
			w.tree.delay.CompareAndSwap(int64(delay), int64(min(2*delay, 100*time.Millisecond)))
		default:
			ptrace(unix.PTRACE_DETACH, got, 0, uintptr(signal))
		}
		return
	}
}

// siginfo is what waitid says.
type siginfo struct {
	signo, errno, code, _ int32
	pid, uid, status      int32
	_                     [100]byte
}

const (
	anyTracee = unix.WALL | unix.WNOTHREAD
	trapped   = 4 // CLD_TRAPPED
)

func waitid(which, pid, options int) (info siginfo, errno unix.Errno) {
	for {
		_, _, e := unix.Syscall6(unix.SYS_WAITID, uintptr(which), uintptr(pid), uintptr(unsafe.Pointer(&info)), uintptr(options), 0, 0)
		if e != unix.EINTR {
			return info, e
		}
	}
}

// awaitStop waits for something to happen to the only tracee of this thread; false if nothing
// has in time.
func awaitStop(limit time.Duration) bool {
	for deadline := time.Now().Add(limit); ; time.Sleep(limit / 20) {
		info, e := waitid(unix.P_ALL, 0, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT|unix.WNOHANG|anyTracee)
		if e != 0 || info.signo != 0 {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// nextStop waits for the next stop of the only tracee of this thread. Its process id is another than that
// of the thread that was seized if that was not the first thread. If it has ended it is reaped,
// unless it is a child of this process, whose end others wait for: then pid is not 0.
func nextStop() (pid, status int, ended bool) {
	info, e := waitid(unix.P_ALL, 0, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT|anyTracee)
	pid = int(info.pid)
	if e != 0 {
		return 0, 0, true
	}
	if info.code != trapped && parentOf(pid) == os.Getpid() {
		return pid, 0, true
	}
	var ws unix.WaitStatus
	if _, err := unix.Wait4(pid, &ws, anyTracee, nil); err != nil || !ws.Stopped() {
		return 0, 0, true
	}
	return pid, int(ws), false
}

func ptrace(request, pid int, address, data uintptr) unix.Errno {
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(pid), address, data, 0, 0)
	return e
}

// whyNot explains why a thread cannot be traced.
func whyNot(thread int, e unix.Errno) error {
	if tracer := statusOf(thread, "TracerPid"); tracer != "" && tracer != "0" {
		return fmt.Errorf("ptrace: process %s traces it", tracer)
	}
	return errors.New(launch.WhyDenied(e))
}

// statusOf reads a line of /proc/PID/status; "" if there is none.
func statusOf(pid int, key string) string {
	return launch.StatusField("/proc/"+strconv.Itoa(pid)+"/status", key)
}
