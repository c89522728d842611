package inspect

import (
	"fmt"
	"strings"

	"github.com/foliomem/folio/internal/base/advice"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/feature"
	"github.com/foliomem/folio/internal/system/procmem"
)

// Policy is what system and program want about transparent huge pages, as far as it
// is known.
type Policy struct {
	System procmem.THP
	// Allowed is false after prctl PR_SET_THP_DISABLE, in the process or the one that
	// started it; nil before kernel 5.0.
	Allowed *bool
	// Advised and Against are the resident bytes that the program advised for huge
	// pages (MADV_HUGEPAGE) and against them; nil if they could not be seen.
	Advised, Against *uint64
	// Collapse says why the kernel cannot make huge pages of memory that exists; nil
	// if it can.
	Collapse error
}

func (s *System) policy(status procmem.Status, a *areas) Policy {
	p := Policy{Allowed: status.THPEnabled, Collapse: feature.Have(feature.Collapse)}
	p.System, _ = s.FS.THP() // what is unknown stays unknown
	if a != nil {
		p.Advised, p.Against = &a.advised, &a.against
	}
	return p
}

// Disabled reports whether the process has no huge pages at all, whatever it advised.
func (p Policy) Disabled() bool { return p.Allowed != nil && !*p.Allowed }

// Means says what the policy does for the memory, in a line.
func (p Policy) Means() string {
	advised := p.Advised != nil && *p.Advised > 0
	switch {
	case !p.System.Present:
		return "this kernel has no transparent huge pages"
	case p.Disabled():
		return "none for this process"
	case p.System.Enabled.Selected == "always":
		return "THP is in always mode: all memory gets huge pages unless marked MADV_NOHUGEPAGE"
	case p.System.Enabled.Selected == "madvise" && advised:
		return "THP is in madvise mode: only memory marked MADV_HUGEPAGE gets huge pages, and this program has some"
	case p.System.Enabled.Selected == "madvise" && p.Advised == nil:
		return "THP is in madvise mode: only memory marked MADV_HUGEPAGE gets huge pages; whether this program has any is unknown"
	case p.System.Enabled.Selected == "madvise":
		return "THP is in madvise mode: only memory marked MADV_HUGEPAGE gets huge pages, and this program has none"
	case p.System.Enabled.Selected == "never":
		return "THP is in never mode: no memory gets huge pages, unless they are made on request (folio collapse)"
	}
	return "unknown"
}

// hazards lists what works against huge pages, or makes them cost more than they give.
func (s *System) hazards(p *Process) (out []string) {
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	t := p.Policy.System
	switch {
	case !t.Present:
		add("this kernel has no transparent huge pages")
		return out
	case !p.Policy.Disabled() && p.Policy.Collapse != nil:
		add("%v", p.Policy.Collapse)
	}
	facts := p.adviceFacts()
	for _, a := range advice.Find(&facts) {
		add("%s", strings.TrimSpace(a.Line()))
	}
	if p.Policy.Against != nil && *p.Policy.Against > 0 {
		add("%s of it is advised against huge pages (MADV_NOHUGEPAGE): the kernel makes none there", unit.Size(*p.Policy.Against))
	}
	if p.Swapped != nil && *p.Swapped > 0 {
		add("%s is in swap: huge pages take memory, and there is too little already", unit.Size(*p.Swapped))
	}
	if w := p.Windows; w != nil && w.Fill > 0 {
		if l := p.Limit; l != nil && l.Left() < w.Fill {
			add("collapsing all that is dense enough takes %s more, and its memory cgroup has %s left", unit.Size(w.Fill), unit.Size(l.Left()))
		}
	}
	if w := p.Windows; w != nil && p.Of == GoHeap && w.Sparse > w.Count/2 && w.Gain < w.Resident/2 {
		add("the heap is sparse: most of its windows are too empty for a huge page")
	}
	return out
}

// limit returns the memory limit in effect for a process; nil if there is none, or if that is not
// known.
func (s *System) limit(pid int) *Limit {
	l, ok, err := s.FS.MemoryLimit(pid)
	if err != nil || !ok || l.Memory.Usage == nil {
		return nil
	}
	out := &Limit{Dir: l.Level(), Bytes: l.Bytes, Used: *l.Memory.Usage}
	if m := l.Memory.InactiveFile; m != nil {
		out.Cache = *m
	}
	return out
}
