//go:build linux && (amd64 || arm64)

package launch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long the helper may take to attach: a few system calls.
const patience = 10 * time.Second

// An AttachError says why a program cannot be traced, so that it can only run
// as it is.
type AttachError struct{ Why string }

func (e *AttachError) Error() string { return e.Why }

// Exec makes this process the program, as exec does, with what it inherited.
// It returns only if that failed. The main thread of the process should call
// it: another one has no PR_SET_PDEATHSIG.
func Exec(path string, argv, env []string, in Inherited) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for s := 1; s < signals; s++ {
		if in.Ignored&bit(s) != 0 {
			// Whether it can be set is for the kernel to say; it was like that.
			_ = rtSigaction(s, &sigaction{handler: 1}, nil)
		}
	}
	// The runtime preempts its threads by SIGURG. Where the program inherits that it is
	// blocked, one would wait for it: from here on there is no GC cycle that sends any,
	// and the scheduler sends one only to who has run for 10 ms since it looked.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.Gosched()
	old, err := setMask(&in.Blocked)
	if err != nil {
		return fmt.Errorf("block signals: %w", err)
	}
	var urgent sigaction
	drop := in.Blocked&bit(int(unix.SIGURG)) != 0
	if drop { // what waits is dropped when the default, to do nothing, is set
		drop = rtSigaction(int(unix.SIGURG), &sigaction{}, &urgent) == nil
	}
	err = syscall.Exec(path, argv, env) // which sets the limit of open files back
	if drop {
		_ = rtSigaction(int(unix.SIGURG), &urgent, nil)
	}
	_, _ = setMask(&old)
	return err
}

// ExecOptions are the options of [Program.Exec].
type ExecOptions struct {
	Inherited Inherited
	// Strict ends in an error where the program would run as it is; if that
	// turns out only at the exec, the program is killed.
	Strict bool
	// AsIs is called with the reason why the program will run as it is.
	AsIs func(why error)
}

// Exec makes this process the program, with its patch. A helper that is forked
// for it traces this process over its exec, and ends before the first
// instruction of the program. It returns only if the program cannot be
// executed, or with an *AttachError if o.Strict is set.
func (p *Program) Exec(argv, env []string, o ExecOptions) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	h, err := p.attach(o)
	if err != nil {
		if o.Strict {
			return err
		}
		o.AsIs(err)
		return Exec(p.Path, argv, env, o.Inherited)
	}
	err = Exec(p.Path, argv, env, o.Inherited)
	h.end()
	// Some security modules refuse an exec only because it is traced.
	if o.Strict && refusedByTracing(err) {
		return &AttachError{fmt.Sprintf("exec while traced: %v", err)}
	}
	if refusedByTracing(err) {
		again := Exec(p.Path, argv, env, o.Inherited)
		return again
	}
	return err
}

func refusedByTracing(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES)
}

// A helper is the process that traces this one.
type helper struct{ pid int }

// end ends the helper and collects it. A tracer that ends lets its tracees go.
func (h helper) end() {
	_ = unix.Kill(h.pid, unix.SIGKILL)
	_ = waitChild(h.pid, 0)
}

// waitChild waits for the end of this child only; WNOHANG: asks whether it has
// ended, which is then an error.
func waitChild(pid, flags int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WALL|flags, nil)
		if err != unix.EINTR {
			return err
		}
	}
}

// attach forks the helper and returns when it traces the calling thread.
func (p *Program) attach(o ExecOptions) (h helper, err error) {
	proc, err := ownProc()
	if err != nil {
		return h, err
	}
	j, err := p.job(proc)
	if err != nil {
		return h, err
	}
	var start, report [2]int
	if err := unix.Pipe2(start[:], unix.O_CLOEXEC); err != nil {
		return h, fmt.Errorf("make a pipe: %w", err)
	}
	defer unix.Close(start[1])
	defer unix.Close(start[0])
	if err := unix.Pipe2(report[:], unix.O_CLOEXEC); err != nil {
		return h, fmt.Errorf("make a pipe: %w", err)
	}
	defer unix.Close(report[0])
	j.tid, j.strict, j.stderr = unix.Gettid(), o.Strict, int(os.Stderr.Fd())
	j.reaped = resultMatters && o.Inherited.Ignored&bit(int(unix.SIGCHLD)) != 0
	j.start, j.startOther, j.report, j.reportOther = start[0], start[1], report[1], report[0]
	h.pid, err = j.forkBlocked()
	unix.Close(report[1])
	if err != nil {
		return h, &AttachError{"a helper process cannot be started: " + err.Error()}
	}
	if err := h.begin(start[1], report[0]); err != nil {
		h.end()
		return h, err
	}
	return h, nil
}

