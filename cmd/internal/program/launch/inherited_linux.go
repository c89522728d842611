//go:build linux && (amd64 || arm64)

package launch

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/program/codepatch"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// signals is beyond the last one.
const signals = 65

// Inherited is what this process was started with and the Go runtime has
// changed since: it installs a handler for every signal, also for those that
// were ignored, and unblocks some. A program that is executed would not find
// them as its parent has set them.
type Inherited struct {
	Ignored uint64 // signals, 1 in bit 0
	Blocked uint64
}

// ReadInherited finds out by what the runtime remembers, in two variables
// (runtime.fwdSig and runtime.initSigmask) that package runtime shows to
// nobody: their places are taken from its code. What is read must agree with
// what the kernel says, as far as both know. It is to be called before the
// process changes signals itself.
func ReadInherited() (in Inherited, err error) {
	now, err := currentSignals()
	if err != nil {
		return in, err
	}
	f, err := symbol.Open("/proc/self/exe")
	if err != nil {
		return now, err
	}
	defer f.Close()
	bias, err := ownBias(f)
	if err != nil {
		return now, err
	}
	shared, err := codepatch.Shared(f, [2]string{"runtime.sigfwdgo", "runtime.initsig"}, [2]string{"runtime.newm", "runtime.schedinit"})
	if err != nil {
		return now, err
	}
	in, ok := now, 0
	for _, at := range shared[0] {
		if ignored, fits := ignoredAt(f, at, bias, now.Ignored); fits {
			in.Ignored = now.Ignored | ignored
			ok++
		}
	}
	if ok != 1 {
		return now, errors.New("how signals were handled at the start is not known: runtime.fwdSig was not found")
	}
	ok = 0
	for _, at := range shared[1] {
		if w := own(f, at, bias, 1); w != nil && (w[0]^now.Blocked)&^unblocked == 0 {
			in.Blocked = w[0]
			ok++
		}
	}
	if ok != 1 {
		in.Blocked = now.Blocked
		return in, errors.New("which signals were blocked at the start is not known: runtime.initSigmask was not found")
	}
	return in, nil
}

func bit(signal int) uint64 { return 1 << (signal - 1) }

// unblocked are the signals that the runtime may unblock in its threads.
var unblocked = func() (mask uint64) {
	for _, s := range []unix.Signal{unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV,
		unix.SIGSTKFLT, unix.SIGCHLD,
		unix.SIGPROF, unix.SIGURG, unix.SIGSYS, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP, unix.SIGINT, 32, 33, 34} {
		mask |= bit(int(s))
	}
	return mask
}()

// ignoredAt reads an array of handlers; at the start of a process each is the
// default (0) or to ignore (1).
func ignoredAt(f *symbol.File, address, bias, now uint64) (ignored uint64, ok bool) {
	w := own(f, address, bias, signals)
	if w == nil || w[0] != 0 {
		return 0, false
	}
	for s, handler := range w[1:] {
		if handler > 1 {
			return 0, false
		}
		ignored |= handler << s
	}
	// Of these two the runtime leaves it that they are ignored.
	kept := bit(int(unix.SIGHUP)) | bit(int(unix.SIGINT))
	return ignored, (ignored^now)&kept == 0
}

// own reads n words of this process's variables; nil if that is not where they
// are.
func own(f *symbol.File, address, bias uint64, n int) []uint64 {
	size := uint64(8 * n)
	if address%8 != 0 || f.Flags(address)&elf.PF_W == 0 || f.Flags(address+size-1)&elf.PF_W == 0 {
		return nil
	}
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil
	}
	defer mem.Close()
	b := make([]byte, size)
	if _, err := mem.ReadAt(b, int64(address+bias)); err != nil {
		return nil
	}
	w := make([]uint64, n)
	for i := range w {
		w[i] = binary.NativeEndian.Uint64(b[8*i:])
	}
	return w
}

// ownBias returns how far this program is from where it was linked.
func ownBias(f *symbol.File) (uint64, error) {
	b, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		return 0, err
	}
	for ; len(b) >= 16; b = b[16:] {
		if binary.NativeEndian.Uint64(b) == atEntry {
			return binary.NativeEndian.Uint64(b[8:]) - f.Entry(), nil
		}
	}
	return 0, errors.New("/proc/self/auxv: no AT_ENTRY")
}

// currentSignals is what the kernel says of the calling thread.
func currentSignals() (in Inherited, err error) {
	for s := 1; s < signals; s++ {
		var action sigaction
		if err := rtSigaction(s, nil, &action); err == nil && action.handler == 1 {
			in.Ignored |= bit(s)
		}
	}
	in.Blocked, err = setMask(nil)
	return in, err
}

// sigaction is the kernel's.
type sigaction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

// EndBy ends this process by a signal, without what the Go runtime does at one. It returns
// if the signal does not end the process, as with process 1 of a container.
func EndBy(s unix.Signal) {
	_ = rtSigaction(int(s), &sigaction{}, nil)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	mask := ^bit(int(s))
	_, _ = setMask(&mask)
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), s) // it is delivered before the call returns
}

func rtSigaction(signal int, set, old *sigaction) error {
	_, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(signal), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

// setMask blocks these signals and no others in the calling thread, if mask is
// not nil, and returns those that were blocked before.
func setMask(mask *uint64) (old uint64, err error) {
	const setmask = 2 // SIG_SETMASK
	_, _, e := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, setmask, uintptr(unsafe.Pointer(mask)), uintptr(unsafe.Pointer(&old)), 8, 0, 0)
	runtime.KeepAlive(mask)
	if e != 0 {
		return 0, e
	}
	return old, nil
}
