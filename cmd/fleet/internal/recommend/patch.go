package recommend

import (
	"fmt"
	"math"
	"strings"

	"github.com/foliomem/folio/cmd/internal/result/kubernetes"
	"github.com/foliomem/folio/internal/base/unit"
)

// Patch puts what changes into a patch. It is for a person to read and to apply.
func (a *Advice) Patch(name string, partial []string) kubernetes.Patch {
	p, n := a.Present, a.Advised
	out := kubernetes.Patch{Comments: []string{
		"What folio-fleet recommends for " + name + ", from " + a.Span() + ": " + a.summary(),
		fmt.Sprintf("Confidence: %s (%s)", a.Confidence, strings.Join(a.Because, "; ")),
	}}
	for _, part := range []struct {
		head  string
		lines []string
	}{{"Partial: ", partial}, {"Safe because: ", a.Safe}, {"Not known: ", a.Missing}, {"Warning: ", a.Warn}} {
		for _, l := range part.lines {
			out.Comments = append(out.Comments, part.head+l)
		}
	}
	if a.Huge != nil {
		out.Comments = append(out.Comments, "Huge pages, not in this patch: "+a.Huge.Do)
	}
	if n.GOGC != p.GOGC {
		out.Env = append(out.Env, kubernetes.Variable{Name: "GOGC", Value: n.GOGC, Why: "now " + orUnknown(p.GOGC)})
	}
	if differ(p.GOMEMLIMIT, n.GOMEMLIMIT) {
		out.Env = append(out.Env, kubernetes.Variable{Name: "GOMEMLIMIT", Value: unit.Exact(uint64(*n.GOMEMLIMIT)), Why: "now " + size(p.GOMEMLIMIT)})
	}
	if differ(p.Request, n.Request) {
		out.Requests.Memory, out.Requests.WhyMemory = uint64(*n.Request), "now "+size(p.Request)+"; all but 1% of the time is below"
	}
	if differ(p.CPURequest, n.CPURequest) {
		out.Requests.CPU, out.Requests.WhyCPU = int64(math.Round(*n.CPURequest*1000)), "now "+cores(p.CPURequest)+"; all but 1% of the time of the busiest pod is below"
	}
	if differ(p.Limit, n.Limit) {
		out.Limits.Memory, out.Limits.WhyMemory = uint64(*n.Limit), "now "+size(p.Limit)
	}
	return out
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
