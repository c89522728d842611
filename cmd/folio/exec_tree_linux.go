//go:build linux && (amd64 || arm64)

package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/process/witness"
	"github.com/foliomem/folio/cmd/internal/program/launch"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/system/spawn"
)

// tree runs the program, with the heap of every Go program of its tree on huge pages. Where
// that cannot be seen, it becomes the program as without --tree.
func (r *launchRequest) tree(env []string, inherited launch.Inherited) error {
	if err := r.mayHuge(env); err != nil {
		if r.strict {
			return r.strictly(err)
		}
		r.say(r.args[0] + " runs as it is: " + err.Error())
		return r.failed(launch.Exec(r.path, r.args, env, inherited))
	}
	stay := r.stay(inherited)
	t, err := r.prepareTree(env)
	switch {
	case errors.Is(err, witness.ErrNested):
		// Whoever sees the tree may change its programs, or not.
		stay.end()
		return r.patched(env, inherited, false)
	case errors.Is(err, witness.ErrUnsupported) && r.strict:
		return r.strictly(err)
	case errors.Is(err, witness.ErrUnsupported):
		stay.end()
		r.say("--tree: " + err.Error() + "; only " + r.args[0] + " itself is changed")
		return r.patched(env, inherited, true)
	case err != nil:
		return r.failed(err)
	}
	return r.follow(t, stay)
}

// A treeRun is a tree with what was done to it.
type treeRun struct {
	*witness.Tree
	heaps *witness.Heaps
}

func (r *launchRequest) prepareTree(env []string) (t treeRun, err error) {
	t.heaps = &witness.Heaps{}
	var told sync.Map
	t.Tree, err = witness.Prepare(spawn.Program{
		Path: r.path, Argv: r.args, Env: env, Files: [3]*os.File{os.Stdin, os.Stdout, os.Stderr}, Stays: true,
	}, witness.Options{OnExec: func(e *witness.Exec) witness.AtExec {
		if why := e.Program.Privileged; why != "" && t.NoNewPrivs() {
			if _, again := told.LoadOrStore(e.Program, true); !again {
				r.say(fmt.Sprintf("%s runs without its privileges: %s, and an ordinary user sees a tree only without (no_new_privs): start folio as root", e.Path, why))
			}
		}
		return t.heaps.OnExec(e)
	}})
	return t, err
}

// follow stays until the program has ended, and ends as it did. What the program leaves behind
// goes on.
func (r *launchRequest) follow(t treeRun, stay *stay) error {
	err := t.Start()
	if err != nil {
		return r.failed(err)
	}
	ended := make(chan struct{})
	var ws unix.WaitStatus
	go func() {
		defer close(ended)
		ws, _, err = t.Wait()
	}()
	stay.pass(t.PID(), ended)
	if err != nil {
		return err
	}
	if t.Over() {
		t.Close() // with the guard, which would end a moment later
	}
	if r.verbose {
		r.summarize(t.heaps.Counts())
	}
	return ending(ws)
}

// summarize says what became of the programs.
func (r *launchRequest) summarize(counts []witness.Heap) {
	var said []string
	for _, c := range counts {
		text := fmt.Sprintf("%s %d of %d", c.Name, c.Changed, c.Execs)
		switch {
		case c.NotGo:
			text = c.Name + ": not Go"
		case c.Why != "":
			text += " (" + c.Why + ")"
		}
		said = append(said, text)
	}
	r.say("heap on huge pages: " + strings.Join(said, ", "))
}

// ending ends folio as the program has ended: by the same signal, if it was one.
func ending(ws unix.WaitStatus) error {
	if !ws.Signaled() {
		return exitCode(ws.ExitStatus())
	}
	// The core is the program's.
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	launch.EndBy(ws.Signal())
	return exitCode(128 + int(ws.Signal())) // process 1 of a container does not end by a signal
}

// A stay is what a process does that stays as the parent of a program.
type stay struct {
	signals chan os.Signal
	ignored []os.Signal
}

// passed are the signals that are passed on to the program.
var passed = []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2,
	unix.SIGALRM, unix.SIGVTALRM, unix.SIGIO, unix.SIGPWR, unix.SIGCONT, unix.SIGWINCH}

// stay prepares: the program inherits which signals are ignored.
func (r *launchRequest) stay(inherited launch.Inherited) *stay {
	s := &stay{signals: make(chan os.Signal, 64)}
	for n := syscall.Signal(1); n < 65; n++ {
		// This process has to hear of the end of its children.
		if inherited.Ignored>>(n-1)&1 != 0 && n != unix.SIGCHLD {
			s.ignored = append(s.ignored, n)
		}
	}
	if len(s.ignored) > 0 { // else it would be all
		signal.Ignore(s.ignored...)
	}
	notify(s.signals, append(passed, unix.SIGCHLD)...)
	return s
}

// end undoes it.
func (s *stay) end() {
	signal.Stop(s.signals)
	if len(s.ignored) > 0 {
		signal.Reset(s.ignored...)
	}
}

// pass passes signals on until the program has ended. It runs on the first thread of the
// process, whose children orphans become.
func (s *stay) pass(pid int, ended <-chan struct{}) {
	for {
		select {
		case <-ended:
			return
		case sig := <-s.signals:
			switch n := sig.(syscall.Signal); {
			case n == unix.SIGCHLD:
				reapOrphans()
			case !trial.FromTerminal(n):
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
