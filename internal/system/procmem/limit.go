package procmem

// A Limit is the memory limit in effect for a process: the smallest of its cgroup and of all
// cgroups above it, in version 1 and version 2 hierarchies.
type Limit struct {
	Bytes uint64
	// Dir is the directory of the level whose limit it is. Hidden says that it is the limit of
	// a level above Dir, which is the outermost that can be seen from here: version 1 tells its
	// number.
	Dir    string
	Hidden bool
	// Memory is what that level uses; where it is hidden, what Dir does.
	Memory GroupMemory
	Group  MemoryGroup
}

// Level names the level of the hierarchy whose limit it is.
func (l Limit) Level() string {
	if l.Hidden {
		return "a cgroup above " + l.Dir
	}
	return l.Dir
}

// MemoryLimit returns the memory limit in effect for a process; pid 0 is the calling process. ok
// is false when nothing limits it: a limit of what the machine has or more is none. In a
// container of version 2 the limits above the mounted directory cannot be seen.
//
// memory.high is not a limit in this sense: it slows a process down and never ends it.
func (f FS) MemoryLimit(pid int) (l Limit, ok bool, err error) {
	groups, err := f.MemoryGroups(pid)
	if err != nil {
		return Limit{}, false, err
	}
	return f.LimitOf(groups)
}

// LimitOf is MemoryLimit for a memory cgroup and those above it.
func (f FS) LimitOf(groups []MemoryGroup) (l Limit, ok bool, err error) {
	all := make([]GroupMemory, len(groups))
	for i, g := range groups {
		if all[i], err = g.Read(); err != nil {
			return Limit{}, false, err
		}
	}
	var total *uint64
	if m, err := f.Meminfo(); err == nil {
		total = m.MemTotal
	}
	i, bytes, hidden := LimitInEffect(all, total)
	if i < 0 {
		return Limit{}, false, nil
	}
	return Limit{Bytes: bytes, Dir: f.GroupDir(groups[i]), Hidden: hidden, Memory: all[i], Group: groups[i]}, true, nil
}

// Bound is the smallest limit of a level and of all above it that is known there; nil for none.
func (m GroupMemory) Bound() *uint64 {
	if m.Limit == nil || m.Inherited != nil && *m.Inherited < *m.Limit {
		return m.Inherited
	}
	return m.Limit
}

// LimitInEffect returns the smallest limit of the levels of a hierarchy, the innermost first, and
// the index of its level; -1 for none. hidden says that it is the limit of a level above that
// one. total is the memory of the machine; nil for not known.
func LimitInEffect(levels []GroupMemory, total *uint64) (level int, bytes uint64, hidden bool) {
	level = -1
	for i, m := range levels {
		if m.Limit != nil && (level < 0 || *m.Limit < bytes) {
			level, bytes = i, *m.Limit
		}
	}
	for i, m := range levels {
		if m.Inherited != nil && (level < 0 || *m.Inherited < bytes) {
			bytes, hidden = *m.Inherited, true
		}
		if hidden {
			level = i // the outermost
		}
	}
	if total != nil && level >= 0 && bytes >= *total {
		return -1, 0, false
	}
	return level, bytes, hidden
}
