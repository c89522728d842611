//go:build linux && (amd64 || arm64)

package launch

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Parent is a process that stays as the parent of a program, and passes signals on to it.
type Parent struct {
	signals chan os.Signal
	ignored []os.Signal
}

// passed are the signals that are passed on to the program.
var passed = []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2,
	unix.SIGALRM, unix.SIGVTALRM, unix.SIGIO, unix.SIGPWR, unix.SIGCONT, unix.SIGWINCH}

// Stay prepares: the program inherits which signals are ignored.
func Stay(inherited Inherited) *Parent {
	s := &Parent{signals: make(chan os.Signal, 64)}
	for n := syscall.Signal(1); n < 65; n++ {
		// This process has to hear of the end of its children.
		if inherited.Ignored>>(n-1)&1 != 0 && n != unix.SIGCHLD {
			s.ignored = append(s.ignored, n)
		}
	}
	if len(s.ignored) > 0 { // else it would be all
		signal.Ignore(s.ignored...)
	}
	for _, sig := range append(passed, unix.SIGCHLD) {
		if !signal.Ignored(sig) {
			signal.Notify(s.signals, sig)
		}
	}
	return s
}

// End undoes it.
func (s *Parent) End() {
	signal.Stop(s.signals)
	if len(s.ignored) > 0 {
		signal.Reset(s.ignored...)
	}
}

// Pass passes signals on until the program has ended. It runs on the first thread of the
// process, whose children orphans become.
func (s *Parent) Pass(pid int, ended <-chan struct{}) {
	for {
		select {
		case <-ended:
			return
		case sig := <-s.signals:
			switch n := sig.(syscall.Signal); {
			case n == unix.SIGCHLD:
				reapOrphans()
			case !FromTerminal(n):
				_ = unix.Kill(pid, n)
			}
		}
	}
}

// reapOrphans waits for processes that became children of process 1 of a container, or of
// a reaper, and for no others: those are children of other threads.
func reapOrphans() {
	if unix.Gettid() != os.Getpid() {
		return
	}
	for {
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG|unix.WNOTHREAD, nil); pid <= 0 && err != unix.EINTR {
			return
		}
	}
}
