//go:build linux && (amd64 || arm64)

package launch

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// playBefore sets up what a parent may leave to a program and becomes the next
// command: key=value... -- path args...
func playBefore(args []string) int {
	for i, a := range args {
		if a == "--" {
			env := os.Environ()
			if e, ok := os.LookupEnv("BEFORE_ENV"); ok {
				env = append(strings.Split(e, "|"), "STATE="+os.Getenv("STATE"))
			}
			next := args[i+1:]
			// Straight to the kernel: no limit or handler is put back.
			argv, _ := syscall.SlicePtrFromStrings(append([]string{next[0]}, next[1:]...))
			envv, _ := syscall.SlicePtrFromStrings(env)
			path, _ := syscall.BytePtrFromString(next[0])
			if final != nil {
				final()
			}
			_, _, e := unix.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(path)),
				uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&envv[0])))
			fmt.Fprintln(os.Stderr, "before: exec:", e)
			return 97
		}
		key, value, _ := strings.Cut(a, "=")
		set, ok := before[key]
		if !ok {
			fmt.Fprintln(os.Stderr, "before: no", key)
			return 97
		}
		if err := set(value); err != nil {
			fmt.Fprintf(os.Stderr, "before: %s: %v\n", a, err)
			return 97
		}
	}
	return 97
}

// final is what would disturb the Go runtime, done at the very end.
var final func()

func finally(f func()) {
	last := final
	final = func() {
		if last != nil {
			last()
		}
		f()
	}
}

func numbers(s string) (out []int) {
	for f := range strings.SplitSeq(s, ",") {
		n, _ := strconv.Atoi(f)
		out = append(out, n)
	}
	return out
}

func limit(resource int, value string) error {
	n := numbers(value)
	l := unix.Rlimit{Cur: uint64(n[0]), Max: uint64(n[len(n)-1])}
	finally(func() {
		_, _, _ = unix.RawSyscall6(unix.SYS_PRLIMIT64, 0, uintptr(resource), uintptr(unsafe.Pointer(&l)), 0, 0, 0)
	})
	return nil
}

func prctl(option int) func(string) error {
	return func(value string) error {
		n := numbers(value)[0]
		return unix.Prctl(option, uintptr(n), 0, 0, 0)
	}
}

var before = map[string]func(string) error{
	"ignore": func(v string) error {
		finally(func() {
			for _, s := range numbers(v) {
				_ = rtSigaction(s, &sigaction{handler: 1}, nil)
			}
		})
		return nil
	},
	"block": func(v string) error {
		mask := uint64(0)
		for _, s := range numbers(v) {
			mask |= bit(s)
		}
		finally(func() { _, _ = setMask(&mask) })
		return nil
	},
	// raise leaves a signal pending; it must be blocked.
	"raise": func(v string) error {
		finally(func() { _ = unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.Signal(numbers(v)[0])) })
		return nil
	},
	"zombie": func(string) error {
		cmd := exec.Command("/bin/true")
		if err := cmd.Start(); err != nil {
			return err
		}
		return unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	},
	"child": func(v string) error {
		runtime.LockOSThread() // this thread becomes the next command, and with its end ends the child
		cmd := exec.Command("/bin/sleep", v)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		return cmd.Start()
	},
	"close": func(v string) error {
		finally(func() {
			for _, fd := range numbers(v) {
				_ = unix.Close(fd)
			}
		})
		return nil
	},
	"open": func(v string) error {
		for _, fd := range numbers(v) {
			f, err := unix.Open("/dev/zero", unix.O_RDONLY|unix.O_NONBLOCK, 0)
			if err != nil {
				return err
			}
			if err := unix.Dup3(f, fd, 0); err != nil {
				return err
			}
			unix.Close(f)
		}
		return nil
	},
	"nofile":     func(v string) error { return limit(unix.RLIMIT_NOFILE, v) },
	"core":       func(v string) error { return limit(unix.RLIMIT_CORE, v) },
	"stack":      func(v string) error { return limit(unix.RLIMIT_STACK, v) },
	"nproc":      func(v string) error { return limit(unix.RLIMIT_NPROC, v) },
	"memlock":    func(v string) error { return limit(unix.RLIMIT_MEMLOCK, v) },
	"as":         func(v string) error { return limit(unix.RLIMIT_AS, v) },
	"pdeathsig":  prctl(unix.PR_SET_PDEATHSIG),
	"subreaper":  prctl(unix.PR_SET_CHILD_SUBREAPER),
	"thp":        prctl(unix.PR_SET_THP_DISABLE),
	"nnp":        prctl(unix.PR_SET_NO_NEW_PRIVS),
	"securebits": prctl(unix.PR_SET_SECUREBITS),
	"timerslack": prctl(unix.PR_SET_TIMERSLACK),
	"dumpable":   prctl(unix.PR_SET_DUMPABLE),
	"umask":      func(v string) error { unix.Umask(numbers(v)[0]); return nil },
	"nice":       func(v string) error { return unix.Setpriority(unix.PRIO_PROCESS, 0, numbers(v)[0]) },
	"cd":         os.Chdir,
	"oom":        func(v string) error { return os.WriteFile("/proc/self/oom_score_adj", []byte(v), 0) },
	"coredump":   func(v string) error { return os.WriteFile("/proc/self/coredump_filter", []byte(v), 0) },
	"personality": func(v string) error {
		_, _, e := unix.Syscall(unix.SYS_PERSONALITY, uintptr(numbers(v)[0]), 0, 0)
		return number(e)
	},
	"cpu": func(v string) error {
		var set unix.CPUSet
		set.Set(numbers(v)[0])
		return unix.SchedSetaffinity(0, &set)
	},
	"batch": func(string) error {
		param := int32(0)
		const batch = 3
		_, _, e := unix.Syscall(unix.SYS_SCHED_SETSCHEDULER, 0, batch, uintptr(unsafe.Pointer(&param)))
		return number(e)
	},
	"alarm": func(v string) error {
		_, err := unix.Setitimer(unix.ITIMER_REAL, unix.Itimerval{Value: unix.Timeval{Sec: int64(numbers(v)[0])}})
		return err
	},
	"mlockall": func(string) error { return unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE) },
	// drop leaves root with fewer capabilities than its bounding set.
	"drop": func(string) error {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		if err := unix.Capget(&header, &data[0]); err != nil {
			return err
		}
		const netRaw = 13
		data[0].Permitted &^= 1 << netRaw
		data[0].Effective &^= 1 << netRaw
		data[0].Inheritable &^= 1 << netRaw
		return unix.Capset(&header, &data[0])
	},
	"seccomp": seccomp,
}

func number(e unix.Errno) error {
	if e != 0 {
		return e
	}
	return nil
}

// seccomp denies a system call, by its number, with EPERM; with a second number
// only where that is its first argument.
func seccomp(v string) error {
	const allow, deny = 0x7fff0000, 0x00050000 | uint32(unix.EPERM)
	n := numbers(v)
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, Jf: 0, K: uint32(n[0])},
		{Code: unix.BPF_RET | unix.BPF_K, K: allow},
	}
	if len(n) > 1 {
		filter = append(filter,
			unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16}, // the lower half of the argument
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, Jf: 0, K: uint32(n[1])},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: allow})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: deny})
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, e := unix.Syscall(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)))
	return number(e)
}
