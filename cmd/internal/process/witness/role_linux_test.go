//go:build linux && (amd64 || arm64)

package witness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/program/launch"
	"github.com/foliomem/folio/internal/system/spawn"
)

// play is what the programs of a tree do.
func play(role string, args []string) int {
	if err := roles[role](args); err != nil {
		var code exitCode
		if errors.As(err, &code) {
			return int(code)
		}
		fmt.Fprintln(os.Stderr, role+":", err)
		return 99
	}
	return 0
}

type exitCode int

func (c exitCode) Error() string { return "exit " + strconv.Itoa(int(c)) }

var roles map[string]func(args []string) error

func init() {
	roles = map[string]func(args []string) error{
		"exit":      func(args []string) error { n, _ := strconv.Atoi(args[0]); return exitCode(n) },
		"heap":      playHeap,
		"thread":    func(args []string) error { return onThread(func() error { return become(args...) }) },
		"become":    func(args []string) error { return become(args...) },
		"fails":     playFails,
		"memfd":     playMemfd,
		"at":        playAt,
		"signaled":  playSignaled,
		"traced":    playTraced,
		"nested":    playNested,
		"denied":    playDenied,
		"supervise": playSupervise,
		"busy":      playBusy,
		"daemon":    playDaemon,
		"status":    playStatus,
	}
}

// playHeap says whether the heap asks for huge pages, and who traces this process.
func playHeap([]string) error {
	hold := make([]byte, 16<<20)
	for i := 0; i < len(hold); i += 4096 {
		hold[i] = 1
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	status, _ := os.ReadFile("/proc/self/status")
	_, tracer, _ := strings.Cut(string(status), "TracerPid:\t")
	tracer, _, _ = strings.Cut(tracer, "\n")
	fmt.Printf("advised %v tracer %s\n", strings.Contains(string(smaps), " hg"), tracer)
	runtime.KeepAlive(hold)
	return err
}

// onThread calls f on a thread that is not the first one.
func onThread(f func() error) error {
	err := make(chan error)
	runtime.LockOSThread() // in an init function's goroutine, this is the first thread
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			err <- errors.New("this is the first thread")
			return
		}
		err <- f()
	}()
	return <-err
}

func become(argv ...string) error { return syscall.Exec(argv[0], argv, os.Environ()) }

// playFails executes what cannot be, a Go program with too long an argument among it.
func playFails(args []string) error {
	text := args[0]
	self := os.Args[0]
	for _, c := range []struct {
		argv []string
		want error
	}{
		{[]string{"/nosuch/program"}, unix.ENOENT},
		{[]string{self + "/below"}, unix.ENOTDIR},
		{[]string{"/"}, unix.EACCES},
		{[]string{text}, unix.ENOEXEC},
		{[]string{self, strings.Repeat("x", 200<<10)}, unix.E2BIG},
	} {
		if err := become(c.argv...); !errors.Is(err, c.want) {
			return fmt.Errorf("exec %s: %v, want %v", c.argv[0], err, c.want)
		}
	}
	// Before Linux 5.19 the tracer looks after a while.
	for launch.StatusField("/proc/self/status", "TracerPid") != "0" {
		time.Sleep(time.Millisecond)
	}
	return playHeap(nil)
}

// playMemfd becomes a copy of itself that is in memory only.
func playMemfd(args []string) error {
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	fd, err := unix.MemfdCreate("copy", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	if _, err := os.NewFile(uintptr(fd), "copy").Write(data); err != nil {
		return err
	}
	if len(args) == 0 {
		return become("/proc/self/fd/"+strconv.Itoa(fd), "role:heap")
	}
	return execveat(fd, "", unix.AT_EMPTY_PATH, "copy", "role:heap")
}

// playAt executes a name relative to a descriptor, and relative to the working directory.
func playAt(args []string) error {
	dir, err := unix.Open(args[0], unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return execveat(dir, args[1], 0, args[1:]...)
}

func execveat(dir int, path string, flags int, argv ...string) error {
	p, _ := syscall.BytePtrFromString(path)
	a, _ := syscall.SlicePtrFromStrings(argv)
	env, _ := syscall.SlicePtrFromStrings(os.Environ())
	_, _, e := unix.RawSyscall6(unix.SYS_EXECVEAT, uintptr(dir), uintptr(unsafe.Pointer(p)),
		uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&env[0])), uintptr(flags), 0)
	return e
}

