//go:build linux && (amd64 || arm64)

package trial

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	listen "github.com/foliomem/folio/cmd/internal/process/witness"
	"github.com/foliomem/folio/cmd/internal/program/codepatch"
	"github.com/foliomem/folio/cmd/internal/program/launch"
	"github.com/foliomem/folio/internal/base/input"
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

// An execTree is a program with all that descends from it, of which every exec and exit is
// told: for the GC to be read, and the heap of every Go program to be changed.
type execTree struct {
	tree     *listen.Tree
	runtimes *runtimes       // nil: the GC is not read
	heaps    *listen.Heaps   // nil: heaps stay as they are
	program  *launch.Program // the program itself, nil if it is not to be changed by that
	fail     func(error) error

	begun sync.Once
	done  chan struct{} // closed when the program itself is changed, or runs unchanged
	held  time.Duration // how long it was stopped
	err   error         // why it is not changed

	root      atomic.Int64 // its process id
	heldAtEnd atomic.Int64 // how long it waited to end
	own       int          // 1 if it was

	mu           sync.Mutex
	pids         map[int]bool // of processes that executed something
	unprivileged []string
	learnt       map[*listen.Program]struct{}
}

// execTree returns nil where nothing is to be known of a tree, or, as an ordinary user, the
// program would be without its privileges.
func (p *Program) execTree(heap bool) *execTree {
	if !p.ReadGC && !heap || forkOnly || unlistened {
		return nil
	}
	t := &execTree{done: make(chan struct{}), fail: p.heapError, pids: make(map[int]bool), learnt: make(map[*listen.Program]struct{})}
	if !heap {
		if p.gains() {
			return nil
		}
		return t
	}
	t.heaps = &listen.Heaps{}
	if program, err := p.heap(); err == nil {
		t.program = program
	}
	return t
}

// gains says whether the command has privileges that this process cannot pass on.
func (p *Program) gains() bool {
	path, err := exec.LookPath(p.Command[0])
	if err != nil || os.Geteuid() == 0 {
		return false
	}
	f, _, err := input.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && launch.Gains(f, &st) != ""
}

// prepare makes the process that becomes the program.
func (t *execTree) prepare(p *spawn.Program) (_ *spawn.Process, err error) {
	if t.runtimes != nil {
		t.runtimes.told = true
	}
	if t.tree, err = listen.Prepare(*p, t.options()); err != nil {
		if t.runtimes != nil {
			t.runtimes.told = false
		}
		return nil, err
	}
	return t.tree.Process(), nil
}

// unseen says that prepare failed since the tree cannot be seen, and not for the program's sake.
func unseenTree(err error) bool {
	return errors.Is(err, listen.ErrNested) || errors.Is(err, listen.ErrUnsupported)
}

func (t *execTree) options() listen.Options {
	o := listen.Options{OnExec: t.onExec}
	if t.runtimes != nil {
		o.OnExit = func(e *listen.Exit) {
			begin := time.Now()
			t.runtimes.exit(e.PID, e.Seen)
			if e.Seen && int64(e.PID) == t.root.Load() {
				t.heldAtEnd.Store(int64(time.Since(begin)))
			}
		}
	}
	return o
}

func (t *execTree) onExec(e *listen.Exec) (stop listen.AtExec) {
	first := false
	t.begun.Do(func() {
		first = true
		t.root.Store(int64(e.PID))
	})
	t.mu.Lock()
	t.pids[e.PID] = true
	if why := e.Program.Privileged; why != "" && t.tree.NoNewPrivs() {
		t.unprivileged = append(t.unprivileged, fmt.Sprintf("%s (%s)", e.Path, why))
	}
	t.mu.Unlock()
	if t.runtimes != nil {
		t.runtimes.exec(e.PID, e.Program.IsGo())
		t.learn(e)
	}
	switch {
	case t.heaps == nil && first:
		close(t.done)
		return nil
	case t.heaps == nil:
		return nil
	case !first:
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
	name := e.Name()
	return func(pid int, err error) {
		defer close(t.done)
		begin := time.Now()
		if err == nil {
			err = t.program.Apply(pid)
		}
		t.heaps.Count(name, err)
		if t.err = err; err != nil {
			_ = unix.Kill(pid, unix.SIGKILL) // before its first instruction
		} else {
			t.own = 1
		}
		t.held = time.Since(begin)
	}
}

// learn finds the runtime of a Go program that is executed for the first time, beside its start.
func (t *execTree) learn(e *listen.Exec) {
	t.mu.Lock()
	_, known := t.learnt[e.Program]
	t.learnt[e.Program] = struct{}{}
	t.mu.Unlock()
	if known || !e.Program.IsGo() {
		return
	}
	if f, err := e.Open(); err == nil {
		background(func() {
			defer f.Close()
			goPrograms.Learn(f)
		})
	}
}

// waited is for how long the program waited for folio before it ended.
func (t *execTree) waited() time.Duration { return time.Duration(t.heldAtEnd.Load()) }

// executed are the processes that executed something.
func (t *execTree) executed() map[int]bool { return t.pids }

// start lets the program begin; held is how long it was stopped at its exec. After an error
// there is no process.
func (t *execTree) start() (pid int, held time.Duration, err error) {
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
func (t *execTree) guard() int { return t.tree.Guard() }

// end gives the tree up, when nothing is left of it.
func (t *execTree) end() {
	select { // the guard is reaped then, too
	case <-t.tree.Ended():
	case <-time.After(time.Second):
	}
	t.tree.Close()
}

// fill fills in what became of the programs.
func (t *execTree) fill(out *Sample) {
	if out.Unprivileged = t.unprivileged; t.heaps == nil {
		return
	}
	out.Heaps = []HeapPrograms{}
	changed := 0
	for _, c := range t.heaps.Counts() {
		changed += c.Changed
		out.Heaps = append(out.Heaps, HeapPrograms{Name: c.Name, Execs: c.Execs, Changed: c.Changed, NotGo: c.NotGo, Reason: c.Why})
	}
	out.HeapsBelow = changed > t.own
}

// isNotGo says whether a command cannot be changed since it is not a Go program.
func isNotGo(err error) bool {
	var refused *codepatch.RefusedError
	return errors.As(err, &refused) && (refused.Kind == codepatch.NotGo || refused.Kind == codepatch.NotELF)
}
