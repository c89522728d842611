package charge

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/test/testenv"
)

const mib = 1 << 20

func TestMain(m *testing.M) {
	testenv.PlayRole(map[string]func() error{
		"heap": role(heap), "huge": role(huge), "ring": role(ring), "file": role(cached), "tmpfs": role(tmpfs), "memfd": role(memfd), "maps": role(maps), "fork": role(fork),
	})
	os.Exit(m.Run())
}

// fileEnv names the file of a role.
const fileEnv = "CHARGE_TEST_FILE"

// role is a program that does something once it is told to, says so, and waits.
func role(do func() (keep any, err error)) func() error {
	return func() error {
		in := bufio.NewReader(os.Stdin)
		fmt.Println("started")
		if _, err := in.ReadString('\n'); err != nil {
			return err
		}
		keep, err := do()
		if err != nil {
			return err
		}
		fmt.Println("done")
		_, _ = in.ReadString('\n')
		runtime.KeepAlive(keep)
		return nil
	}
}

func touch(b []byte) {
	for i := 0; i < len(b); i += os.Getpagesize() {
		b[i] = 1
	}
}

func mmap(bytes, flags int) ([]byte, error) {
	return unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, flags|unix.MAP_ANONYMOUS)
}

func heap() (any, error) {
	all := make([][]byte, 48)
	for i := range all {
		all[i] = make([]byte, mib)
		touch(all[i])
	}
	return all, nil
}

// huge releases half of each of 24 huge pages.
func huge() (any, error) {
	const page = 2 * mib
	b, err := mmap(25*page, unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	skip := int(-addressOf(b) & (page - 1))
	b = b[skip : skip+24*page]
	if err := unix.Madvise(b, unix.MADV_HUGEPAGE); err != nil {
		return nil, err
	}
	touch(b)
	for i := 0; i < len(b); i += page {
		if err := unix.Madvise(b[i:i+page/2], unix.MADV_DONTNEED); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// ring maps the ring of a packet socket: 16 MiB.
func ring() (any, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	if err != nil {
		return nil, err
	}
	const block, blocks, frame = mib, 16, 2048
	if err := unix.SetsockoptTpacketReq(fd, unix.SOL_PACKET, unix.PACKET_RX_RING,
		&unix.TpacketReq{Block_size: block, Block_nr: blocks, Frame_size: frame, Frame_nr: blocks * block / frame}); err != nil {
		return nil, err
	}
	b, err := unix.Mmap(fd, 0, block*blocks, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	return b, err
}

// cached writes a file of 32 MiB.
func cached() (any, error) { return nil, os.WriteFile(os.Getenv(fileEnv), make([]byte, 32*mib), 0o600) }

// tmpfs writes a file that nobody maps.
func tmpfs() (any, error) {
	return nil, os.WriteFile(os.Getenv(fileEnv), make([]byte, 24*mib), 0o600)
}

// memfd has 16 MiB of shared memory open, and maps 4 MiB of it.
func memfd() (any, error) {
	fd, err := unix.MemfdCreate("charge-test", 0)
	if err != nil {
		return nil, err
	}
	if _, err := unix.Write(fd, make([]byte, 16*mib)); err != nil {
		return nil, err
	}
	b, err := unix.Mmap(fd, 0, 4*mib, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	return b, err
}

// maps maps a file of shared memory.
func maps() (any, error) {
	f, err := os.Open(os.Getenv(fileEnv))
	if err != nil {
		return nil, err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, 24*mib, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	return b, err
}

// forks is how many children fork has.
const forks = 3

// fork has 32 MiB that it shares with its children, which do nothing.
func fork() (any, error) {
	b, err := mmap(32*mib, unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	touch(b)
	for range forks {
		pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			return nil, errno
		}
		for pid == 0 { // the runtime is not to be used there
			_, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0)
			for fd := range uintptr(3) {
				_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
			}
			_, _, _ = unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
		}
	}
	return b, nil
}

func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
