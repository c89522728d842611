package cgroup

import (
	"path/filepath"
	"time"

	"github.com/foliomem/folio/internal/system/procmem"
)

// Usage is what the kernel counted of a group so far. What it does not say, or has no limit
// to count by, is nil.
type Usage struct {
	Periods      *uint64        // of the CPU quota in which something ran
	Throttled    *uint64        // of those: in which it ran out
	ThrottledFor *time.Duration // all CPUs together
	Stalled      *time.Duration // some task waited for memory (PSI); version 2
	FullStalled  *time.Duration // all tasks did
	RefaultFile  *uint64        // pages that came back to the page cache soon after they were reclaimed
	RefaultAnon  *uint64
	Peak         *uint64 // memory with page cache and the kernel's own; version 2 since Linux 5.19
	OOMKills     *uint64 // processes that any OOM killer ended
	AtLimit      bool    // it was for the limit of the group itself, not for want of memory elsewhere
}

// Usage reads what the kernel counted.
func (g *Group) Usage() (u Usage, err error) {
	for i, p := range g.parent.places {
		dir := g.dirs[i]
		if p.has(cpu) {
			if err := u.readCPU(dir, p.unified); err != nil {
				return Usage{}, err
			}
		}
		if p.has(memory) {
			if err := u.readMemory(dir, p.unified, *g.parent.Limits.Memory); err != nil {
				return Usage{}, err
			}
		}
	}
	return u, nil
}

// MemoryDir is the directory that its memory is charged to; "" where its memory is not limited.
func (g *Group) MemoryDir() string {
	for i, p := range g.parent.places {
		if p.has(memory) {
			return g.dirs[i]
		}
	}
	return ""
}

// Memory reads what is charged to the group; ok is false where its memory is not limited.
func (g *Group) Memory() (m procmem.GroupMemory, ok bool, err error) {
	for i, p := range g.parent.places {
		if p.has(memory) {
			m, err = procmem.MemoryGroupAt(g.dirs[i], p.unified).Read()
			return m, err == nil, err
		}
	}
	return m, false, nil
}

// Waits reads for how long the program was kept waiting: ThrottledFor and Stalled, and what
// is in the same files. It takes some ten microseconds for each limit, where [Group.Usage] reads
// five files. The kernel counts throttling when it ends, and adds up stalls every two seconds.
func (g *Group) Waits() (u Usage, err error) {
	for i, p := range g.parent.places {
		if p.has(cpu) {
			if err := u.readCPU(g.dirs[i], p.unified); err != nil {
				return Usage{}, err
			}
		}
		if p.has(memory) && p.unified {
			if err := u.readPressure(g.dirs[i]); err != nil {
				return Usage{}, err
			}
		}
	}
	return u, nil
}

func (u *Usage) readPressure(dir string) error {
	p, ok, err := procmem.ReadPressure(filepath.Join(dir, "memory.pressure"))
	if ok {
		u.Stalled, u.FullStalled = &p.Some, &p.Full
	}
	return err
}

func (u *Usage) readCPU(dir string, unified bool) error {
	spent, unit := "throttled_time", time.Nanosecond
	if unified {
		spent, unit = "throttled_usec", time.Microsecond
	}
	stat, err := procmem.ReadKeyed(filepath.Join(dir, "cpu.stat"), "nr_periods", "nr_throttled", spent)
	if err != nil {
		return err
	}
	u.Periods, u.Throttled = picked(stat, "nr_periods"), picked(stat, "nr_throttled")
	if n, ok := stat[spent]; ok {
		u.ThrottledFor = new(time.Duration(n) * unit)
	}
	return nil
}

func (u *Usage) readMemory(dir string, unified bool, limit uint64) (err error) {
	peak, events, total := "memory.max_usage_in_bytes", "memory.oom_control", "total_"
	if unified {
		peak, events, total = "memory.peak", "memory.events", ""
		if err := u.readPressure(dir); err != nil {
			return err
		}
	}
	if u.Peak, err = procmem.ReadNumber(filepath.Join(dir, peak)); err != nil {
		return err
	}
	kills, err := procmem.ReadKeyed(filepath.Join(dir, events), "oom_kill", "oom")
	if err != nil {
		return err
	}
	u.OOMKills = picked(kills, "oom_kill")
	if u.AtLimit = kills["oom"] > 0; !unified {
		// Version 1 does not say whose limit it was (memory.failcnt is 0 on some kernels, and
		// counts what could be reclaimed): what is asked for at a time is a huge page at most.
		const most = 2 << 20
		u.AtLimit = u.OOMKills != nil && *u.OOMKills > 0 && u.Peak != nil && *u.Peak+most >= limit
	}
	const file, anon, both = "workingset_refault_file", "workingset_refault_anon", "workingset_refault"
	stat, err := procmem.ReadKeyed(filepath.Join(dir, "memory.stat"), total+file, total+anon, total+both)
	if err != nil {
		return err
	}
	u.RefaultFile, u.RefaultAnon = picked(stat, total+file), picked(stat, total+anon)
	if u.RefaultFile == nil {
		u.RefaultFile = picked(stat, total+both) // before Linux 5.9 only those of files were counted
	}
	return nil
}

func picked(stat map[string]uint64, name string) *uint64 {
	if n, ok := stat[name]; ok {
		return &n
	}
	return nil
}

// Since returns what was counted after an earlier look. Peak, OOMKills and AtLimit are of
// the whole time.
func (u Usage) Since(before Usage) Usage {
	u.Periods, u.Throttled = less(u.Periods, before.Periods), less(u.Throttled, before.Throttled)
	u.RefaultFile, u.RefaultAnon = less(u.RefaultFile, before.RefaultFile), less(u.RefaultAnon, before.RefaultAnon)
	u.ThrottledFor = less(u.ThrottledFor, before.ThrottledFor)
	u.Stalled, u.FullStalled = less(u.Stalled, before.Stalled), less(u.FullStalled, before.FullStalled)
	return u
}

func less[T uint64 | time.Duration](after, before *T) *T {
	if after == nil || before == nil {
		return nil
	}
	return new(*after - min(*before, *after))
}
