package trial

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// errNoExec is what the kernel says of a file that is no program.
var errNoExec error = unix.ENOEXEC

// A spawner starts processes from one thread that lives as long as folio does.
// Two things hang on a thread: PR_SET_PDEATHSIG is sent when the thread that
// made the child ends, so a thread that the Go scheduler may retire would kill
// a healthy program; and the child inherits PR_SET_THP_DISABLE while no other
// child must.
type spawner struct {
	once sync.Once
	jobs chan func()
}

var spawn spawner

func (s *spawner) do(f func()) {
	s.once.Do(func() {
		s.jobs = make(chan func())
		go func() {
			runtime.LockOSThread() // never unlocked
			for job := range s.jobs {
				job()
			}
		}()
	})
	done := make(chan struct{})
	s.jobs <- func() { defer close(done); f() }
	<-done
}

// becomeReaper makes this process the parent of every orphan below it, so that
// none escapes: neither from the accounts nor from being ended.
var becomeReaper = sync.OnceValue(func() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of orphans (PR_SET_CHILD_SUBREAPER): %w", err)
	}
	return nil
})

// start makes a process. If folio dies, even by SIGKILL, the kernel kills it.
func start(argv, env []string, dir string, thp THP, files ...*os.File) (pid int, err error) {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		if e, ok := err.(*exec.Error); ok {
			err = e.Err
		}
		return 0, &StartError{Command: argv[0], Err: err}
	}
	if dir != "" {
		if _, err := os.Stat(dir); err != nil {
			return 0, fmt.Errorf("working directory: %w", err)
		}
	}
	fds := make([]uintptr, len(files))
	for i, f := range files {
		fds[i] = f.Fd()
	}
	attr := &syscall.ProcAttr{
		Dir: dir, Env: env, Files: fds,
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	}
	spawn.do(func() {
		if thp == THPOff {
			var restore func()
			if restore, err = disableTHP(); err != nil {
				return
			}
			defer restore()
		}
		pid, err = syscall.ForkExec(path, argv, attr)
		if err == unix.ENOENT {
			err = errNoLoader // LookPath found the file
		}
		if err != nil {
			err = &StartError{Command: argv[0], Err: err}
		}
	})
	runtime.KeepAlive(files)
	return pid, err
}

// disableTHP turns huge pages off for this process until restore is called. A
// child gets the flag from the memory of the process that made it, at exec, and
// keeps it; there is no way to set it for another process. For the moment that
// a fork takes, folio's own memory gets no huge pages either, which is harmless.
//
// Needs Linux 3.15.
func disableTHP() (restore func(), err error) {
	was, err := unix.PrctlRetInt(unix.PR_GET_THP_DISABLE, 0, 0, 0, 0)
	if err == nil && was == 0 {
		err = unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("turn huge pages off for the program (PR_SET_THP_DISABLE, Linux 3.15): %w", err)
	}
	return func() {
		if was == 0 {
			_ = unix.Prctl(unix.PR_SET_THP_DISABLE, 0, 0, 0, 0)
		}
	}, nil
}

// awaitExit returns when a child has ended, and leaves it as a zombie: its pid
// cannot be taken by another process before reap. It waits on a pidfd in the
// runtime's poller, which wakes up faster than a thread that the Go scheduler
// has given up on, and costs none. Needs Linux 5.3; else a thread waits.
func awaitExit(pid int) {
	if fd, err := unix.PidfdOpen(pid, 0); err == nil {
		_ = unix.SetNonblock(fd, true)
		f := os.NewFile(uintptr(fd), "pidfd")
		defer f.Close()
		conn, err := f.SyscallConn()
		if err == nil && conn.Read(func(uintptr) bool { return hasExited(pid, unix.WNOHANG) }) == nil {
			return
		}
	}
	hasExited(pid, 0)
}

// hasExited says whether a child has ended. Without WNOHANG it waits until then.
func hasExited(pid, flags int) bool {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|flags, nil)
		if err != unix.EINTR {
			return err != nil || info.Signo != 0 // no such child: it has ended, too
		}
	}
}

// reap collects a child that has ended: how, and what it and the descendants
// that it waited for used.
func reap(pid int) (ws unix.WaitStatus, ru unix.Rusage, err error) {
	for {
		_, err = unix.Wait4(pid, &ws, 0, &ru)
		if err != unix.EINTR {
			return ws, ru, err
		}
	}
}
