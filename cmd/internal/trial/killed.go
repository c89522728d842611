package trial

import (
	"github.com/foliomem/folio/cmd/internal/process/memlimit"
)

// Held is memory of the Go runtimes of a trial in a cgroup, by their own count, when they were last
// read while they lived.
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
	if !s.OutOfMemory() || s.Held.Runtimes == 0 || float64(s.Held.Charged) < nearLimit*float64(limit) {
		return f, false
	}
	charged := s.Held.Charged
	each := memlimit.Runtime{
		Resident: s.Held.Bytes / uint64(s.Held.Runtimes),
		Needs:    s.Held.Live / uint64(s.Held.Runtimes),
		Live:     s.Held.Live / uint64(s.Held.Runtimes),
	}
	others := make([]memlimit.Runtime, s.Held.Runtimes-1)
	for i := range others {
		others[i] = each
	}
	return memlimit.Container{Limit: limit, Fixed: &charged}.Fit(each, 0, others...), true
}
