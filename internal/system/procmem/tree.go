package procmem

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// Tree follows root processes and everything they start, cheaply enough to ask
// every few milliseconds. A process that was once a member stays one, whoever
// its parent becomes. All methods may be called from several goroutines.
//
// What it costs: a tick in which nothing was forked anywhere on the machine
// reads one small file per member. Otherwise it looks at the new process ids
// only, about 10 µs for each process that started on the machine. It looks at
// all processes when a root or a reaper is added, when ids wrap around, and, at
// most 1% of the time, where the id that the kernel gave out last cannot be trusted.
//
// What it misses: a process that starts and ends between two updates, and one
// whose id was chosen by clone3's set_tid (CRIU).
type Tree struct {
	mu       sync.Mutex
	fs       FS
	closed   bool
	members  map[int]*member
	order    []*member             // parents before their children, as far as known; replaced by removals
	roots    []*member             // also those that are dead
	reaper   int                   // 0 for none
	excluded map[int]time.Duration // start times
	files    int                   // open statm files
	maxFiles int
	buf      []byte // for one read
	largest  int    // at the last RSS
	scanner
}

// member is a process of the tree.
type member struct {
	pid    int
	root   int // 0 if it cannot be known
	parent int // through which it became a member; the reaper for an orphan
	pgrp   int
	sess   int
	start  time.Duration // tells it from a later process with the same pid
	// statm is bound to the process, not to its number: once the process is
	// reaped, reads fail, also when another got the number. It is nil beyond
	// maxFiles.
	statm *file
	last  Statm
	// ownMemory is set once the process is known not to run in the memory of
	// its parent, as it does between vfork and exec.
	ownMemory bool
}

// maxFiles bounds the files that a tree keeps open. Members beyond it are read
// by path, which costs three times as much.
const maxFiles = 512

// NewTree returns a tree of these processes and their descendants. A root that
// is dead already is left out. The descendants are found by [Tree.Update].
func (f FS) NewTree(roots ...int) *Tree {
	t := &Tree{
		fs:       f,
		members:  make(map[int]*member),
		excluded: make(map[int]time.Duration),
		maxFiles: maxFiles,
		buf:      make([]byte, 512),
	}
	t.scanner.open(f)
	for _, pid := range roots {
		t.AddRoot(pid)
	}
	return t
}

// NewTreeOf returns a tree of the process that start starts. Nothing of it is
// older than this call, so that, unlike after [FS.NewTree], the first update
// need not look at every process of the machine.
//
// reaper is a process that adopts orphans below it (PR_SET_CHILD_SUBREAPER): its children are
// members too, other than those that are excluded; 0 for none. Without it an orphan whose
// parent lived and died between two updates is lost. What the reaper starts for itself looks
// like an orphan: see [Tree.Apart].
func (f FS) NewTreeOf(reaper int, start func() (pid int, err error)) (*Tree, error) {
	t := f.NewTree()
	mark, ok := t.scanner.lastPID()
	pid, err := start()
	if err != nil {
		t.Close()
		return nil, err
	}
	t.AddRoot(pid)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reaper = reaper
	if ok && pid > mark { // else the ids have wrapped around
		t.scanAll, t.from, t.last = false, mark, mark
	}
	return t, nil
}

// AddRoot adds a process, and with the next [Tree.Update] its descendants. A
// member becomes the root of its own part of the tree.
func (t *Tree) AddRoot(pid int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	delete(t.excluded, pid)
	m := t.members[pid]
	if m == nil {
		s, err := t.fs.Stat(pid)
		if err != nil || s.Zombie() {
			return
		}
		if m = t.adopt(s, 0, pid); m == nil {
			return
		}
	}
	for _, d := range t.subtree(pid) {
		d.root = pid
	}
	m.parent = 0
	t.roots = append(t.roots, m)
	t.scanAll = true
}

// Exclude says that a process is not part of the tree, nor what it starts from
// now on. If it is a member, it and its descendants leave the tree.
func (t *Tree) Exclude(pid int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.exclude(pid)
}

