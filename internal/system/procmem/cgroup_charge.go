package procmem

// GroupCharge is what a memory cgroup and those below it are charged for, in bytes. What the
// kernel does not say is nil: version 1 divides Kernel no further.
type GroupCharge struct {
	Usage uint64 // memory.current, memory.usage_in_bytes

	// Anonymous is mapped by some process. Cache is the page cache with Shared and SwapCached;
	// Shared is tmpfs, memfd, System V and shared anonymous memory.
	Anonymous, Cache, Shared *uint64
	SwapCached               *uint64 // of Cache: pages that are in swap, too
	Mapped                   *uint64 // of Cache: mapped by some process
	Dirty, Writeback         *uint64 // of Cache

	ActiveAnon, InactiveAnon *uint64 // with Shared, and with what is charged and not mapped
	ActiveFile, InactiveFile *uint64 // with anonymous memory that was freed by MADV_FREE
	Unevictable              *uint64 // locked

	Kernel        *uint64 // all of the kernel's own but Sockets: the sum of the next ones is part of it
	Reclaimable   *uint64 // slab: entries of directories, inodes
	Unreclaimable *uint64 // other slab
	Stacks        *uint64 // of threads in the kernel
	PageTables    *uint64
	PerCPU        *uint64
	Vmalloc       *uint64
	Zswap         *uint64 // compressed

	Sockets *uint64 // of version 1 no part of Usage: it charges them to memory.kmem.tcp
	Hugetlb *uint64 // where hugetlb pages are charged as other memory is
	Swap    *uint64 // not part of Usage
}

// Usage reads how much the group and those below it are charged.
func (g MemoryGroup) Usage() (uint64, error) {
	usage := "memory.usage_in_bytes"
	if g.unified {
		usage = "memory.current"
	}
	return load(g.dir+"/"+usage, parseCount)
}

// Charge reads what the group and those below it are charged for. The error is of a directory
// that is no memory cgroup, or one that does not count: the root of version 2.
func (g MemoryGroup) Charge() (c GroupCharge, err error) {
	kernel, swap, prefix := "memory.kmem.usage_in_bytes", "", "total_"
	if g.unified {
		kernel, swap, prefix = "", "memory.swap.current", ""
	}
	if c.Usage, err = g.Usage(); err != nil {
		return c, err
	}
	fields := map[string]**uint64{
		"active_anon": &c.ActiveAnon, "inactive_anon": &c.InactiveAnon, "active_file": &c.ActiveFile, "inactive_file": &c.InactiveFile,
		"unevictable": &c.Unevictable, "shmem": &c.Shared, "swapcached": &c.SwapCached,
	}
	own := map[string]**uint64{"rss": &c.Anonymous, "cache": &c.Cache, "mapped_file": &c.Mapped, "dirty": &c.Dirty, "writeback": &c.Writeback, "swap": &c.Swap}
	if g.unified {
		own = map[string]**uint64{
			"anon": &c.Anonymous, "file": &c.Cache, "file_mapped": &c.Mapped, "file_dirty": &c.Dirty, "file_writeback": &c.Writeback,
			"kernel": &c.Kernel, "slab_reclaimable": &c.Reclaimable, "slab_unreclaimable": &c.Unreclaimable, "kernel_stack": &c.Stacks,
			"pagetables": &c.PageTables, "percpu": &c.PerCPU, "vmalloc": &c.Vmalloc, "zswap": &c.Zswap, "sock": &c.Sockets, "hugetlb": &c.Hugetlb,
		}
	}
	var names []string
	all := make(map[string]**uint64)
	for _, of := range []map[string]**uint64{fields, own} {
		for name, to := range of {
			names, all[prefix+name] = append(names, prefix+name), to
		}
	}
	stat, err := load(g.dir+"/memory.stat", func(data []byte) (map[string]uint64, error) { return parseKeyed(data, names...) })
	if err != nil {
		return c, err
	}
	for name, n := range stat {
		*all[name] = &n
	}
	switch {
	case kernel != "":
		c.Kernel, err = g.number(kernel)
		if err == nil {
			c.Sockets, err = g.number("memory.kmem.tcp.usage_in_bytes")
		}
	case c.Kernel == nil && c.Unreclaimable != nil: // before Linux 5.18
		c.Kernel = new(sum(c.Reclaimable, c.Unreclaimable, c.Stacks, c.PageTables, c.PerCPU, c.Vmalloc, c.Zswap))
	}
	if err == nil && swap != "" {
		c.Swap, err = g.number(swap)
	}
	return c, err
}

func parseCount(data []byte) (uint64, error) {
	n, err := parseLimit(data)
	if err == nil && n == nil {
		err = errOverflow
	}
	if err != nil {
		return 0, err
	}
	return *n, nil
}

// sum adds up what is known.
func sum(all ...*uint64) (n uint64) {
	for _, v := range all {
		if v != nil {
			n += *v
		}
	}
	return n
}

// Listed is what lists of pages have: all that is charged and not the kernel's, mapped or not.
// nil where the kernel does not say.
func (c *GroupCharge) Listed() *uint64 {
	if c.ActiveAnon == nil || c.InactiveAnon == nil || c.ActiveFile == nil || c.InactiveFile == nil {
		return nil
	}
	return new(sum(c.ActiveAnon, c.InactiveAnon, c.ActiveFile, c.InactiveFile, c.Unevictable))
}
