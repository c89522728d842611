//go:build linux && (amd64 || arm64)

package witness

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/spawn"
)

// Options say what is wanted of a tree. The functions are called from goroutines of the
// tree, for several processes at once. A process waits for them to return.
type Options struct {
	// OnExec, if set, is called when a process is about to execute a program: one whose file is
	// there, may be executed, and is an ELF file or has an interpreter that is. What it returns is called when the
	// process can be changed, nil for never.
	OnExec func(*Exec) AtExec
	// OnExit, if set, is called when a process ends by exit_group, with its memory readable,
	// and when it is known that one has ended otherwise.
	OnExit func(*Exit)
}

// AtExec is called when a process has the new program in memory, and is stopped by the
// calling thread, which traces it, before its first instruction. If the process cannot be
// stopped it is called with the reason, and runs unchanged. It is not called if the exec fails.
type AtExec func(pid int, err error)

// An Exec is the execution of a program. It may be used until OnExec returns.
type Exec struct {
	PID     int      // process id, as this process sees it
	Path    string   // as the process names the file: of a script, that of the script
	Program *Program // what runs: of a script, its interpreter

	thread int
	argv   uint64 // address in the thread's memory
	file   int    // descriptor of it, -1 for none
}

// An Exit is the end of a process.
type Exit struct {
	PID     int
	Program *Program // nil if it is not known
	// Seen says that the process is about to end and waits, with exit code Code. Without, it
	// has ended, by a signal for example.
	Seen bool
	Code int
}

// A Tree is a program with all its descendants.
type Tree struct {
	options  Options
	process  *spawn.Process
	privs    bool // setuid programs get their privileges
	killable bool // no signal but a fatal one interrupts a wait for an answer
	stub     identity
	pid      int // of the program

	listener *os.File
	waits    syscall.RawConn // for the listener
	fd       int             // of the listener
	guard    *guard
	guardPID int
	lifeline int

	programs programs
	again    sync.Map // thread to *interrupted
	known    processes

	lead    chan struct{} // whose token the worker has that receives
	ended   chan struct{} // closed when no process of the tree is left, or the tree is closed
	over    sync.Once
	idle    atomic.Int32 // workers that wait for lead
	free    chan int     // slots
	workers sync.WaitGroup
	delay   atomic.Int64 // how long an exec is given before it is interrupted, without killable
}

// Try says why Prepare would not get a listener here, by getting one for a process that is
// given up. The error is as that of Prepare.
func Try() error {
	filter, err := newFilter(false)
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	process, err := prepare(&spawn.Program{Path: "/proc/self/exe", Argv: []string{"folio"}, Env: []string{}, Files: [3]*os.File{null, null, null}, Filter: filter})
	if err == nil {
		process.Abort()
	}
	return err
}

// prepare makes the process, with the errors of Prepare.
func prepare(p *spawn.Program) (*spawn.Process, error) {
	process, err := p.Prepare()
	var refused *spawn.FilterError
	switch {
	case errors.As(err, &refused):
		return nil, filterError(refused.Errno)
	case errors.Is(err, spawn.ErrNoStub):
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	case err != nil:
		return nil, err
	}
	if process.Listener() == nil {
		process.Abort()
		return nil, fmt.Errorf("%w: the listener did not arrive", ErrUnsupported)
	}
	return process, nil
}

// Prepare makes the process that becomes the program, with a listener. The error is
// ErrNested, wraps ErrUnsupported, or is of the program; then there is no process.
func Prepare(p spawn.Program, o Options) (t *Tree, err error) {
	if p.Filter, err = newFilter(o.OnExit != nil); err != nil {
		return nil, err
	}
	t = &Tree{options: o, privs: !p.Filter.NoNewPrivs, killable: p.Filter.Flags&flagKillable != 0,
		lead: make(chan struct{}, 1), ended: make(chan struct{}), free: make(chan int, maxWorkers)}
	t.delay.Store(int64(firstDelay))
	for i := range maxWorkers {
		t.free <- i
	}
	if t.process, err = prepare(&p); err != nil {
		return nil, err
	}
	t.listener = t.process.Listener()
	if err := t.serve(); err != nil {
		t.process.Abort()
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return t, nil
}

// serve begins to look at the tree.
func (t *Tree) serve() (err error) {
	// The runtime waits for the listener along with all else that it waits for, which costs
	// less than a thread that does. It takes over only what does not block.
	t.fd, err = unix.FcntlInt(t.listener.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("dup: %w", err)
	}
	_ = t.listener.Close()
	_ = unix.SetNonblock(t.fd, true)
	t.listener = os.NewFile(uintptr(t.fd), "seccomp listener")
	if t.waits, err = t.listener.SyscallConn(); err != nil {
		return err
	}
	if err := t.listener.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("wait for the listener: %w", err)
	}
	if pid, ok := t.process.PID(); ok {
		t.stub, _ = programOf(pid)
	}
	if t.guard, err = newGuard(); err == nil {
		if t.guardPID, t.lifeline, err = t.guard.start(t.fd); err != nil {
			t.guard.free()
		}
	}
	if err != nil {
		return err
	}
	// The thread that waits and the one that answers share a CPU: an error only costs time.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(t.fd), requestFlags, syncWakeUp)
	t.begin()
	t.lead <- struct{}{}
	return nil
}

// Process is the process that becomes the program, for its figures.
func (t *Tree) Process() *spawn.Process { return t.process }

