package launch

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const sysFstatat = unix.SYS_NEWFSTATAT

// resultMatters tells whether the result of the wait must be 0.
const resultMatters = false

type registers struct{ unix.PtraceRegs }

// init prepares them before the helper is forked.
func (r *registers) init() {}

// await makes a tracee that is at its entry wait for the end of its child
// first: waitid(P_PID, child, NULL, WEXITED|__WALL), and then go to its entry.
// The registers that programs look at there are as they were: rsp, and rdx,
// which is 0.
//
//go:nosplit
//go:norace
func (j *job) await(pid, child int) bool {
	if ptrace(unix.PTRACE_GETREGS, pid, 0, uintptr(unsafe.Pointer(&j.regs))) != 0 {
		return false
	}
	r := &j.regs
	// The return takes the entry from below the stack pointer.
	if !j.poke(pid, r.Rsp-8, r.Rip) {
		return false
	}
	r.Rsp -= 8
	r.Rip = j.syscallReturn + j.bias
	r.Rax = unix.SYS_WAITID
	r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8 = unix.P_PID, uint64(child), 0, unix.WEXITED|unix.WALL, 0
	r.Orig_rax = ^uint64(0) // no system call is to be restarted
	return ptrace(unix.PTRACE_SETREGS, pid, 0, uintptr(unsafe.Pointer(&j.regs))) == 0
}

// returnCode is what must be at syscallReturn: SYSCALL; RET.
var returnCode = []byte{0x0f, 0x05, 0xc3}
