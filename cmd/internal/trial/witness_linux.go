package trial

import (
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/system/perf"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A witness finds out of which Go processes folio can see the trace. A process can
// throw its standard error away, or be started without GODEBUG: then the lines that
// folio counts are not all GC cycles, and none is not zero. Lines do not say whose
// they are, so a process is looked at while it lives: does it write to folio's pipe,
// and was it asked for the trace?
//
// It also notes where a program listens, which tells a server.
type witness struct {
	fs     procmem.FS
	files  goruntime.Programs // of the programs whose runtimes are read
	root   int
	traced bool     // the trace was asked for
	theirs bool     // by the user, who wants it wherever it goes
	pipes  []uint64 // inodes of the streams that folio reads
	start  time.Time

	mu       sync.Mutex
	seen     map[execution]sight // what looks at living processes saw
	aside    []*aside            // where traces go that folio does not see
	programs map[uint64]bool     // by inode: is it Go?
	listens  []netip.AddrPort
	again    time.Duration // when to look for them next, after the start

	// What the kernel told of every exec; only the profiler has that.
	execs   []execution
	paths   map[uint64]string // of execs, by inode
	pending map[int]bool      // an exec whose program comes next
}

// An execution is one program in one process: an exec begins another.
type execution struct {
	pid   int
	inode uint64
}

type sight struct {
	isGo    bool
	visible bool // its trace comes to folio
}

// listenFirst is when it is first asked where a program listens. Later looks come
// at twice the time: most servers listen from the start, and most programs never.
const listenFirst = time.Second

func newWitness(fs procmem.FS, traced bool, streams [2]*pump) *witness {
	w := &witness{
		fs: fs, traced: traced, start: time.Now(), again: listenFirst,
		seen: make(map[execution]sight), programs: make(map[uint64]bool), paths: make(map[uint64]string), pending: make(map[int]bool),
	}
	for _, p := range streams {
		if info, err := p.r.Stat(); err == nil {
			w.pipes = append(w.pipes, inodeOf(info))
		}
	}
	return w
}

func inodeOf(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

// look looks at the living processes of the tree.
func (w *witness) look(pids []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.traced {
		for _, pid := range pids {
			w.lookAt(pid)
		}
		w.readAsides()
	}
	if since := time.Since(w.start); since >= w.again {
		w.again = 2 * since
		w.listen(pids)
	}
}

func (w *witness) lookAt(pid int) {
	if e, ok := w.executionOf(pid); ok {
		w.lookAtExecution(e)
	}
}

// executionOf returns what a process executes; ok is false if it has ended, or is
// another user's.
func (w *witness) executionOf(pid int) (e execution, ok bool) {
	info, err := os.Stat(w.fs.ExePath(pid))
	if err != nil {
		return e, false
	}
	return execution{pid, inodeOf(info)}, true
}

func (w *witness) lookAtExecution(e execution) {
	was, known := w.seen[e]
	if known && e.pid != w.root {
		return
	}
	// Before its exec, a process has its parent's program and files.
	if st, err := w.fs.Stat(e.pid); err != nil || st.Forked || st.Zombie() {
		return
	}
	isGo, ok := w.programs[e.inode]
	if !ok {
		_, err := executable.ReadBuild(w.fs.ExePath(e.pid))
		isGo = err == nil
	}
	ours, traces := w.writesToUs(e.pid), was.visible
	if !known {
		env, err := w.fs.Environ(e.pid)
		if ours && err == nil && len(env) == 0 {
			return // an exec has begun, and is not done
		}
		traces = err == nil && asked(env)
	}
	var away *aside
	if isGo && traces && !ours && !w.theirs {
		away = w.lookAside(e)
	}
	// A process that ends gives its program up first, its files later. Without files it
	// seems to have turned its standard error away.
	if now, ok := w.executionOf(e.pid); !ok || now != e {
		away.close()
		return
	}
	w.programs[e.inode] = isGo
	w.seen[e] = sight{isGo, ours && traces}
	if away != nil {
		w.aside = append(w.aside, away)
	}
}

func (w *witness) writesToUs(pid int) bool {
	inode, ok := w.fs.Pipe(pid, 2)
	return ok && slices.Contains(w.pipes, inode)
}

// asked says that a process with this environment was asked for its trace.
func asked(env []string) bool {
	value, _ := getenv(env, "GODEBUG")
	return traced(value)
}

// mostListeners bounds how many processes are asked where they listen.
const mostListeners = 16

func (w *witness) listen(pids []int) {
	for _, pid := range pids[:min(len(pids), mostListeners)] {
		if addrs, err := w.fs.Listening(pid); err == nil && len(addrs) > 0 {
			w.listens = addrs
			return
		}
	}
}

// lookNow asks where the program listens before folio, or a signal, ends it.
func (w *witness) lookNow(pids []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listen(pids)
}

// listening returns the addresses in words, nil if there are none.
func (w *witness) listening() (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.listens {
		out = append(out, a.String())
	}
	return out
}

// exec and mapped are told by the kernel: the first code that a process maps after
// an exec is its program.
func (w *witness) exec(pid int) { w.pending[pid] = true }

func (w *witness) mapped(m *perf.Mapping) {
	if m.Exec && w.pending[m.PID] {
		delete(w.pending, m.PID)
		w.execs = append(w.execs, execution{m.PID, m.Inode})
		w.paths[m.Inode] = m.Path
	}
}

// verdict says what the trace tells of the GC cycles of the tree, once all its
// processes have ended. childless is true if the program started none, told is true
// if the kernel told of every exec.
func (w *witness) verdict(rootIsGo, childless, told bool) TraceState {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := slices.Clone(w.execs)
	for e := range w.seen {
		if !slices.Contains(all, e) {
			all = append(all, e)
		}
	}
	alone := childless && !slices.ContainsFunc(all, func(e execution) bool { return e.pid != w.root })
	anyGo, hidden := rootIsGo, false
	for i, e := range all {
		s, looked := w.seen[e]
		switch {
		case looked && s.isGo:
			anyGo = true
			hidden = hidden || !s.visible
		case looked:
		case e.pid != w.root:
			hidden = hidden || w.isGo(e.inode)
		case !slices.ContainsFunc(all[i+1:], func(e execution) bool { return e.pid == w.root }):
			// Folio made its environment and its streams, also for what it became.
			anyGo = anyGo || w.isGo(e.inode)
		}
	}
	switch {
	case hidden || !alone && !told:
		return TracePartial
	case anyGo:
		return TraceComplete
	}
	return ""
}

// processes counts the processes of the tree, 1 only if the program started none.
func (w *witness) processes(childless bool) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	pids := map[int]bool{w.root: true}
	for _, e := range w.execs {
		pids[e.pid] = true
	}
	for e := range w.seen {
		pids[e.pid] = true
	}
	if len(pids) == 1 && !childless {
		return 2 // at least
	}
	return len(pids)
}

// goChildren counts the Go programs that the program started and that were seen.
func (w *witness) goChildren() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	counted := map[execution]bool{}
	for e, s := range w.seen {
		if counted[e] = true; s.isGo && e.pid != w.root {
			n++
		}
	}
	for _, e := range w.execs {
		if !counted[e] && e.pid != w.root && w.isGo(e.inode) {
			n++
		}
		counted[e] = true
	}
	return n
}

// became returns the Go program that the program became by a further exec, the last one;
// "" if there was none, or nobody saw it. It may be the same file again.
func (w *witness) became() (path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := true
	for _, e := range w.execs {
		switch {
		case e.pid != w.root:
		case first:
			first = false
		case w.isGo(e.inode):
			path = w.paths[e.inode]
		}
	}
	return path
}

// isGo says whether an exec was of a Go program, as far as its file is still there:
// what cannot be read may be one.
func (w *witness) isGo(inode uint64) bool {
	if known, ok := w.programs[inode]; ok {
		return known
	}
	path := w.paths[inode]
	info, err := os.Stat(path)
	if err != nil || inodeOf(info) != inode {
		return true
	}
	_, err = executable.ReadBuild(path)
	w.programs[inode] = err == nil
	return err == nil
}