// NoNewPrivs says that setuid programs of the tree run without their privileges.
func (t *Tree) NoNewPrivs() bool { return !t.privs }

// Guard is the process id of the guard: a child of this process that is not of the tree, with
// a child.
func (t *Tree) Guard() int { return t.guardPID }

// Ended is closed when the last process of the tree has ended. Before Linux 6.11 a zombie
// counts as a process.
func (t *Tree) Ended() <-chan struct{} { return t.ended }

// Over says whether no process of the tree is left.
func (t *Tree) Over() bool { return pollNow(t.fd)&unix.POLLHUP != 0 }

// Start prepares and starts a program.
func Start(p spawn.Program, o Options) (*Tree, error) {
	t, err := Prepare(p, o)
	if err != nil {
		return nil, err
	}
	if err := t.Start(); err != nil {
		return nil, err
	}
	return t, nil
}

// Start lets the program begin. After an error, which is that of [spawn.Process.Start], the
// tree is closed.
func (t *Tree) Start() (err error) {
	if t.pid, err = t.process.Start(); err != nil {
		t.Close()
	}
	return err
}

// PID is the process id of the program, once it has begun.
func (t *Tree) PID() int { return t.pid }

// Wait waits for the end of the program, not for that of its descendants.
func (t *Tree) Wait() (ws unix.WaitStatus, used unix.Rusage, err error) {
	for {
		// Without WNOWAIT, this would take a stop from the worker that traces the program.
		info, e := waitid(unix.P_PID, t.pid, unix.WEXITED|unix.WNOWAIT)
		switch {
		case e != 0:
			return ws, used, fmt.Errorf("wait for process %d: %w", t.pid, e)
		case info.code == trapped:
			time.Sleep(100 * time.Microsecond)
		default:
			_, err = unix.Wait4(t.pid, &ws, 0, &used)
			return ws, used, err
		}
	}
}

// Close gives the listener up, once what has been seen has been looked at. What is left of the tree goes on, served by the guard. Exits
// that were not seen are told of, those of processes that have ended.
func (t *Tree) Close() {
	_ = t.listener.SetReadDeadline(time.Unix(1, 0))
	t.workers.Wait()
	t.finish()
	t.known.gone(t)
	over := t.Over()
	_ = t.listener.Close()
	unix.Close(t.lifeline)
	if over { // then the guard ends at once
		_, _ = waitid(unix.P_PID, t.guardPID, unix.WEXITED|unix.WALL)
	}
	t.guard.free()
}

func (t *Tree) finish() { t.over.Do(func() { close(t.ended) }) }

// A worker receives, looks and answers. One at a time receives: the leader. It gives the lead
// away before anything that may take long.
type worker struct {
	tree    *Tree
	slot    int
	leading bool
}

// begin starts a worker, if there may be more.
func (t *Tree) begin() {
	select {
	case slot := <-t.free:
		t.workers.Add(1)
		go (&worker{tree: t, slot: slot}).run()
	default:
	}
}

func (w *worker) run() {
	t := w.tree
	defer t.workers.Done()
	defer func() { t.free <- w.slot }()
	for {
		t.idle.Add(1)
		select {
		case <-t.lead:
			t.idle.Add(-1)
		case <-t.ended:
			t.idle.Add(-1)
			return
		}
		w.leading = true
		for w.leading {
			if !w.next() {
				t.finish()
				return
			}
		}
	}
}

// yield gives the lead to another worker.
func (w *worker) yield() {
	if !w.leading {
		return
	}
	w.leading = false
	if w.tree.idle.Load() == 0 {
		w.tree.begin()
	}
	w.tree.lead <- struct{}{}
}

// next handles one system call; false if there will be no more.
func (w *worker) next() bool {
	t, s := w.tree, &w.tree.guard.slots[w.slot]
	over := false
	err := t.waits.Read(func(uintptr) bool {
		for {
			events := pollNow(t.fd)
			if over = events&unix.POLLHUP != 0 && events&unix.POLLIN == 0; events == 0 || over {
				return over
			}
			*s = slot{}
			if ioctl(t.fd, requestReceive, unsafe.Pointer(s)) == 0 {
				return true
			}
			s.id = 0 // the process is gone, or a signal came first
		}
	})
	if err != nil || over {
		return false
	}
	w.handle()
	return true
}

// handle looks at a system call and lets it go on.
func (w *worker) handle() {
	t := w.tree
	n := t.guard.slots[w.slot].notification
	switch {
	case n.pid == 0:
	case n.nr == unix.SYS_EXIT_GROUP:
		w.exit(&n)
	case t.options.OnExec != nil || t.options.OnExit != nil:
		w.exec(&n)
	}
	w.goOn(&n)
}

// goOn lets the system call go on, if it has not.
func (w *worker) goOn(n *notification) unix.Errno {
	s := &w.tree.guard.slots[w.slot]
	if s.id == 0 {
		return 0
	}
	a := answer{id: n.id, flags: answerContinue}
	var e unix.Errno
	for {
		if e = ioctl(w.tree.fd, requestSend, unsafe.Pointer(&a)); e != unix.EINTR {
			break
		}
	}
	s.id = 0
	return e
}

// valid says whether the process still waits: what was read by its id is its own.
func (t *Tree) valid(n *notification) bool {
	id := n.id
	return ioctl(t.fd, requestValid, unsafe.Pointer(&id)) == 0
}

const firstDelay = 2 * time.Millisecond
