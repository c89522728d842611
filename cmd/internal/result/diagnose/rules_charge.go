package diagnose

import (
	"errors"

	"github.com/foliomem/folio/cmd/internal/process/charge"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/procmem"
)

// readCharge reads what the cgroup is charged for whose limit is in effect for a process, else
// its own; nil if its memory is not counted.
func readCharge(f procmem.FS, pid int) (*charge.Charge, error) {
	g, err := charge.OfProcess(f, pid)
	switch {
	case errors.Is(err, charge.ErrNotCounted), errors.Is(err, procmem.ErrNoCgroup):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if l, ok, err := f.MemoryLimit(pid); err == nil && ok {
		if at, err := charge.At(f.Path(l.Dir)); err == nil {
			g = at
		}
	}
	return charge.Whole(f, g).Read()
}

// lookCharge finds what is charged to the container and in the RSS of none of its processes.
func lookCharge(f *Facts) (out []Finding, err error) {
	c, err := f.Process.Charge.get()
	if err != nil || c == nil {
		return nil, err
	}
	for _, a := range c.Advice {
		if c.Limit != nil && a.Bytes < charge.Worth(*c.Limit) {
			continue // far from the limit
		}
		h := Finding{What: a.What, Means: a.Means, Fix: []Step{{a.Do, a.Code}}, Evidence: []Reading{{c.Dir, "charged " + unit.Size(c.Usage) + ": " + c.Brief()}}}
		if c.Limit == nil || c.Part(a.Kind).Back == charge.Yes {
			h.Severity = Note
		}
		if c.Limit != nil {
			h.Evidence[0].Says += "; limit " + unit.Size(*c.Limit)
		}
		out = append(out, h)
	}
	return out, nil
}
