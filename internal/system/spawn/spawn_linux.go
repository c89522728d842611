package spawn

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Program is what to start.
type Program struct {
	Path  string // its file, as for execve
	Argv  []string
	Env   []string
	Dir   string      // working directory; "" for that of this process
	Files [3]*os.File // standard input, output and error
	NoTHP bool        // no huge pages for the program and its descendants
	Stays bool        // it goes on if this process dies

	// AtExec, if set, is called when the program is in memory, and stopped before its
	// first instruction by the calling thread, which traces it (ptrace). Nothing is
	// attached to it afterwards. An error ends the process and is that of Start. A
	// program that gains privileges at its exec does not get them.
	AtExec func(pid int) error
	// Cgroup, if set, is the cgroup that the program is in from its exec on.
	Cgroup Cgroup
	// Filter, if set, is a seccomp filter for the program and its descendants. It needs
	// the stub: without, the error of Prepare is ErrNoStub.
	Filter *Filter
}

// A Filter is a seccomp filter.
type Filter struct {
	Code  []unix.SockFilter // at most 16
	Flags uint32            // SECCOMP_FILTER_FLAG_*
	// NoNewPrivs sets PR_SET_NO_NEW_PRIVS first, which a filter needs without CAP_SYS_ADMIN.
	NoNewPrivs bool
}

const maxFilter = 16

// A FilterError says that the kernel refused the filter.
type FilterError struct{ Errno syscall.Errno }

func (e *FilterError) Error() string { return "seccomp: " + e.Errno.Error() }

func (e *FilterError) Unwrap() error { return e.Errno }

// ErrNoStub says that programs cannot be started by the stub here.
var ErrNoStub = errors.New("a program in memory cannot be executed (memfd_create, vm.memfd_noexec)")

// A Cgroup takes a program in before it begins, in one of two ways.
type Cgroup interface {
	// Join takes in a process that waits to become the program.
	Join(pid int) error
	// Enter takes in a thread of this process until leave is called, for what it forks
	// meanwhile, as far as that can be done with a thread; Dir opens what a process has to be
	// cloned into for the rest, nil for nothing.
	Enter(thread int) (leave func(), err error)
	Dir() (*os.File, error)
}

// A Process is about to become a program. If this process dies, even by SIGKILL,
// the kernel kills it, unless the program stays.
type Process struct {
	program  *Program
	pid      int      // 0 if it is forked only by Start
	socket   *os.File // to the waiting copy of the stub; nil if there is none
	used     unix.Rusage
	held     time.Duration
	listener *os.File // of the filter; nil if it has none
}

// stubOff is set once the stub turned out not to work on this system.
var stubOff atomic.Bool

// Prepare makes the process that becomes the program. Where the stub does not
// work, Start forks instead: see [Process.PID].
func (p *Program) Prepare() (*Process, error) {
	if !stubOff.Load() {
		if proc, err := p.prepareStub(); proc != nil || err != nil {
			return proc, err
		}
	}
	if p.Filter != nil {
		return nil, ErrNoStub
	}
	return p.PrepareFork(), nil
}

// PrepareFork is Prepare without the stub.
func (p *Program) PrepareFork() *Process { return &Process{program: p} }

// PID is the id of the process; ok is false if there is none before Start. Then the
// kernel's account of its memory begins with the memory of this process.
func (p *Process) PID() (pid int, ok bool) { return p.pid, p.pid != 0 }

// Used is what the process used so far, which is in the kernel's accounts of the
// program: a few microseconds and page faults.
func (p *Process) Used() unix.Rusage { return p.used }

// Listener is that of a filter with SECCOMP_FILTER_FLAG_NEW_LISTENER: the only descriptor
// of it, and the caller's to close. It is nil without.
func (p *Process) Listener() *os.File { return p.listener }

// Held is how long the program was stopped at its exec, for AtExec.
func (p *Process) Held() time.Duration { return p.held }

