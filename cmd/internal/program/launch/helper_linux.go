//go:build linux && (amd64 || arm64)

package launch

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What the helper says when the program is there but not patched. It cannot
// format, so the lines are written out.
var (
	sayReplaced = []byte("folio: exec: another file was executed than the one that was checked: the program runs unchanged\n")
	sayPlace    = []byte("folio: exec: where the program was loaded cannot be read in /proc: the program runs unchanged\n")
	sayOther    = []byte("folio: exec: its memory holds other code than its file: the program runs unchanged\n")
	sayDenied   = []byte("folio: exec: its code cannot be changed in memory: the program runs unchanged\n")
	sayStrict   = []byte("folio: exec: the program could not be patched at its exec (--strict): ended with SIGKILL\n")
	sayBroken   = []byte("folio: exec: its code could not be put back in memory: ended with SIGKILL\n")
)

// fork makes the helper: a copy of this process that does the job. Without a
// signal for its end (no SIGCHLD in the flags) no wait but one with __WALL sees
// it, so that no other wait of this process or the program does. All signals must be blocked: none
// may run a handler of Go in the helper.
//
//go:nosplit
//go:norace
//go:noinline
func (j *job) fork() (pid int, errno unix.Errno) {
	p, _, e := syscall.RawSyscall6(unix.SYS_CLONE, 0, 0, 0, 0, 0, 0)
	if e != 0 || p != 0 {
		return int(p), e
	}
	j.help()
	for {
		syscall.RawSyscall6(unix.SYS_EXIT_GROUP, 0, 0, 0, 0, 0, 0)
	}
}

// help is all that the helper does.
//
//go:nosplit
//go:norace
func (j *job) help() {
	syscall.RawSyscall6(unix.SYS_CLOSE, uintptr(j.startOther), 0, 0, 0, 0, 0)
	syscall.RawSyscall6(unix.SYS_CLOSE, uintptr(j.reportOther), 0, 0, 0, 0, 0)
	// The other end closes, too, when the launcher ends.
	if n, _, e := syscall.RawSyscall6(unix.SYS_READ, uintptr(j.start), uintptr(unsafe.Pointer(&j.word)), 1, 0, 0, 0); n != 1 || e != 0 {
		return
	}
	id, _, _ := syscall.RawSyscall6(unix.SYS_GETPID, 0, 0, 0, 0, 0, 0)
	j.helper = int(id)
	e := ptrace(unix.PTRACE_SEIZE, j.tid, 0, options)
	j.word = uint64(e)
	syscall.RawSyscall6(unix.SYS_WRITE, uintptr(j.report), uintptr(unsafe.Pointer(&j.word)), 8, 0, 0, 0)
	syscall.RawSyscall6(unix.SYS_CLOSE, uintptr(j.report), 0, 0, 0, 0, 0)
	if e != 0 {
		return
	}
	if pid := j.awaitExec(); pid != 0 {
		j.finish(pid)
	}
}

// finish does the work at the exec, and lets the program go.
//
//go:nosplit
//go:norace
func (j *job) finish(pid int) {
	o := j.apply(pid)
	if o == gone {
		return
	}
	if o != done {
		j.say(o)
		if o == halfWritten || j.strict {
			syscall.RawSyscall6(unix.SYS_KILL, uintptr(pid), uintptr(unix.SIGKILL), 0, 0, 0, 0)
			return
		}
	}
	// The program waits for the end of the helper before its first instruction:
	// so it starts without a child, and nothing is left to be reaped.
	if !j.reaped && o != replaced && o != unknownPlace &&
		j.has(pid, j.syscallReturn+j.bias, &returnCode[0], len(returnCode)) && j.toExit(pid) {
		j.await(pid, j.helper)
	}
	ptrace(unix.PTRACE_DETACH, pid, 0, 0)
}

//go:nosplit
//go:norace
func (j *job) say(o outcome) {
	line := &sayDenied
	switch {
	case o == halfWritten:
		line = &sayBroken
	case j.strict:
		line = &sayStrict
	case o == replaced:
		line = &sayReplaced
	case o == unknownPlace:
		line = &sayPlace
	case o == otherCode:
		line = &sayOther
	}
	syscall.RawSyscall6(unix.SYS_WRITE, uintptr(j.stderr), uintptr(unsafe.Pointer(unsafe.SliceData(*line))), uintptr(len(*line)), 0, 0, 0)
}

// next waits for the tracee to stop; 0 when it is gone.
//
//go:nosplit
//go:norace
func (j *job) next() (pid int) {
	for {
		p, _, e := syscall.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&j.status)), unix.WALL, 0, 0, 0)
		switch {
		case e == unix.EINTR:
			continue
		case e != 0 || j.status&0xff != 0x7f: // it has ended
			return 0
		}
		return int(p)
	}
}

// awaitExec lets the tracee run until its exec, with all signals that it gets.
// It returns its process id, 0 when it is gone.
//
//go:nosplit
//go:norace
func (j *job) awaitExec() (pid int) {
	for {
		pid := j.next()
		if pid == 0 {
			return 0
		}
		signal, event := j.status>>8&0xff, j.status>>16
		switch {
		case event == unix.PTRACE_EVENT_EXEC:
			return pid
		case event == unix.PTRACE_EVENT_STOP && stops(signal):
			// It is to stay stopped until SIGCONT, as it would without a tracer.
			ptrace(unix.PTRACE_LISTEN, pid, 0, 0)
		case event != 0 || signal == uint32(unix.SIGTRAP)|0x80:
			ptrace(unix.PTRACE_CONT, pid, 0, 0)
		default:
			ptrace(unix.PTRACE_CONT, pid, 0, uintptr(signal))
		}
	}
}

// stops tells whether a signal stops a process.
//
//go:nosplit
//go:norace
func stops(signal uint32) bool {
	s := unix.Signal(signal)
	return s == unix.SIGSTOP || s == unix.SIGTSTP || s == unix.SIGTTIN || s == unix.SIGTTOU
}

// toExit lets the tracee go on to the end of its exec, from where on its
// registers are those of the new program.
//
//go:nosplit
//go:norace
func (j *job) toExit(pid int) bool {
	signal := uintptr(0)
	for range 100 {
		if ptrace(unix.PTRACE_SYSCALL, pid, 0, signal) != 0 || j.next() == 0 {
			return false
		}
		switch s, event := j.status>>8&0xff, j.status>>16; {
		case s == uint32(unix.SIGTRAP)|0x80:
			return true
		case event == 0:
			signal = uintptr(s)
		default:
			signal = 0
		}
	}
	return false
}
