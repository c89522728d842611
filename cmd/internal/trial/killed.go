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
	return s.Held.fit(limit), true
}

// Room is the largest GOMEMLIMIT that fits into a cgroup with this limit beside what was outside
// the runtimes when they were last read; 0 if none does. ok is false where none was read.
func (h Held) Room(limit uint64) (most uint64, ok bool) {
	if h.Runtimes == 0 {
		return 0, false
	}
	return h.fit(limit).Most, true
}

func (h Held) fit(limit uint64) memlimit.Fit {
	each := memlimit.Runtime{
		Resident: h.Bytes / uint64(h.Runtimes),
		Needs:    h.Live / uint64(h.Runtimes),
		Live:     h.Live / uint64(h.Runtimes),
	}
	others := make([]memlimit.Runtime, h.Runtimes-1)
	for i := range others {
		others[i] = each
	}
	return memlimit.Container{Limit: limit, Fixed: &h.Charged}.Fit(each, 0, others...)
}
