package trial

import (
	"errors"
	"strings"

	"github.com/foliomem/folio/cmd/internal/process/gccount"
	"github.com/foliomem/folio/cmd/internal/program/gctrace"
)

// traced says whether an environment asks Go programs for their trace.
func traced(env []string) bool {
	godebug, _ := getenv(env, "GODEBUG")
	on := false
	for _, kv := range strings.Split(godebug, ",") {
		if k, v, ok := strings.Cut(kv, "="); ok && strings.TrimSpace(k) == "gctrace" {
			on = v != "0" && v != ""
		}
	}
	return on
}

// errLines says that not all lines may have been seen.
var errLines = errors.New("not every line of the GC trace stands by itself in the output")

// tracedTotals is what the lines of a trace say; nil for nothing.
func tracedTotals(c *gctrace.Counter) *gcTotals {
	if c == nil || c.Cycles == 0 {
		return nil
	}
	t := &gcTotals{Figures: gccount.OfTrace(c.Summary), processes: 1, known: true}
	if c.Gaps {
		t.err = errLines
	}
	return t
}