// Apart calls start, which starts a process that is not part of the tree, and
// excludes that before anyone can see it as an orphan. Other calls wait.
func (t *Tree) Apart(start func() (pid int, err error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	pid, err := start()
	if err == nil {
		t.exclude(pid)
	}
	return err
}

func (t *Tree) exclude(pid int) {
	if s, err := t.fs.Stat(pid); err == nil {
		t.excluded[pid] = s.StartTime
	}
	for _, m := range t.subtree(pid) {
		t.remove(m)
	}
}

// Update finds new members and drops dead ones. Processes that vanish or that
// cannot be read are not errors; that /proc cannot be read at all is one.
func (t *Tree) Update() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return fmt.Errorf("update process tree: %w", os.ErrClosed)
	}
	// The dead leave first. A process found below then has its final parent:
	// orphans move before their parent can be gone.
	for _, m := range t.order {
		t.read(m)
	}
	if len(t.order) == 0 && t.reaper == 0 {
		return nil
	}
	found, err := t.look(t.fs, t.isMember)
	t.resolve(found)
	return err
}

func (t *Tree) isMember(pid int) bool { return t.members[pid] != nil }

// RSS returns the resident bytes of all members, the largest among them, and
// how many have memory: zombies are members, but do not count. The sum is that
// of the processes' own figures, so pages that several of them map count
// several times; memory between vfork and exec is the parent's and counts once.
// Pages of the hugetlb pool are not in it.
func (t *Tree) RSS() (total, largest uint64, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.largest = 0
	for _, m := range t.order {
		if !t.read(m) || m.last.Size == 0 || t.sharesMemory(m) {
			continue
		}
		total += m.last.RSS
		if m.last.RSS > largest {
			largest, t.largest = m.last.RSS, m.pid
		}
		n++
	}
	return total, largest, n
}

// Largest returns the member that was the largest at the last RSS; 0 for none.
func (t *Tree) Largest() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.largest
}

// PIDs returns the members in ascending order.
func (t *Tree) PIDs() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	pids := make([]int, len(t.order))
	for i, m := range t.order {
		pids[i] = m.pid
	}
	slices.Sort(pids)
	return pids
}

// Root returns the root that a member belongs to. ok is false for a process
// that is not a member, and for an orphan that could belong to several roots.
func (t *Tree) Root(pid int) (root int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.members[pid]
	if m == nil || m.root == 0 {
		return 0, false
	}
	return m.root, true
}

// AnonHuge returns the anonymous memory of all members that huge pages map. The
// kernel walks their page tables for it, so ask rarely. ok is false if some
// member could not be read, bytes is then too small, or if none has memory.
func (t *Tree) AnonHuge() (bytes uint64, ok bool) {
	t.mu.Lock()
	var list []*member
	for _, m := range t.order {
		if t.read(m) && m.last.Size != 0 && !t.sharesMemory(m) {
			list = append(list, m)
		}
	}
	t.mu.Unlock()

	n, complete := 0, true
	for _, m := range list {
		// Without the lock: this can take long, and others want to sample.
		s, err := t.fs.SmapsRollup(m.pid)
		if !t.alive(m) {
			continue // what was read may be another process with its number
		}
		if err != nil || s.AnonHugePages == nil {
			complete = false
			continue
		}
		bytes += *s.AnonHugePages
		n++
	}
	return bytes, complete && n > 0
}

// alive reports whether m still is a member and has memory.
func (t *Tree) alive(m *member) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.members[m.pid] == m && t.read(m) && m.last.Size != 0
}

// HWM returns the most that a member had resident since it started, or since
// its last exec: the kernel starts again there. ok is false once it has ended.
func (t *Tree) HWM(pid int) (bytes uint64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.members[pid]
	if m == nil {
		return 0, false
	}
	s, err := t.fs.Status(pid)
	if err != nil || s.VmHWM == nil || !t.read(m) {
		return 0, false
	}
	return *s.VmHWM, true
}

// Close closes the files of the tree. It has no members then.
func (t *Tree) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.closed = true
	for _, m := range t.order {
		t.remove(m)
	}
	t.scanner.close()
}
