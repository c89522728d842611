package trial

import (
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/cgroup"
)

// QuotaProcs is what a CPU quota does to the GOMAXPROCS of a program: which value it begins
// with, and what else is worth a try. What is set by hand stays so; Known is false then, and
// for programs that are not Go.
type QuotaProcs struct {
	Known   bool
	Initial int
	Others  []int
	Text    string // for the notes
}

// ProcsOf returns that of the program in a file, under a setting, with a limit of CPUs, on a
// machine that has so many.
func ProcsOf(exe string, set Setting, limit *float64, have int) (p QuotaProcs) {
	goVersion, _, isGo := host.Program(exe)
	env := set.Environ(os.Environ())
	if byHand, _ := getenv(env, "GOMAXPROCS"); limit == nil || !isGo || byHand != "" {
		return p
	}
	quota := *limit
	p.Known, p.Initial = true, have
	round := int(min(math.Ceil(quota), float64(have)))
	for _, n := range []int{int(max(math.Floor(min(quota, float64(have))), 1)), round} {
		if !slices.Contains(p.Others, n) {
			p.Others = append(p.Others, n)
		}
	}
	cpus := unit.Plural(have, "CPU")
	switch why := host.IgnoresQuota(exe, env); {
	case why == "":
		p.Initial = min(max(round, 2), have)
		p.Text = fmt.Sprintf("GOMAXPROCS is %d by default: %s derives it from the quota of %s (never below 2) and the %s here",
			p.Initial, goVersion, cgroup.Limits{CPUs: limit}, cpus)
	case round < have:
		p.Text = fmt.Sprintf("GOMAXPROCS is %d by default, as this machine has %s, whatever the quota of %s: %s; set GOMAXPROCS=%d, or build with Go 1.25 or later (and that in go.mod)",
			have, cpus, cgroup.Limits{CPUs: limit}, why, round)
	}
	p.Others = slices.DeleteFunc(p.Others, func(n int) bool { return n == p.Initial })
	return p
}
