package trial

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/gccount"
	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/program/gosetting"
	"github.com/foliomem/folio/cmd/internal/program/layout"
	"github.com/foliomem/folio/internal/system/procmem"
)

// runtimes reads what the GC of Go processes counts, from outside. Where execs and exits are
// told, each process is read for the last time as it waits to end, and nothing is missed;
// else it is read now and then, and the figures are those of the last time.
type runtimes struct {
	fs     procmem.FS
	told   bool    // of every exec and exit
	series *Series // told of GC cycles; nil: nobody

	mu    sync.Mutex
	of    map[int]*readRuntime // living
	begun bool                 // there was a look: processes that are new have just begun
	ended gcTotals             // of processes that have ended
	// unread are settings that a Go program of the tree does not read as they are meant, with
	// its name. Those of inherited are known already.
	unread    []string
	inherited []string

	charged func() (uint64, bool) // to the cgroup of the trial; nil: it has no memory limit
	held    Held                  // of the last reading in which all that live were read
}

func (t *gcTotals) add(p *readRuntime) {
	if !p.known && p.err == nil {
		return
	}
	t.Figures = t.Plus(p.f)
	t.addLibraries(p.libraries, p.program)
	t.processes++
	t.known = t.known || p.known
	if t.err == nil {
		t.err = cmp.Or(p.err, p.unread)
	}
}

// A readRuntime is the runtime of one process.
type readRuntime struct {
	mu     sync.Mutex
	pid    int
	born   bool            // it counts from its start
	over   bool            // it is not to be opened, or not again
	notGo  int             // how often it was found to be none
	tries  int             // how often it could not be opened
	last   bool            // an exec of it was told
	ending bool            // it waits to end
	asked  bool            // its settings were checked
	isGo   bool            // it executed a Go program, or is about to
	reader *gccount.Reader // nil: not open
	known  bool            // there was a reading
	f      gccount.Figures // of the last one
	err    error           // why some are not known
	unread error           // why one of its runtimes cannot be read, while others are

	libraries []string // Go libraries of it
	program   bool     // it is a Go program

	rest time.Duration // until it is looked at again: for libraries that it loads
	next time.Time
}

// A process that is not a Go program, or that can load libraries, is looked at again for Go
// libraries, after a time that is doubled each time; and before it ends.
const firstRest, longestRest = 50 * time.Millisecond, 2 * time.Second

// rested reports whether it is time to look for libraries.
func (p *readRuntime) rested() bool {
	now := time.Now()
	if now.Before(p.next) {
		return false
	}
	p.rest = min(max(2*p.rest, firstRest), longestRest)
	p.next = now.Add(p.rest)
	return true
}

// goPrograms are those of all trials: to find the runtime in a file takes milliseconds.
var goPrograms goruntime.Programs

// surelyNotGo is how often a process was no Go program for it to be none.
const surelyNotGo = 3

// mostTries is how often a runtime that begins is read before something is wrong with it.
const mostTries = 200

func newRuntimes(fs procmem.FS) *runtimes {
	return &runtimes{fs: fs, of: make(map[int]*readRuntime)}
}

// look reads the runtimes of these processes, and of those that it read before: one that
// ended since then may have had more cycles.
func (c *runtimes) look(pids []int) {
	c.mu.Lock()
	for _, pid := range pids {
		if c.of[pid] == nil {
			c.of[pid] = &readRuntime{pid: pid, born: c.begun}
		}
	}
	c.begun = true
	c.mu.Unlock()
	c.read()
}

// read reads all that live, and returns how many of them are Go programs, or may be.
func (c *runtimes) read() (n int) {
	var held Held
	for _, p := range c.living() {
		p.mu.Lock()
		if p.reader != nil {
			c.readAgain(p)
		}
		if p.reader == nil && !p.over && (p.notGo < surelyNotGo || p.rested()) {
			c.open(p)
		}
		if p.reader != nil || !p.over && p.notGo < surelyNotGo {
			n++
		}
		if p.reader != nil && p.known && p.err == nil {
			held.Runtimes++
			held.Bytes += p.f.Held
			held.Live += p.f.Live
		}
		p.mu.Unlock()
	}
	c.hold(held)
	return n
}

// hold keeps what runtimes hold with what is charged to their cgroup at this moment.
func (c *runtimes) hold(h Held) {
	if c.charged == nil || h.Runtimes == 0 {
		return
	}
	var ok bool
	if h.Charged, ok = c.charged(); !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.Charged >= h.Bytes || h.Charged >= c.held.Charged { // the memory of one that is being killed is gone
		c.held = h
	}
}

