package diagnose

import (
	"errors"
	"fmt"
	"strings"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/memlimit"
	"github.com/foliomem/folio/cmd/internal/process/remedy"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/procmem"
)

// fromPages says what of the memory of a process is in memory: rules of package remedy go by
// that, and by what the runtime has there.
const fromPages = "/proc/PID/pagemap"

// Memory is the memory of a process in parts, and what would make them smaller.
type Memory struct {
	RSS uint64
	// Outside is what counts to a container and not to GOMEMLIMIT.
	Outside  uint64
	Runtime  memlimit.Runtime // what of it is the Go runtime's
	Remedies []remedy.Remedy
}

func readMemory(_ procmem.FS, pid int) (Memory, error) {
	p, err := inspect.New().Process(pid, inspect.Options{Waterfall: true})
	if err != nil {
		return Memory{}, err
	}
	return NewMemory(p)
}

// NewMemory takes the parts of what was seen of a process.
func NewMemory(p *inspect.Process) (Memory, error) {
	if p.Waterfall == nil {
		for _, n := range p.Notes {
			if strings.Contains(n, "parts") {
				return Memory{}, errors.New(n)
			}
		}
		return Memory{}, errors.New("the parts of its memory are not known")
	}
	m := Memory{RSS: p.Waterfall.RSS, Remedies: p.Remedies.List}
	m.Runtime, m.Outside = memlimit.OfWaterfall(p.PID, p.Waterfall)
	return m, nil
}

// wastes makes a rule of one of package remedy.
func wastes(id string) func(*Facts) ([]Finding, error) {
	return func(f *Facts) ([]Finding, error) {
		if err := f.Process.Memory.Err; err != nil {
			return nil, err
		}
		return f.Process.wasted(id), nil
	}
}

// wasted returns the findings of a rule of package remedy.
func (p *Process) wasted(id string) (out []Finding) {
	m := p.Memory.Value
	for _, r := range m.Remedies {
		if r.Rule != id || !r.Wasted(m.RSS) {
			continue
		}
		h := Finding{
			What: r.What, Reference: r.See, Fix: []Step{{r.Do, r.Code}},
			Means: fmt.Sprintf("Reclaimable: up to %s of %s RSS. %s", unit.Size(r.Most), unit.Size(m.RSS), r.Means),
		}
		if r.Subject != "" {
			h.Fix = []Step{{r.Do, r.Subject}}
		}
		for _, s := range r.Of {
			h.Evidence = append(h.Evidence, Reading{fmt.Sprintf("the parts of process %d", p.PID), s.Part.Title() + ": " + unit.Size(s.Bytes)})
		}
		out = append(out, h)
	}
	return out
}
