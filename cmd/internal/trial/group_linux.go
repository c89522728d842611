package trial

import (
	"errors"
	"fmt"
	"time"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/cgroup"
	"github.com/foliomem/folio/internal/system/procmem"
)

// groupUsage is what the cgroup of the trial counted so far; nothing where there is none.
func (r *running) groupUsage() (u cgroup.Usage) {
	if r.group == nil {
		return u
	}
	u, err := r.group.Usage()
	if err != nil && r.groupErr == nil {
		r.groupErr = fmt.Errorf("read the cgroup of the program: %w", err)
	}
	return u
}

// memoryLimit is the memory limit of the trial's cgroup; nil for none.
func (p *Program) memoryLimit() *uint64 {
	if p.Cgroups == nil {
		return nil
	}
	return p.Cgroups.Limits.Memory
}

// charged reads what is charged to the cgroup whose memory limit the trial has, and the kernel
// cannot take back. It is nil where there is no limit.
func (r *running) charged() func() (uint64, bool) {
	switch {
	case r.group != nil && r.p.memoryLimit() != nil:
		return func() (uint64, bool) { return fixed(r.group.Memory()) }
	case r.p.Container != nil:
		return func() (uint64, bool) {
			m, err := r.p.Container.Group.Read()
			return fixed(m, true, err)
		}
	}
	return nil
}

func fixed(m procmem.GroupMemory, ok bool, err error) (uint64, bool) {
	n := m.Fixed()
	if err != nil || !ok || n == nil {
		return 0, false
	}
	return *n, true
}

// fillGroup fills in what the cgroup of the trial counted: of a server, under load.
func (r *running) fillGroup(out *Sample) {
	if r.group == nil {
		return
	}
	u := r.groupUsage()
	c := u
	if r.p.Server != nil {
		c = r.underLoad
	}
	out.Counts = &Counts{
		CPUPeriods: c.Periods, ThrottledPeriods: c.Throttled, Throttled: seconds(c.ThrottledFor),
		MemoryStall: seconds(c.Stalled), MemoryFullStall: seconds(c.FullStalled),
		FileRefaults: c.RefaultFile, AnonRefaults: c.RefaultAnon, CgroupPeak: u.Peak, OOMKills: u.OOMKills,
	}
	if u.OOMKills != nil && *u.OOMKills > 0 && !out.OverMemory {
		out.Failure = outOfMemory(r.p.Cgroups.Limits, u)
		out.Charged = r.sampler.charged.text()
	}
}

// outOfMemory is why a trial failed in which the OOM killer ended a process.
func outOfMemory(l cgroup.Limits, u cgroup.Usage) string {
	peak := "unknown"
	if u.Peak != nil {
		peak = unit.Size(*u.Peak)
		if *u.Peak == *l.Memory {
			peak = unit.Exact(*u.Peak)
		}
	}
	if u.AtLimit {
		return fmt.Sprintf("killed by the kernel's OOM killer: memory of the cgroup reached its limit of %s (peak %s)", unit.Exact(*l.Memory), peak)
	}
	return fmt.Sprintf("killed by the kernel's OOM killer: the machine or a cgroup above ran out of memory, not the limit of %s (peak %s)",
		unit.Exact(*l.Memory), peak)
}

func seconds(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	return new(d.Seconds())
}

// endGroup removes the cgroup of the trial.
func (r *running) endGroup() error {
	if r.group == nil {
		return nil
	}
	return errors.Join(r.groupErr, r.group.Remove())
}
