package procmem

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"syscall"
)

// MemoryGroup is a directory of a memory cgroup, of either version.
type MemoryGroup struct {
	dir     string
	unified bool
}

// MemoryGroupAt is the memory cgroup of a directory, of version 2 or not.
func MemoryGroupAt(dir string, unified bool) MemoryGroup {
	return MemoryGroup{dir: dir, unified: unified}
}

// GroupMemory is what a memory cgroup allows and uses, in bytes. What the kernel
// does not say is nil: the root of version 2 has none of these files.
type GroupMemory struct {
	Limit *uint64 // beyond it, processes are killed; nil also for no limit
	// Inherited is the smallest limit of the group and all above it, those included that cannot
	// be seen from here; nil also for no limit, and in version 2.
	Inherited *uint64
	High      *uint64 // beyond it, processes are slowed down; nil also for no limit, and in version 1
	Usage     *uint64 // with the page cache and the kernel's own memory for the group

	// Page cache that was not used lately, and that was. The kernel takes the
	// first back easily. Both are part of Usage.
	InactiveFile *uint64
	ActiveFile   *uint64
	// What was released of huge pages that are otherwise in use: no process has it mapped,
	// yet it is part of Usage until the group runs short and the kernel splits them. nil
	// where the kernel does not say what the rest of Usage is.
	Unsplit *uint64

	// Parts of Usage that the kernel cannot take back without swap: anonymous memory, shared
	// memory with tmpfs, and its own but for the caches of directories.
	Anonymous, Shared, Kernel *uint64
}

// Fixed is what of Usage the kernel cannot take back without swap; nil for not known.
func (m GroupMemory) Fixed() *uint64 {
	if m.Anonymous == nil || m.Shared == nil {
		return nil
	}
	n := *m.Anonymous + *m.Shared
	if m.Kernel != nil {
		n += *m.Kernel
	}
	if m.Usage != nil {
		n = min(n, *m.Usage) // they are read one after the other
	}
	return &n
}

// MemoryGroups returns the memory cgroups that a process is in, from its own up
// to the root or as far as can be seen. pid 0 is the calling process. There are
// none where nothing counts memory.
func (f FS) MemoryGroups(pid int) ([]MemoryGroup, error) {
	groups, err := load(f.procPath(pid, "cgroup"), parseCgroup)
	if err != nil {
		return nil, err
	}
	mounts, err := f.mounts()
	if err != nil {
		return nil, err
	}
	var out []MemoryGroup
	for _, g := range groups {
		if !g.unified() && !slices.Contains(g.controllers, "memory") {
			continue
		}
		for _, dir := range limitDirs(g, mounts, "memory") {
			out = append(out, MemoryGroup{dir: f.path(dir), unified: g.unified()})
		}
	}
	return out, nil
}

// Read reads what the group allows and uses now.
func (g MemoryGroup) Read() (m GroupMemory, err error) {
	limit, usage, inactive, active, anon, shared := "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", "total_active_file", "total_rss", "total_shmem"
	if g.unified {
		limit, usage, inactive, active, anon, shared = "memory.max", "memory.current", "inactive_file", "active_file", "anon", "shmem"
		if m.High, err = g.number("memory.high"); err != nil {
			return GroupMemory{}, err
		}
	}
	if m.Limit, err = g.number(limit); err != nil {
		return GroupMemory{}, err
	}
	if m.Usage, err = g.number(usage); err != nil {
		return GroupMemory{}, err
	}
	stat, err := ReadKeyed(g.dir+"/memory.stat", append(g.parts(), inactive, active, shared, inherited, "slab_reclaimable")...)
	if err != nil {
		return GroupMemory{}, err
	}
	if m.Kernel, err = g.kernel(stat); err != nil {
		return GroupMemory{}, err
	}
	m.Unsplit = g.unsplit(m.Usage, m.Kernel, stat)
	if m.Kernel != nil {
		m.Kernel = new(*m.Kernel - min(*m.Kernel, stat["slab_reclaimable"]))
	}
	for name, to := range map[string]**uint64{inactive: &m.InactiveFile, active: &m.ActiveFile, anon: &m.Anonymous, shared: &m.Shared} {
		if n, ok := stat[name]; ok {
			*to = &n
		}
	}
	if n, ok := stat[inherited]; ok && n < unlimited {
		m.Inherited = &n
	}
	return m, nil
}

// inherited is in memory.stat of version 1.
const inherited = "hierarchical_memory_limit"

// parts are the lines of memory.stat that add up to what is mapped, in the page cache, or
// the kernel's. The last ones are parts of "kernel", which Linux 5.18 and later have: zswap is
// charged as the kernel's memory (mm/memcontrol.c, obj_cgroup_charge_zswap).
func (g MemoryGroup) parts() []string {
	if !g.unified {
		return []string{"total_rss", "total_cache"}
	}
	return []string{"anon", "file", "sock", "hugetlb", "kernel", "kernel_stack", "pagetables", "percpu", "vmalloc", "slab"}
}

// kernel is the kernel's own memory for the group; nil for not known.
func (g MemoryGroup) kernel(stat map[string]uint64) (*uint64, error) {
	if !g.unified {
		return g.number("memory.kmem.usage_in_bytes")
	}
	if v, ok := stat["kernel"]; ok {
		return &v, nil
	}
	slab, ok := stat["slab"]
	if !ok {
		return nil, nil
	}
	return new(slab + stat["kernel_stack"] + stat["pagetables"] + stat["percpu"] + stat["vmalloc"]), nil
}

// unsplit is what the parts leave of usage.
func (g MemoryGroup) unsplit(usage, kernel *uint64, stat map[string]uint64) *uint64 {
	if usage == nil || kernel == nil {
		return nil
	}
	const must = 2
	left := int64(*usage - min(*usage, *kernel))
	for i, name := range g.parts()[:min(len(g.parts()), 4)] { // the others are the kernel's
		n, ok := stat[name]
		if !ok && i < must {
			return nil
		}
		left -= int64(min(n, *usage))
	}
	return new(uint64(max(left, 0)))
}

func (g MemoryGroup) number(file string) (*uint64, error) { return ReadNumber(g.dir + "/" + file) }

// absent is as in noLimit: a directory that is not there, or a root without
// these files.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENODEV)
}

// parseKeyed picks some lines "name value", as memory.stat has them.
func parseKeyed(data []byte, names ...string) (map[string]uint64, error) {
	out := make(map[string]uint64, len(names))
	for line := range bytes.Lines(data) {
		name, value, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		if !ok || !slices.Contains(names, string(name)) {
			continue
		}
		n, err := strconv.ParseUint(string(value), 10, 64)
		if err != nil {
			return nil, err
		}
		out[string(name)] = n
	}
	return out, nil
}
