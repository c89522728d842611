package trial

import (
	"github.com/foliomem/folio/cmd/internal/process/memlimit"
)

// Held is memory of the Go runtimes of a trial that has a memory limit, by their own count, when
// they were last read while they lived.
type Held struct {
	Runtimes int
	Bytes    uint64 // that GOMEMLIMIT counts
	Live     uint64 // what the last GC cycles found
	Charged  uint64 // to the cgroup at that time, which the kernel cannot take back
}

// nearLimit is the part of the limit that must have been charged when the runtimes were read: before,
// what is outside them may not have been there yet.
const nearLimit = 0.75

// Fit returns how the program of a trial that an OOM killer ended fits into the memory limit of
// its cgroup: all that was charged and the runtimes did not hold was outside them. ok is false
// where no runtime was read near the limit.
func (s *Sample) Fit(limit uint64) (f memlimit.Fit, ok bool) {
	if !s.OutOfMemory() || float64(s.Held.Charged) < nearLimit*float64(limit) {
		return f, false
	}
	return s.Held.Fit(limit)
}

// Fit is how the runtimes fit into a cgroup with this limit beside what was outside them when they
// were last read. ok is false where none was read.
func (h Held) Fit(limit uint64) (f memlimit.Fit, ok bool) {
	if h.Runtimes == 0 {
		return f, false
	}
	each := memlimit.Runtime{
		Resident: h.Bytes / uint64(h.Runtimes),
		Needs:    h.Live / uint64(h.Runtimes),
		Live:     h.Live / uint64(h.Runtimes),
	}
	others := make([]memlimit.Runtime, h.Runtimes-1)
	for i := range others {
		others[i] = each
	}
	return memlimit.Container{Limit: limit, Fixed: &h.Charged}.Fit(each, 0, others...), true
}