func (c *runtimes) living() []*readRuntime {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.of))
}

// exec is told before a process executes a program: what its memory has now is read for the
// last time, unless the exec fails.
func (c *runtimes) exec(pid int, isGo bool) {
	c.mu.Lock()
	p := c.of[pid]
	if p == nil {
		p = &readRuntime{pid: pid, born: true}
		c.of[pid] = p
	}
	c.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.reader != nil:
		c.readLast(p)
	case !p.over:
		c.open(p) // what it executed before, if nobody looked at that
		if p.reader == nil && p.notGo >= surelyNotGo {
			p.renew()
		}
	default:
		c.archive(p)
		p.renew()
	}
	p.last, p.isGo = p.reader != nil, isGo
}

// exit is told while a process waits to end, and with seen false once it has ended otherwise.
func (c *runtimes) exit(pid int, seen bool) {
	c.mu.Lock()
	p := c.of[pid]
	if p == nil && seen {
		p = &readRuntime{pid: pid, born: true}
		c.of[pid] = p
	}
	c.mu.Unlock()
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reader != nil {
		c.readLast(p)
	}
	if p.reader == nil && seen && (!p.over || p.notGo > 0) {
		p.over, p.ending = false, true // it may have been looked at in the middle of an exec
		// Too short-lived to have been looked at, or another program since.
		for deadline := time.Now().Add(settles); ; time.Sleep(time.Millisecond) {
			if c.open(p); p.reader != nil || p.over || time.Now().After(deadline) {
				break
			}
		}
	}
	if p.isGo && !p.known && p.notGo == 0 && p.err == nil {
		if p.err = fmt.Errorf("process %d was ended by a signal before it was read", pid); seen {
			p.err = fmt.Errorf("process %d could not be read before it ended", pid)
		}
	}
	if seen && p.isGo {
		c.checkSettings(p)
	}
	p.close()
	p.over = true
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of, pid)
	c.ended.add(p)
}

// settles is how long a runtime is given to come to a state in which it can be read: one of
// other threads ends a GC cycle.
const settles = 20 * time.Millisecond

// archive adds up the figures of a process that is not read any more.
func (c *runtimes) archive(p *readRuntime) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended.add(p)
}

// open opens the runtime of a process, where it is a Go program. Until its exec, a process
// is its parent's program.
func (c *runtimes) open(p *readRuntime) {
	if st, err := c.fs.Stat(p.pid); err != nil || st.Forked || st.Zombie() {
		if err != nil && !c.told {
			p.over = true
		}
		return
	}
	r, err := gccount.Open(&goPrograms, c.fs, p.pid, p.born)
	p.tries++
	switch {
	case err == nil:
		p.reader, p.err = r, nil
		c.take(p, r.First())
		c.checkSettings(p)
	case errors.Is(err, executable.ErrNotGo):
		// Right after it was told of, an exec may not have come to its end; and it may load
		// a Go library later.
		p.tries--
		if p.notGo++; !c.told {
			p.notGo = surelyNotGo
		}
		p.over = p.ending
	case errors.Is(err, os.ErrPermission) && c.told && !p.isGo:
		p.over = true // by its file, it is not a Go program
	case errors.Is(err, layout.ErrUnknown):
		p.err, p.over = fmt.Errorf("the runtime of process %d cannot be read: %w; with GODEBUG=gctrace=1 in the environment, folio counts the lines of its trace", p.pid, err), true
	case errors.Is(err, os.ErrPermission), p.tries == mostTries:
		p.err, p.over = fmt.Errorf("the runtime of process %d cannot be read: %w", p.pid, err), true
	}
}

// mostUnread is how many programs with a setting that they do not read are named.
const mostUnread = 5

// checkSettings checks once what a Go program has in its environment: a script may have set
// something for it.
func (c *runtimes) checkSettings(p *readRuntime) {
	if p.asked {
		return
	}
	p.asked = true
	env, err := c.fs.Environ(p.pid)
	if err != nil {
		return // of a program that took its privileges: nothing is said of it
	}
	for _, problem := range gosetting.CheckAll(env, "") {
		if slices.Contains(c.inherited, problem.Variable) {
			continue
		}
		text := problem.Error()
		if st, err := c.fs.Stat(p.pid); err == nil {
			text = st.Comm + " had " + text
		}
		c.mu.Lock()
		if !slices.Contains(c.unread, text) && len(c.unread) < mostUnread {
			c.unread = append(c.unread, text)
		}
		c.mu.Unlock()
	}
}

