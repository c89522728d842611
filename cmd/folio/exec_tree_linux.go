//go:build linux && (amd64 || arm64)

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/process/witness"
	"github.com/foliomem/folio/cmd/internal/program/launch"
	"github.com/foliomem/folio/internal/system/spawn"
)

// tree runs the program, with the heap of every Go program of its tree on huge pages. Where
// that cannot be seen, it becomes the program as without --tree.
func (r *launchRequest) tree(env []string, inherited launch.Inherited) error {
	if err := r.mayHuge(env); err != nil {
		if r.strict {
			return r.strictly(err)
		}
		r.say(r.args[0] + " runs unchanged: " + err.Error())
		return r.failed(launch.Exec(r.path, r.args, env, inherited))
	}
	stay := launch.Stay(inherited)
	t, err := r.prepareTree(env)
	switch {
	case errors.Is(err, witness.ErrNested):
		// Whoever sees the tree may change its programs, or not.
		stay.End()
		return r.patched(env, inherited, !r.wholeTree)
	case errors.Is(err, witness.ErrUnsupported) && r.strict:
		return r.strictly(err)
	case errors.Is(err, witness.ErrUnsupported):
		stay.End()
		r.say("no other program is seen: " + err.Error() + "; only " + r.args[0] + " itself is changed")
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
	var begun sync.Once
	root := 0
	t.Tree, err = witness.Prepare(spawn.Program{
		Path: r.path, Argv: r.args, Env: env, Files: [3]*os.File{os.Stdin, os.Stdout, os.Stderr}, Stays: true,
	}, witness.Options{OnExec: func(e *witness.Exec) witness.AtExec {
		if why := e.Program.Privileged; why != "" && t.NoNewPrivs() {
			if _, again := told.LoadOrStore(e.Program, true); !again {
				r.say(fmt.Sprintf("%s runs without its privileges: %s, and an ordinary user sees a tree only without (no_new_privs): start folio as root", e.Path, why))
			}
		}
		first := false
		begun.Do(func() { first, root = true, e.PID })
		switch name := e.Path; {
		case r.wholeTree || first:
			return t.heaps.OnExec(e)
		case e.PID == root && e.Program.IsGo():
			return func(int, error) {
				r.say(r.args[0] + " executed " + name + ", and the change of its heap is lost; --tree changes that program too")
			}
		}
		return nil
	}})
	return t, err
}

// follow stays until the program has ended, and ends as it did. What the program leaves behind
// goes on.
func (r *launchRequest) follow(t treeRun, stay *launch.Parent) error {
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
	stay.Pass(t.PID(), ended)
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
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) // the core is the program's
	launch.EndBy(ws.Signal())
	return exitCode(128 + int(ws.Signal())) // process 1 of a container does not end by a signal
}
