package node

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/cgroups"
	"github.com/foliomem/folio/cmd/fleet/internal/pod"
	"github.com/foliomem/folio/internal/system/procmem"
)

// Pods names pods: a directory of package kube.
type Pods interface {
	Find(uid, container string) (pod.Name, bool)
	Has(uid string) bool
	Synced() bool
	Pods() int
}

// Config says what to look at.
type Config struct {
	FS      procmem.FS
	Pods    Pods // nil without the Kubernetes API
	Cgroups *cgroups.Root
	Looker  Looker
	Log     *slog.Logger
	Now     func() time.Time // default: time.Now
	// Cgroup reads /proc/PID/cgroup. Default: below FS.
	Cgroup func(pid int) []byte
}

// A Node is the account of one. Scan, Look, and what the sampler calls are for one
// goroutine; Snapshot is for any.
type Node struct {
	Config
	programs programs
	began    time.Duration // after boot; 0 until the first scan

	mu      sync.Mutex // of all below
	table   map[int]*entry
	round   uint64
	groups  map[pod.ID]*group
	ended   map[Labels]*past
	spilled int // containers that had no room, ever: of the log
	stats   Stats
	kernel  bool       // samples have the kernel's side
	looks   []*Process // those that are looked at
}

// Stats are about looking itself.
type Stats struct {
	Go, NotGo, Denied int // processes of the last scan
	Ended             uint64
	Unreadable        map[string]uint64 // by reason
}

// Reasons for what could not be read.
const (
	Denied      = "denied"      // by the kernel: a capability is missing, or the process is protected
	Vanished    = "vanished"    // it ended while it was read
	Unsupported = "unsupported" // of its runtime: the version of Go
	Failed      = "failed"
)

// entry is a number that a process has.
type entry struct {
	round  uint64
	start  time.Duration
	proc   *Process // nil if it is not of Go, or not known yet
	next   time.Time
	checks int
	denied bool
	before used // by other programs of the same process
}

// used is what a process used at a moment.
type used struct {
	user, sys    time.Duration
	minor, major uint64
}

func usedBy(st procmem.Stat) used { return used{st.UTime, st.STime, st.MinFlt, st.MajFlt} }

// A Process is a Go process.
type Process struct {
	PID     int
	start   time.Duration
	file    fileID
	program *program
	group   *group
	last    used
	seen    time.Time // first
	ended   bool

	// CPU time that no sample spoke for yet.
	pendingUser, pendingSys time.Duration
	// Samples: those that are surely of this process, and those since it was last seen,
	// which may be of the next with its number.
	sure, fresh samples

	memory Memory
	state  any // of the Looker
	due    time.Time
	looked int
}

// New makes an account that has nothing yet.
func New(c Config) *Node {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Cgroup == nil {
		c.Cgroup = func(pid int) []byte {
			data, _ := os.ReadFile(filepath.Join(filepath.Dir(c.FS.ExePath(pid)), "cgroup")) // of one that ended: as of the host
			return data
		}
	}
	return &Node{
		Config: c, table: make(map[int]*entry), groups: make(map[pod.ID]*group), ended: make(map[Labels]*past),
		stats: Stats{Unreadable: make(map[string]uint64)},
	}
}

// How often a process that is not of Go is looked at again: it may exec a program that is,
// or its number may be given to another.
const (
	firstAgain = 5 * time.Second
	mostAgain  = time.Minute
)

