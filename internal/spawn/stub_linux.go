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
	"sync/atomic"
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
//   - asks to be killed with this process, ends if that is dead already,
//   - turns huge pages off if that is ordered,
//   - reports its process id and waits for one byte, or ends at the end of the stream,
//   - unblocks the signals and becomes the program, or reports why not and ends.
//
// argv[0] of the stub is the program's file, the program's own argv follows. Its
// environment, working directory and so on are already those of the program. The
// socket closes on exec, which tells that the program runs.
//
// An order is our process id and whether huge pages are to be off, a report the
// copy's process id and an error number or 0: each two numbers of 32 bits.
type report struct {
	pid   int
	errno syscall.Errno
}

// stubOff is set once the stub turned out not to work on this system.
var stubOff atomic.Bool

// prepareStub returns nil if the stub cannot be used.
func (p *Program) prepareStub() (*Process, error) {
	if stubOff.Load() {
		return nil, nil
	}
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
	if err = p.sendOrder(socket); err == nil {
		r, err = readReport(socket)
	}
	ws := wait(pid) // it ends at once, or was killed
	if err != nil {
		socket.Close()
		if ws.Exited() && ws.ExitStatus() != 0 && !isPassing(syscall.Errno(ws.ExitStatus())) {
			stubOff.Store(true)
		}
		return nil, nil
	}
	proc := &Process{program: p, pid: r.pid, socket: socket}
	if r.errno != 0 {
		proc.Abort()
		return nil, noTHP(r.errno)
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
	var b [8]byte
	binary.NativeEndian.PutUint32(b[:], uint32(os.Getpid()))
	if p.NoTHP {
		binary.NativeEndian.PutUint32(b[4:], 1)
	}
	rights := unix.UnixRights(int(p.Files[0].Fd()), int(p.Files[1].Fd()), int(p.Files[2].Fd()))
	err := unix.Sendmsg(int(to.Fd()), b[:], rights, nil, unix.MSG_NOSIGNAL)
	runtime.KeepAlive(p.Files)
	return err
}

// readReport reads what the copy of the stub says. At the end of the stream the
// error is errGone.
func readReport(from *os.File) (r report, err error) {
	var b [8]byte
	for {
		n, err := unix.Read(int(from.Fd()), b[:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return r, err
		case n < len(b):
			return r, errGone
		}
		r.pid, r.errno = int(binary.NativeEndian.Uint32(b[:])), syscall.Errno(binary.NativeEndian.Uint32(b[4:]))
		return r, nil
	}
}

var errGone = errors.New("the stub ended")

// release lets the copy become the program.
func (p *Process) release() (pid int, err error) {
	defer p.socket.Close()
	// If it was killed meanwhile, it cannot be told; who waits for it will see.
	_ = unix.Sendto(int(p.socket.Fd()), []byte{1}, unix.MSG_NOSIGNAL, nil)
	r, err := readReport(p.socket)
	if err != nil {
		return p.pid, nil // the socket closed on exec
	}
	wait(p.pid)
	return 0, r.errno
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

// stub and stubStart are in assembly.
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
	var h elf.Header64
	var segments [2]elf.Prog64
	at := uint64(binary.Size(h) + binary.Size(segments))
	end := at + uint64(len(code))
	h = elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Entry: stubBase + at, Phoff: uint64(binary.Size(h)),
		Ehsize: uint16(binary.Size(h)), Phentsize: uint16(binary.Size(segments[0])), Phnum: uint16(len(segments)),
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	segments = [2]elf.Prog64{
		{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: stubBase, Paddr: stubBase, Filesz: end, Memsz: end, Align: 64 << 10},
		{Type: uint32(elf.PT_GNU_STACK), Flags: uint32(elf.PF_R | elf.PF_W), Align: 16}, // a stack that cannot be executed
	}
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, h)
	_ = binary.Write(&b, binary.LittleEndian, segments)
	b.Write(code)
	return b.Bytes()
}