// forkBlocked forks while no signal can be delivered.
func (j *job) forkBlocked() (pid int, err error) {
	all := ^uint64(0)
	old, err := setMask(&all)
	if err != nil {
		return 0, err
	}
	pid, errno := j.fork()
	_, _ = setMask(&old)
	runtime.KeepAlive(j)
	if errno != 0 {
		return 0, errno
	}
	return pid, nil
}

// begin lets the helper attach, and reads whether it could.
func (h helper) begin(start, report int) error {
	// Where the Yama module restricts tracing to ancestors, a process can name
	// one more; elsewhere this is an error that means nothing.
	_ = unix.Prctl(unix.PR_SET_PTRACER, uintptr(h.pid), 0, 0, 0)
	// The program will make this call before it starts: what forbids it must be
	// known before.
	if err := waitChild(h.pid, unix.WNOHANG); err != nil {
		return &AttachError{"waitid is denied: " + err.Error()}
	}
	if _, err := unix.Write(start, []byte{1}); err != nil {
		return &AttachError{"the helper process ended: " + err.Error()}
	}
	if err := readable(report, patience); err != nil {
		return err
	}
	b := make([]byte, 8)
	n, err := unix.Read(report, b)
	switch errno := syscall.Errno(b[0]); {
	case err != nil:
		return &AttachError{"read from the helper process: " + err.Error()}
	case n != len(b):
		return &AttachError{"the helper process ended before it could attach"}
	case errno != 0:
		return &AttachError{WhyDenied(errno)}
	}
	return nil
}

// readable waits for data or the end of a pipe.
func readable(fd int, timeout time.Duration) error {
	for deadline := time.Now().Add(timeout); ; {
		left := time.Until(deadline)
		if left <= 0 {
			return &AttachError{fmt.Sprintf("the helper process did not attach within %v", timeout)}
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		if n > 0 || err != nil && err != unix.EINTR {
			return err
		}
	}
}

// WhyDenied explains an error of a request to trace a process.
func WhyDenied(errno syscall.Errno) string {
	text := "ptrace: " + errno.Error()
	if errno == unix.ENOSYS {
		return text + ": the kernel or sandbox has none"
	}
	const own = "/proc/self/status"
	if tracer := StatusField(own, "TracerPid"); tracer != "" && tracer != "0" {
		return text + ": process " + tracer + " traces it already"
	}
	if scope, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); err == nil && len(scope) > 0 && scope[0] >= '2' {
		return text + ": kernel.yama.ptrace_scope is " + strings.TrimSpace(string(scope))
	}
	if n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err == nil && n != 1 {
		return text + ": this process may not be traced (PR_SET_DUMPABLE), as when the file of folio cannot be read by its user"
	}
	if mode := StatusField(own, "Seccomp"); mode != "" && mode != "0" {
		return text + ": a seccomp filter may deny it"
	}
	return text
}

// StatusField reads a line of a file as /proc/PID/status; "" if there is none.
func StatusField(path, key string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if k, v, _ := strings.Cut(line, ":"); k == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// ownProc opens this process's directory in /proc, by which the helper finds
// it whatever its number is there.
func ownProc() (fd int, err error) {
	fd, err = unix.Open("/proc/self", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, &AttachError{"/proc/self: " + err.Error()}
	}
	return fd, nil
}

// Environment returns this process's environment as it was given, with names
// that come twice, which os.Environ leaves out.
func Environment() []string {
	f, err := os.Open("/proc/self/environ")
	if err != nil {
		return os.Environ()
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil || len(data) > 0 && data[len(data)-1] != 0 {
		return os.Environ()
	}
	if len(data) == 0 {
		return nil
	}
	return strings.Split(string(data[:len(data)-1]), "\x00")
}
