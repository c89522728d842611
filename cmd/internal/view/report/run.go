package report

import (
	"fmt"
	"io"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/console"
)

// RuntimeCPUSays says whether the GC's CPU time by the runtime is to be shown: it is an estimate for
// where samples do not tell, and can be more than all CPU time.
func RuntimeCPUSays(s *result.Summary) bool {
	_, sampled := s.Center("gc_cpu_seconds")
	traced, ok := s.Center("gc_runtime_cpu_seconds")
	cpu, known := s.Center("cpu_seconds")
	return ok && !sampled && (!known || traced <= cpu)
}

// A printer writes lines and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

// line prints one line, whatever is in the arguments.
func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, console.Line(fmt.Sprintf(format, args...))+"\n")
	}
}
