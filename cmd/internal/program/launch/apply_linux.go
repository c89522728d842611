//go:build linux && (amd64 || arm64)

package launch

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The functions in this file run in a process that was forked from one with
// many threads, and has only one: the Go runtime does not work there. They may
// call nothing but system calls, may not allocate, and may not grow the stack.
// nosplit makes the linker check the last; what they write lies in the job.

// A job is what a tracer has to do, prepared by the Go code that starts it.
type job struct {
	tid int // the thread that will call exec; afterwards it has the process's id
	// proc is a descriptor of the process's directory in /proc.
	proc int
	// The file of the program: what /proc/PID/exe must be.
	file identity

	entry   uint64 // as linked
	movable bool

	checks  [5]block // code that must be as in the file
	nchecks int
	edits   [2]edit
	nedits  int
	// syscallReturn is the address of a system call instruction and a return.
	syscallReturn uint64

	// What the helper of a process that executes itself needs.
	start, startOther   int // the pipe that it waits for, its other end
	report, reportOther int
	strict              bool
	stderr              int
	helper              int  // its id, which the program waits for
	reaped              bool // the kernel reaps it, the program does not wait

	// What it works with.
	bias   uint64
	status uint32
	word   uint64
	errno  unix.Errno // of the last request that failed
	stat   unix.Stat_t
	regs   registers
	auxv   [1024]byte
}

// identity tells one version of a file from another.
type identity struct {
	dev, ino         uint64
	size             int64
	mtime, ctime     int64
	mtimens, ctimens int64
}

// options are those of the tracer.
const options = unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACESYSGOOD

// A block is some of the program's memory.
type block struct {
	address uint64
	n       int
	bytes   [1024]byte
}

// An edit replaces n bytes, at most 8.
type edit struct {
	address  uint64
	n        int
	old, new [8]byte
}

// An outcome says what became of a job.
type outcome int

const (
	done         outcome = iota
	replaced             // another file was executed than the one that was looked at
	unknownPlace         // where the program was loaded could not be found out
	otherCode            // the memory holds other code than the file
	notWritten           // the memory could not be written, and is as it was
	halfWritten          // it could not be put back: the process was ended
	gone                 // the process was killed meanwhile
)

//go:nosplit
//go:norace
func ptrace(request, pid int, address, data uintptr) unix.Errno {
	_, _, e := syscall.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(pid), address, data, 0, 0)
	return e
}

// peek reads the word at an address of the tracee.
//
//go:nosplit
//go:norace
func (j *job) peek(pid int, address uint64) bool {
	if e := ptrace(unix.PTRACE_PEEKDATA, pid, uintptr(address), uintptr(unsafe.Pointer(&j.word))); e != 0 {
		j.errno = e
		return false
	}
	return true
}

// poke writes a word. It goes to the tracee's own copy of the page, also where
// the page may not be written: that is how debuggers set breakpoints.
//
//go:nosplit
//go:norace
func (j *job) poke(pid int, address, word uint64) bool {
	if e := ptrace(unix.PTRACE_POKEDATA, pid, uintptr(address), uintptr(word)); e != 0 {
		j.errno = e
		return false
	}
	return true
}

// has tells whether the tracee has these bytes at an address.
//
//go:nosplit
//go:norace
func (j *job) has(pid int, address uint64, b *byte, n int) bool {
	for i := 0; i < n; {
		// The word that holds the byte, so that no page beyond is touched.
		at := (address + uint64(i)) &^ 7
		if !j.peek(pid, at) {
			return false
		}
		for k := address + uint64(i) - at; k < 8 && i < n; k++ {
			if byte(j.word>>(8*k)) != *(*byte)(unsafe.Add(unsafe.Pointer(b), i)) {
				return false
			}
			i++
		}
	}
	return true
}

// pageSize is the smallest that there is; pages that are larger have no ends
// where it has none.
const pageSize = 4096

// put writes the bytes of an edit. One request writes all of them, so that the
// tracee never runs with a half-written instruction, whatever happens to this
// process; where they lie in two pages, it does not run any more then.
//
//go:nosplit
//go:norace
func (j *job) put(pid int, address uint64, b *[8]byte, n int) bool {
	end := address&^(pageSize-1) + pageSize
	if address+uint64(n) <= end {
		return j.write(pid, min(address, end-8), address, b, n)
	}
	if ptrace(unix.PTRACE_SETOPTIONS, pid, 0, options|unix.PTRACE_O_EXITKILL) != 0 {
		return false
	}
	ok := j.write(pid, end-8, address, b, n) && j.write(pid, end, address, b, n)
	return ptrace(unix.PTRACE_SETOPTIONS, pid, 0, options) == 0 && ok
}