// holds returns what hold kept.
func (c *runtimes) holds() Held {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}

// unreadSettings returns what checkSettings found.
func (c *runtimes) unreadSettings() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.unread)
}

// readAgain reads a process again.
func (c *runtimes) readAgain(p *readRuntime) {
	if p.ending || p.rested() {
		_ = p.reader.Find() // it is gone if it fails
		p.unread = c.unreadRuntime(p)
	}
	s, err := p.reader.Read()
	switch {
	case errors.Is(err, goruntime.ErrInconsistent):
		c.take(p, s)                                                                         // of its other runtimes
		p.err = fmt.Errorf("process %d could not be read for the last time: %w", p.pid, err) // unless it is yet
	case err != nil && p.last: // its exec
		p.close()
		c.archive(p)
		p.renew()
	case err != nil:
		p.close()
		p.over = true
		switch {
		case c.told:
			p.err = fmt.Errorf("process %d was ended by a signal: its figures are those that were last read", p.pid)
		case errors.Is(err, goruntime.ErrGone), procmem.Gone(err):
			p.err = fmt.Errorf("process %d ended, or became another program, before it was read for the last time", p.pid)
		default:
			p.err = fmt.Errorf("process %d cannot be read any more: %w", p.pid, err)
		}
	default:
		p.err = nil
		c.take(p, s)
	}
}

// unreadRuntime says why a runtime of a process that is read cannot be.
func (c *runtimes) unreadRuntime(p *readRuntime) error {
	if err := p.reader.Unread(); err != nil {
		return fmt.Errorf("a runtime of process %d cannot be read: %w", p.pid, err)
	}
	return nil
}

// readLast reads a process that waits.
func (c *runtimes) readLast(p *readRuntime) {
	p.ending = true // libraries that it loaded since
	defer func() { p.ending = false }()
	for deadline := time.Now().Add(settles); ; time.Sleep(time.Millisecond) {
		if c.readAgain(p); p.reader == nil || p.err == nil || time.Now().After(deadline) {
			return
		}
	}
}

// renew begins anew, with another program.
func (p *readRuntime) renew() {
	p.born, p.over, p.notGo, p.tries, p.last, p.asked = true, false, 0, 0, false, false
	p.known, p.f, p.err, p.unread, p.rest, p.next = false, gccount.Figures{}, nil, nil, 0, time.Time{}
	p.libraries, p.program = nil, false
}

// take takes what a reading found.
func (c *runtimes) take(p *readRuntime, s gccount.Step) {
	c.series.collected(s)
	p.known, p.f = true, p.reader.Figures()
	p.libraries, p.program = p.reader.Libraries()
}

func (p *readRuntime) close() {
	if p.reader != nil {
		_ = p.reader.Close()
	}
	p.reader = nil
}

// restart counts from now on, but for peaks that were before: see [gcTotals].
func (c *runtimes) restart() (before gcTotals) {
	before = c.totals()
	for _, p := range c.living() {
		p.mu.Lock()
		if p.reader != nil {
			p.reader.Restart()
		}
		p.f = gccount.Figures{}
		p.mu.Unlock()
	}
	c.mu.Lock()
	c.ended = gcTotals{known: c.ended.known, processes: c.ended.processes, err: c.ended.err, libraries: c.ended.libraries, program: c.ended.program}
	c.mu.Unlock()
	return before
}

// totals reads all that live, and returns what all did.
func (c *runtimes) totals() gcTotals {
	c.read()
	c.mu.Lock()
	sum, living := c.ended, slices.Collect(maps.Values(c.of))
	c.mu.Unlock()
	for _, p := range living {
		p.mu.Lock()
		sum.add(p)
		p.mu.Unlock()
	}
	return sum
}

// end ends the reading.
func (c *runtimes) end() {
	for _, p := range c.living() {
		p.mu.Lock()
		p.close()
		p.mu.Unlock()
	}
}

// run reads until the alarm is rung: often enough for the runtime to have all pauses still, and
// to see most cycles as the last one. It rests by the CPU time that a look takes: where it has to
// wait for a CPU, a program that nears its memory limit would be dead before the next look.
func (c *runtimes) run(a *alarm, every time.Duration, done chan<- struct{}) {
	defer close(done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for wait := every; ; {
		a.wait(untilTick(wait))
		if a.rung.Load() {
			return
		}
		used := threadTime()
		n := c.read()
		wait = max(every, share*(threadTime()-used))
		if n == 0 {
			wait = max(wait, soleLook)
		}
	}
}
