package spawn

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A TraceError says that a program cannot be stopped at its exec.
type TraceError struct{ Err error }

func (e *TraceError) Error() string { return "ptrace: " + e.Err.Error() }

func (e *TraceError) Unwrap() error { return e.Err }

// MayTrace says whether programs can be stopped at their exec here, by doing so
// with a copy of this program that is ended there. The error is a *TraceError, or
// says why there was no process.
func MayTrace() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	stop := errors.New("stopped")
	p := &Program{
		Path: "/proc/self/exe", Argv: []string{"folio"}, Env: []string{}, Files: [3]*os.File{null, null, null},
		AtExec: func(int) error { return stop },
	}
	proc, err := p.Prepare()
	if err == nil {
		_, err = proc.Start()
	}
	if errors.Is(err, stop) {
		return nil
	}
	return err
}

// seize makes the calling thread the tracer of a process. Nothing stops by that.
func seize(pid int) error {
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, unix.PTRACE_O_TRACEEXEC, 0, 0)
	if e != 0 {
		return &TraceError{e}
	}
	return nil
}

// atExec waits until a process that the calling thread traces is stopped at its
// exec, calls AtExec, and lets it go. It returns nil also if the process ended
// before; how is left for its parent to see.
func (p *Process) atExec(pid int, seized bool) error {
	if !untilExec(pid, seized) {
		return nil
	}
	begin := time.Now()
	err := p.program.AtExec(pid)
	p.held = time.Since(begin)
	if err == nil {
		// ESRCH: it was killed meanwhile.
		if err = unix.PtraceDetach(pid); err == nil || err == unix.ESRCH {
			return nil
		}
		err = &TraceError{err}
	}
	_ = unix.Kill(pid, unix.SIGKILL)
	return err
}

// untilExec lets a traced process run until its exec, with all signals that it
// gets; false if it ended before.
func untilExec(pid int, seized bool) bool {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT|unix.WALL, nil)
		if err == unix.EINTR {
			continue
		}
		const trapped = 4 // CLD_TRAPPED
		if err != nil || info.Code != trapped {
			return false
		}
		var ws unix.WaitStatus
		if _, err := unix.Wait4(pid, &ws, unix.WALL, nil); err != nil {
			return false
		}
		signal, event := ws.StopSignal(), int(ws)>>16
		switch {
		case event == unix.PTRACE_EVENT_EXEC, !seized && signal == unix.SIGTRAP:
			return true
		case event == unix.PTRACE_EVENT_STOP && stops(signal):
			// It is to stay stopped until SIGCONT, as it would without a tracer.
			_, _, _ = unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_LISTEN, uintptr(pid), 0, 0, 0, 0)
		case event != 0:
			_ = unix.PtraceCont(pid, 0)
		default:
			_ = unix.PtraceCont(pid, int(signal))
		}
	}
}

// hasEnded tells whether a child has ended, and leaves it to be waited for.
func hasEnded(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo != 0
}

// stops tells whether a signal stops a process.
func stops(s syscall.Signal) bool {
	return s == unix.SIGSTOP || s == unix.SIGTSTP || s == unix.SIGTTIN || s == unix.SIGTTOU
}

// let tells the waiting copy of the stub to become the program, and sees to AtExec.
func (p *Process) let() error {
	traced := p.program.AtExec != nil
	if traced {
		// All requests of ptrace come from one thread.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := seize(p.pid); err != nil && !hasEnded(p.pid) {
			p.Abort()
			return err
		}
	}
	// If it was killed meanwhile, it cannot be told; who waits for it will see.
	_ = unix.Sendto(int(p.socket.Fd()), []byte{1}, unix.MSG_NOSIGNAL, nil)
	if !traced {
		return nil
	}
	if err := p.atExec(p.pid, true); err != nil {
		wait(p.pid)
		return err
	}
	return nil
}

// forkTraced is fork, with AtExec.
func (p *Process) forkTraced() (pid int, err error) {
	pid, err = p.program.fork()
	if err == unix.EPERM || err == unix.ENOSYS {
		return 0, &TraceError{err} // PTRACE_TRACEME, or an exec that is refused for it
	}
	if err != nil {
		return 0, err
	}
	if err := p.atExec(pid, false); err != nil {
		wait(pid)
		return 0, err
	}
	return pid, nil
}
