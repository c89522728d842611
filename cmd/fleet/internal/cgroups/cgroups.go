// Package cgroups finds the cgroup of a container by the container's ID, and reads what it
// uses and may use. It goes by the directories alone: the paths in /proc are those of the
// reader's cgroup namespace, which in a container is another than the host's.
package cgroups

import (
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/charge"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A Root is where hierarchies are mounted: /sys/fs/cgroup of the host. It is for one
// goroutine.
type Root struct {
	dir     string
	unified bool
	now     func() time.Time

	index  map[string]string // directory, below the hierarchy, by container's ID
	walked time.Time
}

// Open looks at what is mounted at dir. A directory that is none has no cgroups.
func Open(dir string) *Root {
	_, err := os.Stat(filepath.Join(dir, "cgroup.controllers"))
	return &Root{dir: dir, unified: err == nil, now: time.Now}
}

// Found reports whether a hierarchy is mounted there.
func (r *Root) Found() bool {
	_, err := os.Stat(r.hierarchy("memory"))
	return err == nil
}

const (
	depth    = 10
	mostDirs = 1 << 16
	// walkEvery is the least time between two walks: containers that were not found once
	// are looked for again with the next.
	walkEvery = 10 * time.Second
	idLength  = 64
)

// hierarchy is the directory of a controller.
func (r *Root) hierarchy(controller string) string {
	if r.unified {
		return r.dir
	}
	return filepath.Join(r.dir, controller)
}

// Find returns the cgroup of a container.
func (r *Root) Find(id string) (Dir, bool) {
	if len(id) != idLength {
		return Dir{}, false
	}
	below, ok := r.index[id]
	if !ok && (r.walked.IsZero() || r.now().Sub(r.walked) >= walkEvery) {
		r.walk()
		below, ok = r.index[id]
	}
	return Dir{root: r, below: below}, ok
}

// walk makes the index anew: containers that are gone are gone from it, too.
func (r *Root) walk() {
	r.index, r.walked = make(map[string]string), r.now()
	root := r.hierarchy("memory")
	seen := 0
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // it ended meanwhile
		}
		if seen++; seen > mostDirs {
			return filepath.SkipAll
		}
		below := strings.TrimPrefix(path, root)
		if id, ok := containerID(d.Name()); ok {
			r.index[id] = below
			return filepath.SkipDir // what is below is the container's own
		}
		if strings.Count(below, "/") >= depth {
			return filepath.SkipDir
		}
		return nil
	})
}

// containerID reads the name of a directory: ID, runtime-ID.scope or slice:runtime:ID.
func containerID(name string) (string, bool) {
	name = strings.TrimSuffix(name, ".scope")
	if len(name) < idLength {
		return "", false
	}
	id, before := name[len(name)-idLength:], name[:len(name)-idLength]
	if strings.Trim(id, "0123456789abcdef") != "" || strings.HasSuffix(before, "conmon-") {
		return "", false
	}
	return id, before == "" || strings.HasSuffix(before, "-") || strings.HasSuffix(before, ":")
}

// A Dir is the cgroup of a container.
type Dir struct {
	root  *Root
	below string
}

// Usage is what a container uses and may use; nil is not known.
type Usage struct {
	Memory      *uint64      // bytes charged, page cache included
	Charged     []charge.Sum // what for; nil if the kernel does not say
	PageCache   *uint64      // bytes of files, without shared memory
	MemoryLimit *uint64      // bytes, the least of this cgroup and those above; nil: none
	CPU         *float64     // seconds
	CPULimit    *float64     // cores, likewise; nil: none
}

