package build

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/procmem"
)

// RunTold runs a command that is told of the signals that folio gets, in the same
// process group: a terminal tells both. When a signal was to end it, what it started is
// ended too. If folio is killed, the command is.
func RunTold(cmd *exec.Cmd, signals <-chan os.Signal) (told int, err error) {
	// What loses its parent becomes folio's child, so that it is found.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = unix.SIGKILL
	started, done := make(chan error), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the kernel kills the command when this thread ends
		err := cmd.Start()
		started <- err
		if err == nil {
			done <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return 0, err
	}
	for {
		select {
		case err := <-done:
			if told > 0 {
				endDescendants()
			}
			return told, err
		case s := <-signals:
			told++
			tell(cmd.Process, s.(syscall.Signal), told)
		}
	}
}

// tell passes a signal on. One that is to end a command is for all that it started: the
// go command would leave its compilers. An interrupt is for the command to pass on, as
// go run and go test do.
func tell(p *os.Process, s syscall.Signal, times int) {
	if s == unix.SIGINT || s == unix.SIGQUIT {
		_ = p.Signal(s)
		return
	}
	const patient = 2
	if times > patient {
		s = unix.SIGKILL
	}
	for _, pid := range descendants() {
		_ = unix.Kill(pid, s)
	}
}

// descendants returns all processes below this one that still run.
func descendants() (out []int) {
	fs := procmem.New("")
	all, err := fs.Descendants(os.Getpid())
	if err != nil {
		return nil
	}
	for _, pid := range all {
		if st, err := fs.Stat(pid); err == nil && !st.Zombie() {
			out = append(out, pid)
		}
	}
	return out
}

// endDescendants ends what a command left: with TERM, and after a second with KILL.
func endDescendants() {
	const step = 5 * time.Millisecond
	s := unix.SIGTERM
	for waited := time.Duration(0); waited < 2*time.Second; waited += step {
		left := descendants()
		if len(left) == 0 {
			return
		}
		if waited == time.Second {
			s = unix.SIGKILL
		}
		if waited == 0 || waited == time.Second {
			for _, pid := range left {
				_ = unix.Kill(pid, s)
			}
		}
		time.Sleep(step)
	}
}
