//go:build linux && (amd64 || arm64)

package trial

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	listen "github.com/foliomem/folio/cmd/internal/process/witness"
	"github.com/foliomem/folio/cmd/internal/program/codepatch"
	"github.com/foliomem/folio/cmd/internal/program/launch"
	"github.com/foliomem/folio/internal/system/spawn"
)

// mayListen says why the programs of a tree cannot be seen here.
var mayListen = sync.OnceValue(listen.Try)

// SeesTree says why THPHeap changes the program alone here, and no Go program that it starts.
func SeesTree() error {
	if forkOnly || unlistened {
		return listen.ErrUnsupported
	}
	return mayListen()
}

// A heapTree is a program with all that descends from it, of which every Go program has its
// heap changed at its exec.
type heapTree struct {
	tree    *listen.Tree
	heaps   listen.Heaps
	program *launch.Program // the program itself, nil if it is not to be changed by that
	fail    func(error) error

	begun sync.Once
	done  chan struct{} // closed when the program itself is changed, or runs as it is
	held  time.Duration // how long it was stopped
	err   error         // why it is not changed
	own   int           // 1 if it was

	mu           sync.Mutex
	unprivileged []string
}

// heapTree returns nil where no tree can be seen.
func (p *Program) heapTree() *heapTree {
	if SeesTree() != nil {
		return nil
	}
	h := p.Heap
	if h == nil {
		h = ReadHeap(p.Command[0])
	}
	t := &heapTree{done: make(chan struct{}), fail: p.heapError}
	if h.err == nil {
		t.program = h.program
	}
	return t
}

// prepare makes the process that becomes the program.
func (t *heapTree) prepare(p *spawn.Program) (_ *spawn.Process, err error) {
	if t.tree, err = listen.Prepare(*p, listen.Options{OnExec: t.onExec}); err != nil {
		return nil, err
	}
	return t.tree.Process(), nil
}

// unseen says that prepare failed since the tree cannot be seen, and not for the program's sake.
func unseenTree(err error) bool {
	return errors.Is(err, listen.ErrNested) || errors.Is(err, listen.ErrUnsupported)
}

func (t *heapTree) onExec(e *listen.Exec) (stop listen.AtExec) {
	first := false
	t.begun.Do(func() { first = true })
	if why := e.Program.Privileged; why != "" && t.tree.NoNewPrivs() {
		t.mu.Lock()
		t.unprivileged = append(t.unprivileged, fmt.Sprintf("%s (%s)", e.Path, why))
		t.mu.Unlock()
	}
	if !first {
		return t.heaps.OnExec(e)
	}
	if t.program == nil {
		if stop = t.heaps.OnExec(e); stop == nil {
			close(t.done)
			return nil
		}
		return func(pid int, err error) {
			defer close(t.done)
			begin := time.Now()
			stop(pid, err)
			if err == nil {
				t.own = 1
			}
			t.held = time.Since(begin)
		}
	}
	of := e.Program
	return func(pid int, err error) {
		defer close(t.done)
		begin := time.Now()
		if err == nil {
			err = t.program.Apply(pid)
		}
		t.heaps.Count(of, err)
		if t.err = err; err != nil {
			_ = unix.Kill(pid, unix.SIGKILL) // before its first instruction
		} else {
			t.own = 1
		}
		t.held = time.Since(begin)
	}
}

// start lets the program begin; held is how long it was stopped at its exec. After an error
// there is no process.
func (t *heapTree) start() (pid int, held time.Duration, err error) {
	if err := t.tree.Start(); err != nil {
		return 0, 0, err
	}
	pid = t.tree.PID()
	for {
		select {
		case <-t.done:
			if t.err == nil {
				return pid, t.held, nil
			}
			_, _, _ = t.tree.Wait()
			t.end()
			return 0, 0, t.fail(t.err)
		case <-time.After(10 * time.Millisecond):
			if hasExited(pid, unix.WNOHANG) { // killed before it was stopped
				return pid, 0, nil
			}
		}
	}
}

// guard is a process that is not of the trial.
func (t *heapTree) guard() int { return t.tree.Guard() }

// end gives the tree up, when nothing is left of it.
func (t *heapTree) end() {
	select { // the guard is reaped then, too
	case <-t.tree.Ended():
	case <-time.After(time.Second):
	}
	t.tree.Close()
}

// fill fills in what became of the programs.
func (t *heapTree) fill(out *Sample) {
	out.Heaps = []HeapPrograms{}
	changed := 0
	for _, c := range t.heaps.Counts() {
		changed += c.Changed
		out.Heaps = append(out.Heaps, HeapPrograms{Name: c.Name, Execs: c.Execs, Changed: c.Changed, NotGo: c.NotGo, Reason: c.Why})
	}
	out.HeapsBelow, out.Unprivileged = changed > t.own, t.unprivileged
}

// isNotGo says whether a command cannot be changed since it is not a Go program.
func isNotGo(err error) bool {
	var refused *codepatch.RefusedError
	return errors.As(err, &refused) && (refused.Kind == codepatch.NotGo || refused.Kind == codepatch.NotELF)
}
