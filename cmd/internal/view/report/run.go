package report

import (
	"github.com/foliomem/folio/cmd/internal/result"
)

// RuntimeCPUSays says whether the GC's CPU time by the runtime is to be shown: it is an estimate for
// where samples do not tell, and can be more than all CPU time.
func RuntimeCPUSays(s *result.Summary) bool {
	_, sampled := s.Center("gc_cpu_seconds")
	traced, ok := s.Center("gc_runtime_cpu_seconds")
	cpu, known := s.Center("cpu_seconds")
	return ok && !sampled && (!known || traced <= cpu)
}
