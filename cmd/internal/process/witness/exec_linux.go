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
	if v, ok := t.again.LoadAndDelete(c.thread); ok {
		if old := v.(*interrupted); old.ip == n.ip && old.args == n.args {
			w.yield()
			w.stopAt(n, old.process, old.stop)
			return
		}
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

// An interrupted exec has failed, or is about to be made again.
type interrupted struct {
	ip      uint64
	args    [6]uint64
	process int
	stop    AtExec
}

// stopAt lets the exec go on, and stops it when the program is in memory.
func (w *worker) stopAt(n *notification, pid int, stop AtExec) {
	// Only the thread that seized a process may do anything to it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	x := tracee{int(n.pid), pid}
	if e := ptrace(unix.PTRACE_SEIZE, x.thread, 0, unix.PTRACE_O_TRACEEXEC); e != 0 {
		if e != unix.ESRCH {
			stop(pid, whyNot(x.thread, e))
		}
		return
	}
	delay := time.Duration(w.tree.delay.Load())
	if w.tree.killable {
		// It waits for the answer all the same. A stop comes either way: at the exec, or after an
		// execve that failed.
		ptrace(unix.PTRACE_INTERRUPT, x.thread, 0, 0)
		w.goOn(n)
	} else if w.goOn(n); !x.stopsWithin(delay) {
		// It failed, or takes long. If it has not woken up yet, it will make the call again.
		ptrace(unix.PTRACE_INTERRUPT, x.thread, 0, 0)
	}
	got, status := x.nextStop()
	if got == 0 {
		return // it has ended
	}
	switch signal, event := status>>8&0xff, status>>16; {
	case event == unix.PTRACE_EVENT_EXEC:
		stop(got, nil)
		ptrace(unix.PTRACE_DETACH, got, 0, 0)
	case event != 0:
		w.tree.again.Store(got, &interrupted{n.ip, n.args, pid, stop})
		ptrace(unix.PTRACE_DETACH, got, 0, 0)
		w.tree.delay.CompareAndSwap(int64(delay), int64(min(2*delay, 100*time.Millisecond)))
	default:
		ptrace(unix.PTRACE_DETACH, got, 0, uintptr(signal))
	}
}

// siginfo is what waitid says.
type siginfo struct {
	signo, errno, code, _ int32
	pid, uid, status      int32
	_                     [100]byte
}

const trapped = 4 // CLD_TRAPPED

func waitid(which, pid, options int) (info siginfo, errno unix.Errno) {
	for {
		_, _, e := unix.Syscall6(unix.SYS_WAITID, uintptr(which), uintptr(pid), uintptr(unsafe.Pointer(&info)), uintptr(options), 0, 0)
		if e != unix.EINTR {
			return info, e
		}
	}
}

// A tracee is a thread that executes a program: then its id becomes that of the process.
type tracee struct{ thread, process int }

// peek looks whether it has stopped or ended; gone says that there is nothing to wait for. The
// thread of this process that asks may have other children.
func (x tracee) peek(options int) (info siginfo, gone bool) {
	options |= unix.WEXITED | unix.WSTOPPED | unix.WNOWAIT | unix.WALL | unix.WNOTHREAD
	info, e := waitid(unix.P_PID, x.thread, options)
	if e != 0 && x.thread != x.process {
		info, e = waitid(unix.P_PID, x.process, options)
	}
	return info, e != 0
}

// stopsWithin waits for its stop or end; false if there was none in time.
func (x tracee) stopsWithin(limit time.Duration) bool {
	for deadline := time.Now().Add(limit); ; time.Sleep(limit / 20) {
		if info, gone := x.peek(unix.WNOHANG); gone || info.signo != 0 {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// nextStop waits for its stop, and returns the id that it has then; 0 if it has ended. It is
// reaped then, unless it is a child of this process, whose end others wait for.
func (x tracee) nextStop() (id, status int) {
	options := 0
	if x.thread != x.process {
		options = unix.WNOHANG // a wait for an id does not end when that changes
	}
	info, gone := x.peek(options)
	for ; !gone && info.signo == 0; info, gone = x.peek(options) {
		time.Sleep(100 * time.Microsecond)
	}
	id = int(info.pid)
	if gone || info.code != trapped && parentOf(id) == os.Getpid() {
		return 0, 0
	}
	var ws unix.WaitStatus
	if _, err := unix.Wait4(id, &ws, unix.WALL|unix.WNOTHREAD, nil); err != nil || !ws.Stopped() {
		return 0, 0
	}
	return id, int(ws)
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
