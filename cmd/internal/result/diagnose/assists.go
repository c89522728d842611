package diagnose

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/delay"
	"github.com/foliomem/folio/internal/base/unit"
)

// A Delayed is a server whose slow requests were looked at.
type Delayed struct {
	Delays  *delay.Answer // nil: nothing is known
	Program string        // its file, or the name that go build gives it
	Package string        // that folio built it from; "" for a program that was there
	Patches []string      // of Go's runtime in it, as name@hash
}

// noAssist is the patch of package overlay.
const noAssist = "gc-noassist"

const (
	ruleAssists   = "assists"
	sourceAssists = "https://go.dev/issue/56966"
)

// Advise returns what to try against mark assists, if slow requests overlap cycles with
// assists. Where they overlap other cycles as much it is the cycles that delay them, and a
// program with the patch assists no more than it has to.
func (d Delayed) Advise() (NextStep, bool) {
	if d.Delays == nil || d.Delays.State != delay.Found || d.Delays.Cause == delay.Cycle || d.has(noAssist) {
		return NextStep{}, false
	}
	s := d.Delays.Of(delay.Assists)
	if s == nil || !s.Found {
		return NextStep{}, false
	}
	return NextStep{
		Rule: ruleAssists, Source: sourceAssists,
		What:     "Keep requests from marking for the GC, by the patch " + noAssist + ": costs 5% more heap, at worst 16%, and more GC cycles",
		Evidence: fmt.Sprintf("%s of the slow requests overlap a GC cycle with assists, %s would by chance", unit.Percent(s.Slow), unit.Percent(s.Chance)),
		Fix:      d.build(),
	}, true
}

// has says whether the program has a patch.
func (d Delayed) has(patch string) bool {
	return slices.ContainsFunc(d.Patches, func(p string) bool { name, _, _ := strings.Cut(p, "@"); return name == patch })
}

// build is the line that builds the program with the patch, and those that it has.
func (d Delayed) build() string {
	var patches []string
	for _, p := range d.Patches {
		name, _, _ := strings.Cut(p, "@")
		patches = append(patches, name)
	}
	name := path.Base(d.Program)
	if d.Program == "" {
		name = "PROGRAM"
	}
	pkg, remark := d.Package, ""
	if pkg == "" {
		pkg, remark = "PACKAGE", "PACKAGE: what it is built from; "
	}
	words := append([]string{"folio", "build", "--patch", strings.Join(append(patches, noAssist), ","), "-o", name + "-noassist"}, strings.Fields(pkg)...)
	for i, w := range words {
		words[i] = trial.Quote(w)
	}
	return strings.Join(words, " ") + "   # " + remark + "then run it under the same load; FOLIO_ASSIST=on in its environment turns the patch off"
}

func adviseAssists(s *RunFacts) (float64, NextStep, bool) {
	f, ok := s.Delayed.Advise()
	return 0, f, ok // it takes no CPU time away, but waiting
}