// Scan finds processes that began and that ended, and adds up what all used.
func (n *Node) Scan() error {
	pids, err := n.FS.PIDs()
	if err != nil {
		return err
	}
	now := n.Now()
	if n.began == 0 {
		n.began = n.boot(pids)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.round++
	count := Stats{}
	for _, pid := range pids {
		e := n.table[pid]
		if e == nil {
			e = &entry{}
			n.table[pid] = e
		}
		e.round = n.round
		if e.proc != nil {
			n.update(pid, e, now)
		}
		if e.proc == nil && !now.Before(e.next) {
			n.check(pid, e, now)
		}
		switch {
		case e.proc != nil:
			count.Go++
		case e.denied:
			count.Denied++
		default:
			count.NotGo++
		}
	}
	for pid, e := range n.table {
		if e.round != n.round {
			if e.proc != nil {
				n.end(e)
			}
			delete(n.table, pid)
		}
	}
	n.stats.Go, n.stats.NotGo, n.stats.Denied = count.Go, count.NotGo, count.Denied
	n.looks = slices.DeleteFunc(n.looks, func(p *Process) bool { return p.ended })
	n.name(now)
	return nil
}

// boot is the time since boot: that of the youngest process. What is younger began while
// the agent looked.
func (n *Node) boot(pids []int) (youngest time.Duration) {
	for _, pid := range pids {
		if st, err := n.FS.Stat(pid); err == nil {
			youngest = max(youngest, st.StartTime)
		}
	}
	return max(youngest, 1)
}

// update adds up what a known process used since the last scan.
func (n *Node) update(pid int, e *entry, now time.Time) {
	p := e.proc
	st, err := n.FS.Stat(pid)
	if err != nil {
		return // it ended: the next scan does not have it
	}
	if st.StartTime != p.start {
		n.end(e)
		*e = entry{round: e.round}
		return
	}
	p.add(st)
	if st.Zombie() {
		n.end(e)
		e.next = now.Add(mostAgain)
		return
	}
	id, _, err := n.programs.look(n.FS.ExePath(pid))
	if err == nil && id != p.file {
		// Another program: what was used until now is the first one's.
		n.end(e)
		*e = entry{round: e.round, start: st.StartTime, before: usedBy(st), checks: 1}
		n.check(pid, e, now)
		return
	}
	p.sure.add(&p.fresh)
	p.fresh = samples{}
}

// add adds what a process used since it was last seen. The kernel's accounts do not go
// backwards; that of user time can by a tick, when both are scaled.
func (p *Process) add(st procmem.Stat) {
	g := p.group
	now := usedBy(st)
	user, sys := max(now.user-p.last.user, 0), max(now.sys-p.last.sys, 0)
	g.CPU += (user + sys).Seconds()
	p.pendingUser += user
	p.pendingSys += sys
	if now.minor > p.last.minor {
		g.MinorFaults += now.minor - p.last.minor
	}
	if now.major > p.last.major {
		g.MajorFaults += now.major - p.last.major
	}
	now.user, now.sys = max(now.user, p.last.user), max(now.sys, p.last.sys)
	p.last = now
}

// check finds out whether a process is of Go.
func (n *Node) check(pid int, e *entry, now time.Time) {
	st, err := n.FS.Stat(pid)
	if err != nil {
		return
	}
	if e.start != st.StartTime {
		*e = entry{round: e.round, start: st.StartTime}
	}
	before, first := e.before, e.checks == 0
	e.before = usedBy(st)
	e.next = now.Add(min(firstAgain<<min(e.checks, 8), mostAgain))
	e.checks++
	if st.Kernel || st.Zombie() {
		e.next = now.Add(mostAgain)
		return
	}
	id, program, err := n.programs.look(n.FS.ExePath(pid))
	switch {
	case errors.Is(err, fs.ErrPermission):
		if !e.denied {
			e.denied = true
			n.stats.Unreadable[Denied]++
		}
		return
	case err != nil || !program.isGo:
		e.denied = false
		return
	}
	p := &Process{PID: pid, start: st.StartTime, file: id, program: program, seen: now, due: now.Add(settle)}
	p.group = n.group(pid, now)
	switch {
	case !first:
		p.last = before // it was another program then
	case st.StartTime <= n.began:
		p.last = usedBy(st) // it used this before the agent looked
	}
	p.add(st)
	p.group.processes[p] = true
	e.proc, e.denied = p, false
	n.looks = append(n.looks, p)
}

// end takes leave of a process. What it used stays in its group.
func (n *Node) end(e *entry) {
	p := e.proc
	p.settle(n.kernel)
	delete(p.group.processes, p)
	p.group.last = n.Now()
	p.ended = true
	n.stats.Ended++
	if n.Looker != nil {
		n.Looker.Close(p)
	}
	e.proc = nil
}

// unreadable counts a look that failed.
func (n *Node) unreadable(reason string) { n.stats.Unreadable[reason]++ }
