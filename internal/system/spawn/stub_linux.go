//go:build amd64 || arm64

package spawn

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The stub is a program in assembly (stub_amd64.s, stub_arm64.s), made into an
// executable file in memory when the first program is started. Its streams are one
// end of a socket. It
//
//   - blocks all signals,
//   - takes an order and the program's streams from the socket,
//   - forks with CLONE_PARENT, so that the copy is a child of this process, and ends;
//
// the copy
//
//   - asks to be killed with this process, ends if that is dead already, if that is ordered,
//   - turns huge pages off and installs a filter if that is ordered,
//   - reports its process id, with the listener of the filter, and waits for one byte, or
//     ends at the end of the stream,
//   - unblocks the signals and becomes the program, or reports why not and ends.
//
// argv[0] of the stub is the program's file, the program's own argv follows. Its
// environment, working directory and so on are already those of the program. The
// socket closes on exec, which tells that the program runs.
//
// An order is what follows, numbers of 32 bits and the filter.
type order struct {
	parent      uint32 // our process id; 0: the program stays if this process dies
	noTHP       uint32
	noNewPrivs  uint32
	filterFlags uint32
	filterLen   uint64
	_           uint64 // where the stub puts the address of the filter
	filter      [maxFilter]unix.SockFilter
}

// A report is what follows.
type report struct {
	pid    int32 // of the copy
	errno  int32 // or 0
	filter int32 // errno is of the filter, unless it is 0
	_      int32
	used   unix.Rusage
}

// prepareStub returns nil if the stub cannot be used.
func (p *Program) prepareStub() (*Process, error) {
	file, err := stubFile()
	if err != nil {
		stubOff.Store(true)
		return nil, nil
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil
	}
	socket, theirs := os.NewFile(uintptr(ends[0]), "stub"), uintptr(ends[1])
	var pid int
	forker.do(func() {
		pid, err = syscall.ForkExec("/proc/self/fd/"+strconv.Itoa(int(file.Fd())), append([]string{p.Path}, p.Argv...), &syscall.ProcAttr{
			Dir: p.Dir, Env: p.Env, Files: []uintptr{theirs, theirs, theirs},
			Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
		})
	})
	unix.Close(ends[1])
	if err != nil {
		socket.Close()
		if !p.isMine(err) {
			stubOff.Store(true)
		}
		return nil, nil
	}
	var r report
	var listener *os.File
	if err = p.sendOrder(socket); err == nil {
		r, listener, err = readReport(socket)
	}
	ws := wait(pid) // it ends at once, or was killed
	if err != nil {
		socket.Close()
		if ws.Exited() && ws.ExitStatus() != 0 && !isPassing(syscall.Errno(ws.ExitStatus())) {
			stubOff.Store(true)
		}
		return nil, nil
	}
	proc := &Process{program: p, pid: int(r.pid), socket: socket, used: r.used, listener: listener}
	switch {
	case r.errno != 0 && r.filter != 0:
		proc.Abort()
		return nil, &FilterError{syscall.Errno(r.errno)}
	case r.errno != 0:
		proc.Abort()
		return nil, noTHP(syscall.Errno(r.errno))
	}
	if p.Cgroup != nil {
		if err := p.Cgroup.Join(proc.pid); err != nil {
			proc.Abort()
			return nil, err
		}
	}
	return proc, nil
}

// isMine says that the stub could not be started for the arguments, or because the
// system lacks something just now: the next program may have better luck.
func (p *Program) isMine(err error) bool {
	return p.Dir != "" || err == unix.E2BIG || err == unix.EINVAL || isPassing(err)
}

func isPassing(err error) bool {
	return err == unix.EAGAIN || err == unix.ENOMEM || err == unix.EMFILE || err == unix.ENFILE
}

// sendOrder sends the order with the program's streams.
func (p *Program) sendOrder(to *os.File) error {
	var o order
	if !p.Stays {
		o.parent = uint32(os.Getpid())
	}
	if p.NoTHP {
		o.noTHP = 1
	}
	if f := p.Filter; f != nil {
		if f.NoNewPrivs {
			o.noNewPrivs = 1
		}
		o.filterFlags, o.filterLen = f.Flags, uint64(copy(o.filter[:], f.Code))
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(&o)), unsafe.Sizeof(o)) // Safety: it has no pointers.
	rights := unix.UnixRights(int(p.Files[0].Fd()), int(p.Files[1].Fd()), int(p.Files[2].Fd()))
	err := unix.Sendmsg(int(to.Fd()), b, rights, nil, unix.MSG_NOSIGNAL)
	runtime.KeepAlive(p.Files)
	return err
}

