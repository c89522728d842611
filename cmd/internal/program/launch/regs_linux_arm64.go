package launch

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const sysFstatat = unix.SYS_FSTATAT

// resultMatters tells whether the result of the wait must be 0: C libraries call
// what x0 holds at the entry when the program ends. The wait fails if SIGCHLD is
// ignored, where the kernel reaps the helper.
const resultMatters = true

type registers struct {
	unix.PtraceRegs
	vec unix.Iovec
}

// init prepares them before the helper is forked.
func (r *registers) init() {
	r.vec.Base = (*byte)(unsafe.Pointer(&r.PtraceRegs))
	r.vec.Len = uint64(unsafe.Sizeof(r.PtraceRegs))
}

// await makes a tracee that is at its entry wait for the end of its child
// first: waitid(P_PID, child, NULL, WEXITED|__WALL), and then go to its entry,
// where x0 is 0 again, as the result.
//
//go:nosplit
//go:norace
func (j *job) await(pid, child int) bool {
	r := &j.regs
	if ptrace(unix.PTRACE_GETREGSET, pid, unix.NT_PRSTATUS, uintptr(unsafe.Pointer(&r.vec))) != 0 {
		return false
	}
	r.Regs[30] = r.Pc // the return goes there
	r.Pc = j.syscallReturn + j.bias
	r.Regs[8] = unix.SYS_WAITID
	r.Regs[0], r.Regs[1], r.Regs[2], r.Regs[3], r.Regs[4] = unix.P_PID, uint64(child), 0, unix.WEXITED|unix.WALL, 0
	return ptrace(unix.PTRACE_SETREGSET, pid, unix.NT_PRSTATUS, uintptr(unsafe.Pointer(&r.vec))) == 0
}

// returnCode is what must be at syscallReturn: SVC; RET.
var returnCode = []byte{0x01, 0, 0, 0xd4, 0xc0, 0x03, 0x5f, 0xd6}