// write writes what lies in the 8 bytes from at of the n bytes at address.
//
//go:nosplit
//go:norace
func (j *job) write(pid int, at, address uint64, b *[8]byte, n int) bool {
	if !j.peek(pid, at) {
		return false
	}
	for i := range n {
		if k := address + uint64(i) - at; k < 8 {
			j.word = j.word&^(0xff<<(8*k)) | uint64(b[i])<<(8*k)
		}
	}
	return j.poke(pid, at, j.word)
}

// apply changes the code of a tracee that is stopped at its exec. If that cannot
// be done, the tracee is as it was.
//
//go:nosplit
//go:norace
func (j *job) apply(pid int) outcome {
	if !j.sameFile() {
		return j.unless(replaced)
	}
	if !j.locate() {
		return j.unless(unknownPlace)
	}
	for i := 0; i < j.nchecks; i++ {
		c := &j.checks[i]
		if !j.has(pid, c.address+j.bias, &c.bytes[0], c.n) {
			return j.unless(otherCode)
		}
	}
	for i := 0; i < j.nedits; i++ {
		e := &j.edits[i]
		if !j.has(pid, e.address+j.bias, &e.old[0], e.n) {
			return j.unless(otherCode)
		}
	}
	ok := true
	for i := 0; i < j.nedits && ok; i++ {
		e := &j.edits[i]
		ok = j.put(pid, e.address+j.bias, &e.new, e.n) && j.has(pid, e.address+j.bias, &e.new[0], e.n)
	}
	if ok {
		return done
	}
	for i := 0; i < j.nedits; i++ {
		e := &j.edits[i]
		j.put(pid, e.address+j.bias, &e.old, e.n)
		if !j.has(pid, e.address+j.bias, &e.old[0], e.n) {
			return j.unless(halfWritten)
		}
	}
	return notWritten
}

// unless returns an outcome, unless the reason is that the tracee was killed:
// then its files in /proc are empty or gone.
//
//go:nosplit
//go:norace
func (j *job) unless(o outcome) outcome {
	if j.errno == unix.ESRCH || j.errno == unix.ENOENT {
		return gone
	}
	return o
}

// sameFile tells whether the file that is executed is the one that was looked at.
//
//go:nosplit
//go:norace
func (j *job) sameFile() bool {
	if !j.statExe() {
		return false
	}
	s, f := &j.stat, &j.file
	return uint64(s.Dev) == f.dev && s.Ino == f.ino && s.Size == f.size &&
		s.Mtim.Sec == f.mtime && s.Mtim.Nsec == f.mtimens && s.Ctim.Sec == f.ctime && s.Ctim.Nsec == f.ctimens
}

var exeName, auxvName = [4]byte{'e', 'x', 'e', 0}, [5]byte{'a', 'u', 'x', 'v', 0}

//go:nosplit
//go:norace
func (j *job) statExe() bool {
	_, _, e := syscall.RawSyscall6(sysFstatat, uintptr(j.proc), uintptr(unsafe.Pointer(&exeName)), uintptr(unsafe.Pointer(&j.stat)), 0, 0, 0)
	j.errno = e
	return e == 0
}

// Keys of the auxiliary vector.
const (
	atNull  = 0
	atEntry = 9
)

// locate finds out how far from its linked place the program is, by what the
// kernel tells it of its entry.
//
//go:nosplit
//go:norace
func (j *job) locate() bool {
	fd, _, e := syscall.RawSyscall6(unix.SYS_OPENAT, uintptr(j.proc), uintptr(unsafe.Pointer(&auxvName)),
		unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0)
	if e != 0 {
		j.errno = e
		return false
	}
	n, _, e := syscall.RawSyscall6(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&j.auxv)), uintptr(len(j.auxv)), 0, 0, 0)
	syscall.RawSyscall6(unix.SYS_CLOSE, fd, 0, 0, 0, 0, 0)
	if e != 0 || n > uintptr(len(j.auxv)) {
		return false
	}
	for i := 0; i+16 <= int(n); i += 16 {
		switch key := j.auxWord(i); key {
		case atNull:
			return false
		case atEntry:
			j.bias = j.auxWord(i+8) - j.entry
			// The kernel moves programs by whole pages.
			return j.bias == 0 || j.movable && j.bias&0xfff == 0
		}
	}
	return false
}

//go:nosplit
//go:norace
func (j *job) auxWord(i int) (w uint64) {
	for k := 7; k >= 0; k-- {
		w = w<<8 | uint64(j.auxv[i+k])
	}
	return w
}