// Thread is the thread whose next exec is the program's, or whose next child's:
// where to open events that begin with an exec. Nothing but programs is forked from
// the thread, and by no other call than Start.
func (p *Process) Thread() int {
	if p.pid != 0 {
		return p.pid
	}
	var tid int
	forker.do(func() { tid = unix.Gettid() })
	return tid
}

// Start lets the program begin and returns its process id. The error is that of
// execve if it is a [syscall.Errno], a *TraceError, or that of AtExec; there is no process then. Start or Abort must
// be called once.
func (p *Process) Start() (pid int, err error) {
	if p.socket != nil {
		return p.release()
	}
	start := p.program.fork
	if p.program.AtExec != nil {
		start = p.forkTraced
	}
	forker.do(func() { pid, err = start() })
	return pid, err
}

// Abort gives the process up, with its listener.
func (p *Process) Abort() {
	if p.listener != nil {
		p.listener.Close()
	}
	if p.socket == nil {
		return
	}
	p.socket.Close() // it ends by that, and if it should be stopped, by SIGKILL
	_ = unix.Kill(p.pid, unix.SIGKILL)
	wait(p.pid)
}

// fork starts the program as a child that shares the memory of this process until
// its exec. It runs on the thread of forker.
func (p *Program) fork() (pid int, err error) {
	if p.NoTHP {
		restore, err := disableTHP()
		if err != nil {
			return 0, err
		}
		defer restore()
	}
	fds := []uintptr{p.Files[0].Fd(), p.Files[1].Fd(), p.Files[2].Fd()}
	sys := &syscall.SysProcAttr{Ptrace: p.AtExec != nil}
	if !p.Stays {
		sys.Pdeathsig = syscall.SIGKILL
	}
	if p.Cgroup != nil {
		leave, err := p.Cgroup.Enter(unix.Gettid())
		if err != nil {
			return 0, err
		}
		defer leave()
		dir, err := p.Cgroup.Dir()
		if err != nil {
			return 0, err
		}
		if dir != nil {
			defer dir.Close()
			sys.UseCgroupFD, sys.CgroupFD = true, int(dir.Fd())
		}
	}
	pid, err = syscall.ForkExec(p.Path, p.Argv, &syscall.ProcAttr{Dir: p.Dir, Env: p.Env, Files: fds, Sys: sys})
	runtime.KeepAlive(p.Files)
	return pid, err
}

// disableTHP turns huge pages off for this process until restore is called. A
// child gets the flag from the memory of the process that made it, at exec, and
// keeps it; there is no way to set it for another process. For the moment that
// a fork takes, our own memory gets no huge pages either, which is harmless.
func disableTHP() (restore func(), err error) {
	was, err := unix.PrctlRetInt(unix.PR_GET_THP_DISABLE, 0, 0, 0, 0)
	if err == nil && was == 0 {
		err = unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0)
	}
	if err != nil {
		return nil, noTHP(err)
	}
	return func() {
		if was == 0 {
			_ = unix.Prctl(unix.PR_SET_THP_DISABLE, 0, 0, 0, 0)
		}
	}, nil
}

func noTHP(err error) error {
	return fmt.Errorf("turn huge pages off for the program (PR_SET_THP_DISABLE, Linux 3.15): %w", err)
}

// A thread forks: one that lives as long as this process does. PR_SET_PDEATHSIG is
// sent when the thread that made the child ends, so a thread that the Go scheduler
// may retire would kill a healthy program.
type thread struct {
	once sync.Once
	jobs chan func()
}

var forker thread

func (t *thread) do(f func()) {
	t.once.Do(func() {
		t.jobs = make(chan func())
		go func() {
			runtime.LockOSThread() // never unlocked
			for job := range t.jobs {
				job()
			}
		}()
	})
	done := make(chan struct{})
	t.jobs <- func() { defer close(done); f() }
	<-done
}

// wait reaps a child of this process.
func wait(pid int) (ws unix.WaitStatus) {
	for {
		if _, err := unix.Wait4(pid, &ws, 0, nil); err != unix.EINTR {
			return ws
		}
	}
}