// readReport reads what the copy of the stub says, and the listener that comes with it. At
// the end of the stream the error is errGone.
func readReport(from *os.File) (r report, listener *os.File, err error) {
	b := unsafe.Slice((*byte)(unsafe.Pointer(&r)), unsafe.Sizeof(r)) // Safety: all bytes are good for its fields.
	control := make([]byte, unix.CmsgSpace(4))
	for {
		n, rights, _, _, err := unix.Recvmsg(int(from.Fd()), b, control, unix.MSG_CMSG_CLOEXEC)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return r, nil, err
		case n < len(b):
			return r, nil, errGone
		}
		return r, received(control[:rights]), nil
	}
}

// received returns the descriptor in a control message, nil if there is none.
func received(control []byte) *os.File {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) != 1 {
		return nil
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil
	}
	return os.NewFile(uintptr(fds[0]), "seccomp listener")
}

var errGone = errors.New("the stub ended")

// release lets the copy become the program.
func (p *Process) release() (pid int, err error) {
	defer p.socket.Close()
	if err := p.let(); err != nil {
		return 0, err
	}
	r, _, err := readReport(p.socket)
	if err != nil {
		return p.pid, nil // the socket closed on exec
	}
	wait(p.pid)
	return 0, syscall.Errno(r.errno)
}

// stubFile returns the file in memory that holds the stub. Needs Linux 3.17 and
// the right to execute such files (vm.memfd_noexec).
var stubFile = sync.OnceValues(func() (*os.File, error) {
	image := stubImage(stubCode())
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err == nil && limit.Cur < uint64(len(image)) {
		return nil, unix.EFBIG // the signal SIGXFSZ would end us
	}
	const exec = 0x10 // MFD_EXEC
	fd, err := unix.MemfdCreate("folio-stub", unix.MFD_CLOEXEC|exec)
	if err == unix.EINVAL { // before Linux 6.3
		fd, err = unix.MemfdCreate("folio-stub", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "folio-stub")
	if _, err := f.Write(image); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
})

// stub is in assembly, with its code; stubStart returns where that begins.
//
//lint:ignore U1000 assembly refers to it
func stub()
func stubStart() unsafe.Pointer

// stubEnd marks where the code of stub ends.
var stubEnd = []byte("end of the stub.")

// stubCode returns the machine code of stub.
func stubCode() []byte {
	const most = 4 << 10
	start := stubStart()
	// Safety: the code of this program is readable, and the mark is in it.
	for n := range most {
		code := unsafe.Slice((*byte)(start), n+len(stubEnd))
		if bytes.HasSuffix(code, stubEnd) {
			return code[:n]
		}
	}
	panic("spawn: the code of the stub has no end")
}

// stubBase is where the stub is loaded.
const stubBase = 0x400000

// stubImage returns an executable file with this code.
func stubImage(code []byte) []byte {
	machine := elf.EM_X86_64
	if runtime.GOARCH == "arm64" {
		machine = elf.EM_AARCH64
	}
	const header, segment = 64, 56
	at := uint64(header + 2*segment)
	end := at + uint64(len(code))
	le := binary.LittleEndian
	b := append([]byte(elf.ELFMAG), byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT))
	b = append(b, make([]byte, elf.EI_NIDENT-len(b))...)
	b = le.AppendUint16(b, uint16(elf.ET_EXEC))
	b = le.AppendUint16(b, uint16(machine))
	b = le.AppendUint32(b, uint32(elf.EV_CURRENT))
	for _, v := range []uint64{stubBase + at, header, 0} { // where it begins; where the segments are described, and the sections
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint32(b, 0)
	for _, v := range []uint16{header, segment, 2, 0, 0, 0} {
		b = le.AppendUint16(b, v)
	}
	add := func(kind elf.ProgType, flags elf.ProgFlag, base, size, align uint64) {
		b = le.AppendUint32(b, uint32(kind))
		b = le.AppendUint32(b, uint32(flags))
		for _, v := range []uint64{0, base, base, size, size, align} {
			b = le.AppendUint64(b, v)
		}
	}
	add(elf.PT_LOAD, elf.PF_R|elf.PF_X, stubBase, end, 64<<10)
	add(elf.PT_GNU_STACK, elf.PF_R|elf.PF_W, 0, 0, 16) // a stack that cannot be executed
	return append(b, code...)
}
