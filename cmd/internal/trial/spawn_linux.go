package trial

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/cgroup"
	"github.com/foliomem/folio/internal/system/spawn"
)

// errNoExec is what the kernel says of a file that is not a program.
var errNoExec error = unix.ENOEXEC

// becomeReaper makes this process the parent of every orphan below it, so that
// none escapes: neither from the accounts nor from being ended.
var becomeReaper = sync.OnceValue(func() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of orphans (PR_SET_CHILD_SUBREAPER): %w", err)
	}
	return nil
})

// forkOnly starts programs as where the stub of package spawn does not work.
var forkOnly bool

// unlistened has tests do without a listener.
var unlistened bool

// prepare makes the process that becomes the program. The tree is nil where what the program
// starts is not seen.
func prepare(argv, env []string, dir string, thp THP, files []*os.File, tree *execTree, change heapChange, group *cgroup.Group) (*spawn.Process, *execTree, error) {
	path, err := LookPath(argv[0])
	if err != nil {
		return nil, nil, err
	}
	if dir != "" {
		if _, err := os.Stat(dir); err != nil {
			return nil, nil, fmt.Errorf("working directory: %w", err)
		}
	}
	p := &spawn.Program{Path: path, Argv: argv, Env: env, Dir: dir, Files: [3]*os.File(files), NoTHP: thp == THPOff}
	if group != nil {
		p.Cgroup = group
	}
	if tree != nil {
		proc, err := tree.prepare(p)
		switch {
		case err == nil || !unseenTree(err):
			return proc, tree, err
		case change.refused != nil:
			return nil, nil, change.refused
		}
	}
	p.AtExec = change.atExec
	if forkOnly {
		return p.PrepareFork(), nil, nil
	}
	proc, err := p.Prepare()
	return proc, nil, err
}

// begin lets the process become the program.
func begin(p *spawn.Process, command string) (pid int, err error) {
	pid, err = p.Start()
	return pid, unstarted(err, command)
}

// unstarted explains why a process did not become the program.
func unstarted(err error, command string) error {
	if errno, ok := err.(syscall.Errno); ok {
		err = NotExecuted(command, errno)
	}
	var trace *spawn.TraceError
	if errors.As(err, &trace) {
		err = fmt.Errorf("--thp heap: %s: %w", command, untraced(err))
	}
	return err
}

// start makes a process that is not measured.
func start(argv, env []string, dir string, files []*os.File) (pid int, err error) {
	p, _, err := prepare(argv, env, dir, THPSystem, files, nil, heapChange{}, nil)
	if err != nil {
		return 0, err
	}
	return begin(p, argv[0])
}

// launch starts the program, with all that observes it in place.
func (r *running) launch(env []string, thp THP, tree *execTree, change heapChange) (err error) {
	// A load generator's orphans would be taken for the server's.
	orphans := r.p.Server == nil
	waited := false
	r.sampler, err = newSampler(r.p.FS, r.p.MaxMemory, orphans, r.family.foreign, func() (pid int, err error) {
		proc, tree, err := prepare(r.p.Command, env, r.p.Dir, thp, r.files.pass, tree, change, r.group)
		if err != nil {
			return 0, err
		}
		if r.req.Profile > 0 {
			r.profile, r.unsampled = newProfiler(r.req.Profile, proc.Thread())
		}
		_, waited = proc.PID()
		r.usedBefore = proc.Used()
		return r.begin(proc, tree)
	})
	r.files.closePassed() // the outputs see the end of the stream now if nobody has it
	if err != nil {
		if r.profile != nil {
			r.profile.abort()
		}
		return err
	}
	r.pid = r.sampler.root
	if r.tree != nil {
		r.family.foreign = append(r.family.foreign, r.tree.guard())
		r.sampler.tree.Exclude(r.tree.guard())
	}
	if !waited {
		r.sampler.floor = ownHWM(r.p.FS)
	}
	return nil
}

// begin lets the program begin, and time with it.
func (r *running) begin(proc *spawn.Process, tree *execTree) (pid int, err error) {
	begun := time.Now()
	r.startAt(begun)
	var held time.Duration
	if tree != nil {
		pid, held, err = tree.start()
		err = unstarted(err, r.p.Command[0])
		if err == nil {
			r.tree = tree
		}
	} else {
		pid, err = begin(proc, r.p.Command[0])
		held = proc.Held()
	}
	// While it was stopped at its exec, the program took no time.
	r.startAt(begun.Add(held))
	return pid, err
}

// startAt sets when the program began.
func (r *running) startAt(t time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started = t
	if r.series != nil {
		r.series.start, r.series.clock = t, clock()-uint64(time.Since(t))
	}
}

// begun is when the program began.
func (r *running) begun() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.started
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
			const trapped = 4 // CLD_TRAPPED: this process traces it, at an exec
			switch {
			case err != nil:
				return true // no such child: it has ended, too
			case info.Signo == 0 || info.Code != trapped:
				return info.Signo != 0
			case flags&unix.WNOHANG != 0:
				return false
			}
			time.Sleep(100 * time.Microsecond) // until the trace has ended
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