// Read reads it. ok is false where the cgroup is no more.
func (d Dir) Read() (u Usage, ok bool) {
	memory, cpu, cpuacct := d.root.hierarchy("memory"), d.root.hierarchy("cpu"), d.root.hierarchy("cpuacct")
	at := filepath.Join(memory, d.below)
	group := charge.Group{MemoryGroup: procmem.MemoryGroupAt(at, d.root.unified), Dir: at, Unified: d.root.unified}
	c, err := group.Charge()
	if err != nil {
		if c.Usage, err = group.Usage(); err != nil {
			return Usage{}, false
		}
	}
	u.Memory = &c.Usage
	if c.Cache != nil && c.Anonymous != nil {
		u.Charged = (&charge.Source{Group: group}).Of(c).Sums()
	}
	if c.Cache != nil {
		u.PageCache = c.Cache
		if c.Shared != nil {
			u.PageCache = new(*c.Cache - min(*c.Cache, *c.Shared))
		}
	}
	if d.root.unified {
		if stat, err := procmem.ReadKeyed(filepath.Join(cpu, d.below, "cpu.stat"), "usage_usec"); err == nil {
			if n, ok := stat["usage_usec"]; ok {
				u.CPU = new(float64(n) / 1e6)
			}
		}
	} else if n, err := procmem.ReadNumber(filepath.Join(cpuacct, d.below, "cpuacct.usage")); err == nil && n != nil {
		u.CPU = new(float64(*n) / 1e9)
	}
	for below := range d.levels() {
		if cores, ok := d.root.quota(filepath.Join(cpu, below)); ok && (u.CPULimit == nil || cores < *u.CPULimit) {
			u.CPULimit = &cores
		}
	}
	u.MemoryLimit = d.Bound()
	return u, true
}

// levels are the directories of the cgroup and of those above it, below the hierarchy.
func (d Dir) levels() iter.Seq[string] {
	return func(yield func(string) bool) {
		for below := d.below; below != "/" && below != "." && below != "" && yield(below); below = filepath.Dir(below) {
		}
	}
}

// Bound reads the least memory limit of the cgroup and of those above it, in bytes; nil: none.
func (d Dir) Bound() *uint64 {
	limit := "memory.limit_in_bytes"
	if d.root.unified {
		limit = "memory.max"
	}
	var levels []procmem.GroupMemory
	for below := range d.levels() {
		n, _ := procmem.ReadNumber(filepath.Join(d.root.hierarchy("memory"), below, limit)) // what cannot be read limits nothing that is known
		levels = append(levels, procmem.GroupMemory{Limit: n})
	}
	if i, bytes, _ := procmem.LimitInEffect(levels, nil); i >= 0 {
		return &bytes
	}
	return nil
}

// Limit returns the memory limit in effect, with what is charged to its level; ok is false where
// there is none. fs has the memory of the machine.
func (d Dir) Limit(fs procmem.FS) (l procmem.Limit, ok bool, err error) {
	memory := d.root.hierarchy("memory")
	if _, err := os.Stat(filepath.Join(memory, d.below)); err != nil {
		return l, false, err
	}
	var groups []procmem.MemoryGroup
	for below := range d.levels() {
		groups = append(groups, procmem.MemoryGroupAt(filepath.Join(memory, below), d.root.unified))
	}
	return fs.LimitOf(groups)
}

// quota reads the CPU limit of one directory.
func (r *Root) quota(dir string) (cores float64, ok bool) {
	var quota, period float64
	if r.unified {
		data, err := os.ReadFile(filepath.Join(dir, "cpu.max"))
		fields := strings.Fields(string(data))
		if err != nil || len(fields) != 2 {
			return 0, false
		}
		quota, err = strconv.ParseFloat(fields[0], 64)
		if err != nil {
			return 0, false // max
		}
		period, _ = strconv.ParseFloat(fields[1], 64)
	} else {
		text := func(name string) float64 {
			data, err := os.ReadFile(filepath.Join(dir, name))
			n, perr := strconv.ParseFloat(strings.TrimSpace(string(data)), 64)
			if err != nil || perr != nil {
				return -1
			}
			return n
		}
		quota, period = text("cpu.cfs_quota_us"), text("cpu.cfs_period_us")
	}
	if !(quota > 0) || !(period > 0) {
		return 0, false
	}
	return quota / period, true
}