// playSignaled gets signals until it has ended.
func playSignaled([]string) error {
	c := make(chan os.Signal, 1)
	signal.Notify(c, unix.SIGUSR1)
	return exitCode(5)
}

// playTraced starts a program that this process traces.
func playTraced(args []string) error {
	runtime.LockOSThread()
	pid, err := syscall.ForkExec(args[0], args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Ptrace: true}})
	if err != nil {
		return err
	}
	var ws unix.WaitStatus
	for {
		if _, err := unix.Wait4(pid, &ws, unix.WALL, nil); err != nil {
			return err
		}
		if !ws.Stopped() {
			return exitCode(ws.ExitStatus())
		}
		s := ws.StopSignal()
		if s == unix.SIGTRAP {
			s = 0
		}
		if err := unix.PtraceCont(pid, int(s)); err != nil {
			return err
		}
	}
}

// playNested tries to see the tree of another program.
func playNested(args []string) error {
	_, err := Start(spawn.Program{Path: args[0], Argv: args, Env: os.Environ(), Files: [3]*os.File{os.Stdin, os.Stdout, os.Stderr}},
		Options{OnExec: func(*Exec) AtExec { return nil }})
	fmt.Println(err)
	return nil
}

// playDenied has seccomp(2) denied: errno args...
func playDenied(args []string) error {
	errno, _ := strconv.Atoi(args[0])
	const deny = 0x00050000
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, Jf: 0, K: unix.SYS_SECCOMP},
		{Code: unix.BPF_RET | unix.BPF_K, K: returnAllow},
		{Code: unix.BPF_RET | unix.BPF_K, K: deny | uint32(errno)},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	const allThreads = 1 // SECCOMP_FILTER_FLAG_TSYNC
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_MODE_FILTER-1, allThreads, uintptr(unsafe.Pointer(&prog))); e != 0 {
		return e
	}
	return playNested(args[1:])
}

// playSupervise sees a tree that goes on without it, and changes every Go program.
func playSupervise(args []string) error {
	var mu sync.Mutex
	onExit := func(*Exit) {}
	if os.Getenv("NO_EXITS") != "" {
		onExit = nil
	}
	tree, err := Start(spawn.Program{Path: args[0], Argv: args, Env: os.Environ(), Files: [3]*os.File{os.Stdin, os.Stdout, os.Stderr}, Stays: true},
		Options{OnExec: func(e *Exec) AtExec {
			heap, err := e.Heap()
			if err != nil {
				return nil
			}
			return func(pid int, err error) {
				if err == nil {
					err = heap.Apply(pid)
				}
				if err != nil && !strings.Contains(err.Error(), "it ended before it ran") {
					mu.Lock()
					defer mu.Unlock()
					fmt.Println("not changed:", err)
				}
			}
		}, OnExit: onExit})
	if err != nil {
		return err
	}
	fmt.Println("guard", tree.Guard(), "program", tree.PID())
	ws, _, err := tree.Wait()
	tree.Close()
	if err != nil || ws != 0 {
		return fmt.Errorf("%v, %v", err, ws)
	}
	return nil
}

// playBusy starts many programs.
func playBusy(args []string) error {
	rounds, _ := strconv.Atoi(args[0])
	errs := make(chan error)
	for range 2 {
		go func() {
			var all error
			for range rounds {
				out, err := exec.Command(os.Args[0], "role:heap").CombinedOutput()
				if err != nil {
					err = fmt.Errorf("%w: %s", err, out)
				}
				all = errors.Join(all, err, exec.Command("/bin/true").Run())
			}
			errs <- all
		}()
	}
	err := errors.Join(<-errs, <-errs)
	if err == nil {
		fmt.Println("all done")
	}
	return err
}

// playDaemon leaves a process behind that starts programs once there is a file.
func playDaemon(args []string) error {
	if len(args) > 1 {
		for {
			if _, err := os.Stat(args[0]); err == nil {
				return playBusy([]string{"2"})
			}
			time.Sleep(time.Millisecond)
		}
	}
	cmd := exec.Command(os.Args[0], "role:daemon", args[0], "below")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Start()
}

func playStatus([]string) error {
	data, err := os.ReadFile("/proc/self/status")
	os.Stdout.Write(data)
	return err
}
