package gctune

import (
	"sync/atomic"
	"time"

	"github.com/foliomem/folio/internal/library/gccontrol"
	"github.com/foliomem/folio/internal/system/procmem"
)

// budgeter finds what this process may use.
type budgeter struct {
	fs     procmem.FS
	groups []procmem.MemoryGroup // each level has a budget, by what is left of its limit: the least counts
	waits  procmem.PressureSource
	wish   atomic.Uint64 // Options.Budget; 0 for none
	keep   uint64        // Options.Reserve
	total  uint64        // of the machine, where nothing better is known

	at       time.Time
	budget   uint64
	reserve  uint64
	hard     uint64
	limited  bool // by a cgroup
	pressure float64
	waited   time.Duration // for memory, until waitedAt
	waitedAt time.Time
	source   atomic.Pointer[string]
}

const (
	budgetEvery  = time.Second
	machineShare = 4 // where nothing limits the process it gets this part of what is available
	maxReserve   = 1 << 30
	minSlack     = 4 << 20
)

func newBudgeter(fs procmem.FS, o *Options) *budgeter {
	b := &budgeter{fs: fs, keep: o.Reserve, total: machineMemory(), waits: fs.PressureSource(0)}
	b.wish.Store(o.Budget)
	// Without /proc there are no groups, and the machine's memory has to do.
	b.groups, _ = fs.MemoryGroups(0)
	return b
}

// read puts the budget, what lies beyond it and the pressure into a sample; they
// are 0 when unknown. anon is what the process itself uses.
func (b *budgeter) read(s *gccontrol.Sample, now time.Time, anon uint64) {
	if b.at.IsZero() || now.Sub(b.at) >= budgetEvery {
		b.at = now
		b.refresh(now, anon)
	}
	s.Budget, s.Reserve, s.Hard, s.Pressure, s.Limited = b.budget, b.reserve, b.hard, b.pressure, b.limited
	if w := b.wish.Load(); w > 0 {
		s.Budget, s.Reserve, s.Limited = w, 0, true
		if s.Hard > 0 {
			s.Budget = min(s.Budget, s.Hard)
		}
	}
}

func (b *budgeter) refresh(now time.Time, anon uint64) {
	b.budget, b.reserve, b.hard = 0, 0, 0
	source := "unknown"
	var machine uint64
	if m, err := b.fs.Meminfo(); err == nil && m.MemAvailable != nil {
		// Swap would make the machine's memory seem larger than it is: it is not
		// counted.
		machine = anon + *m.MemAvailable
		b.budget, b.hard, source = machine/machineShare, machine-machine/20, "a quarter of the machine's available memory"
	} else if b.total > 0 {
		b.budget, source = b.total/machineShare, "a quarter of the machine's memory"
	}
	b.limited = false
	for _, g := range b.groups {
		m, err := g.Read()
		if err != nil {
			continue
		}
		budget, reserve, hard := b.within(m, anon)
		if budget > 0 && (!b.limited || budget < b.budget) {
			if !b.limited && machine > 0 {
				// A container may be promised more than the machine has.
				if most := machine - machine/10; budget > most {
					budget, reserve = most, 0
				}
			}
			b.budget, b.reserve, b.limited, source = budget, reserve, true, "the memory limit of the cgroup "+b.fs.GroupDir(g)
		}
		if hard > 0 && (b.hard == 0 || hard < b.hard) {
			b.hard = hard
		}
	}
	if b.wish.Load() > 0 {
		source = "the program's own setting"
	}
	b.source.Store(&source)
	b.pressure = b.pressed(now)
}

// within is what a group leaves to this process.
func (b *budgeter) within(m procmem.GroupMemory, anon uint64) (budget, reserve, hard uint64) {
	// Beyond memory.high, what asks for memory is made to wait, for so long that
	// it is no better than being killed.
	limit := m.Bound()
	if limit == nil || m.High != nil && *m.High < *limit {
		limit = m.High
	}
	if limit == nil {
		return 0, 0, 0
	}
	others := func(cache ...*uint64) uint64 {
		if m.Usage == nil {
			return 0
		}
		n := less(*m.Usage, anon)
		for _, c := range cache {
			if c != nil {
				n = less(n, *c)
			}
		}
		return n
	}
	slack := max(*limit/40, minSlack)
	reserve = b.keep
	if reserve == 0 {
		reserve = min(*limit/20, maxReserve)
	}
	reserve = max(reserve, slack)
	// Not 0, which would mean that there is no limit.
	budget = max(less(*limit, others(m.InactiveFile, m.Unsplit)+reserve), 1)
	hard = max(less(*limit, others(m.InactiveFile, m.Unsplit, m.ActiveFile)+slack), 1)
	return budget, reserve - slack, hard
}

// pressed is the part of the time since the last look in which some thread
// waited for memory, in the own cgroup where the kernel says it, else on the
// machine.
func (b *budgeter) pressed(now time.Time) float64 {
	p, ok, err := b.waits.Read()
	if err != nil || !ok {
		b.waitedAt = time.Time{}
		return 0
	}
	last, since := b.waited, b.waitedAt
	b.waited, b.waitedAt = p.Some, now
	if since.IsZero() || !now.After(since) {
		return 0
	}
	return min(max(float64(p.Some-last)/float64(now.Sub(since)), 0), 1)
}

// less is a-b, 0 where b is larger.
func less(a, b uint64) uint64 {
	if a < b {
		return 0
	}
	return a - b
}
