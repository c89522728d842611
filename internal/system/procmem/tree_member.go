package procmem

import (
	"slices"
)

// resolve makes members of those found whose parent is one. Parents may come
// after their children in found.
func (t *Tree) resolve(found []Stat) {
	for progress := true; progress; {
		progress = false
		found = slices.DeleteFunc(found, func(s Stat) bool {
			if t.isExcluded(s) || s.PID == t.reaper || s.Zombie() {
				return true
			}
			root := 0
			if p := t.members[s.PPID]; p != nil {
				root = p.root
			} else if t.reaper != 0 && s.PPID == t.reaper {
				root = t.orphanRoot(s)
			} else {
				return false
			}
			progress = t.adopt(s, s.PPID, root) != nil || progress
			return true
		})
	}
}

// isExcluded tells an excluded process from a later one with its number.
func (t *Tree) isExcluded(s Stat) bool {
	start, ok := t.excluded[s.PID]
	return ok && start == s.StartTime
}

// adopt makes a member of the process that s was read from. It returns nil if
// that is gone, or is a thread.
func (t *Tree) adopt(s Stat, parent, root int) *member {
	m := &member{pid: s.PID, root: root, parent: parent, pgrp: s.PGRP, sess: s.Session, start: s.StartTime}
	if t.files < t.maxFiles {
		// An open may fail for lack of file descriptors; reads by path do too,
		// for a moment.
		m.statm, _ = openFile(t.fs.procPath(s.PID, "statm"))
	}
	// The file is bound to a process now. That it is the one in s shows in a
	// start time read after opening it. A thread can be opened by its id like a
	// process, and has the parent of its process.
	again, err := t.fs.Stat(s.PID)
	ok := err == nil && again.StartTime == s.StartTime
	if ok {
		status, err := t.fs.Status(s.PID)
		ok = err != nil || status.TGID == nil || *status.TGID == s.PID
	}
	if !ok {
		if m.statm != nil {
			m.statm.Close()
		}
		return nil
	}
	if m.statm != nil {
		t.files++
	}
	t.members[m.pid] = m
	t.order = append(t.order, m)
	return m
}

// remove drops a member and closes its file. It leaves the old list of members
// alone, so that a loop over it may call remove.
func (t *Tree) remove(m *member) {
	if m.statm != nil {
		m.statm.Close()
		t.files--
	}
	delete(t.members, m.pid)
	t.order = slices.DeleteFunc(slices.Clone(t.order), func(o *member) bool { return o == m })
}

// read reads a member's statm, or drops the member if it is gone.
func (t *Tree) read(m *member) bool {
	var st Statm
	var err error
	if m.statm != nil {
		var n int
		if n, err = m.statm.readStart(t.buf); err == nil {
			st, err = parseStatm(t.buf[:n], t.fs.PageSize())
		}
	} else {
		var s Stat
		if s, err = t.fs.Stat(m.pid); err == nil && s.StartTime != m.start {
			t.remove(m) // another process has its number
			return false
		}
		if err == nil {
			st, err = t.fs.Statm(m.pid)
		}
	}
	if err == nil {
		m.last = st
		return true
	}
	if Gone(err) {
		t.remove(m)
	}
	return false
}

// sharesMemory reports whether a member runs in the memory of its parent, and
// so shows the parent's RSS as its own. Every program that os/exec or
// posix_spawn starts does so between vfork and exec: about a millisecond, in
// which a sampler would see twice the memory that there is.
func (t *Tree) sharesMemory(m *member) bool {
	if m.ownMemory {
		return false
	}
	p := t.members[m.parent]
	if p == nil {
		m.ownMemory = true
		return false
	}
	if t.fs.root == "" {
		if same, ok := sameMemory(m.pid, p.pid); ok {
			m.ownMemory = !same
			return same || !t.read(m) || m.last.Size == 0
		}
	}
	// The kernel does not say. Two processes with the same figures to the byte
	// are most likely one memory, or a fork that has not written yet.
	return m.last == p.last
}

// subtree returns a member and those that became members through it.
func (t *Tree) subtree(pid int) []*member {
	top := t.members[pid]
	if top == nil {
		return nil
	}
	in := map[int]bool{pid: true}
	list := []*member{top}
	for i := 0; i < len(list); i++ {
		for _, m := range t.order {
			if m.parent == list[i].pid && !in[m.pid] {
				in[m.pid] = true
				list = append(list, m)
			}
		}
	}
	return list
}

// orphanRoot returns the root of an orphan whose parent was never seen: the
// only one, or the only one that has members in its process group or else in
// its session. 0 if that leaves several.
func (t *Tree) orphanRoot(s Stat) int {
	if root, ok := t.onlyRoot(func(m *member) bool { return m.pgrp == s.PGRP }); ok {
		return root
	}
	if root, ok := t.onlyRoot(func(m *member) bool { return m.sess == s.Session }); ok {
		return root
	}
	root, _ := t.onlyRoot(func(*member) bool { return true })
	return root
}

func (t *Tree) onlyRoot(match func(*member) bool) (root int, ok bool) {
	for _, m := range slices.Concat(t.roots, t.order) {
		if m.root == 0 || !match(m) {
			continue
		}
		if root != 0 && root != m.root {
			return 0, false
		}
		root = m.root
	}
	return root, root != 0
}
