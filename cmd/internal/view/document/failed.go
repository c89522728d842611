package document

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// failed puts first why a result is not what was asked for, and what to do next; "" for
// nothing.
func (s *Section) failed(why string, next ...Step) {
	a := Answer{Bad: true, Goal: "Failed", Text: upper(why) + ".", Steps: next}
	switch why {
	case "":
		return
	case "interrupted":
		a.Goal, a.Text = "Not completed", "Interrupted. This is what was known by then."
	default:
		a.Main = true
		for i := range s.Answers {
			s.Answers[i].Main = false
		}
	}
	s.Answers = append([]Answer{a}, s.Answers...)
}

// interrupted puts first that a signal ended the run, and when.
func (s *Section) interrupted(last *result.Sample) {
	a := Answer{Bad: true, Goal: formatf("Interrupted after %s", unit.ElapsedSeconds(last.Wall)), Text: "Figures until then."}
	switch {
	case strings.HasPrefix(last.Failure, "interrupted "): // of a server, before or under load
		a.Goal, a.Text = "Interrupted", formatf("The run was %s.", last.Failure)
	case last.Signal == "":
		a.Text = formatf("Figures until then; the program ended with %s.", last.Failure)
	}
	s.Answers = append([]Answer{a}, s.Answers...)
}

// allLate says that no run counts because the load generator was late in each.
func allLate(f *result.File) bool {
	return f.Program.Requests != nil && len(f.Arms) > 0 && !slices.ContainsFunc(f.Arms, func(a result.Arm) bool {
		return a.Load == nil || a.Load.Runs > 0 || a.Load.LateRuns == 0
	})
}

// atLowerRate is what to do where the load generator was late in each run; nil where it was not.
func atLowerRate(f *result.File) []Step {
	if !allLate(f) || len(f.Program.Command) == 0 {
		return nil
	}
	p, load := f.Program, *f.Program.Requests
	load.Rate, p.Requests = max(1, math.Floor(0.7*load.Rate)), &load
	_, command := commandOf(f.Kind, p)
	return []Step{{"Measure again at a lower rate:", command}}
}

// commandOf is the command that measures a program, and how it begins.
func commandOf(kind string, p result.Program) (folio, whole string) {
	folio = result.ShellLine(append([]string{"folio", kind}, p.Conditions()...))
	switch b := p.Build; {
	case b == nil:
		return folio, folio + " -- " + result.ShellLine(p.Command)
	case len(p.Command) > 1:
		return folio, folio + " --build " + result.Quote(b.Package) + " -- " + result.ShellLine(p.Command[1:])
	default:
		return folio, folio + " --build " + result.Quote(b.Package)
	}
}

// again is what to do after a failure of run and tune.
func again(f *result.File) []Step {
	p := f.Program
	switch {
	case f.Error == "":
		return nil
	case f.Kind == result.KindAttach:
		return []Step{{"Look at it again:", formatf("folio run --attach %d", p.Attached)}}
	case len(p.Command) == 0 || p.Attached != 0: // what a search says of a process has what to do
		return nil
	}
	folio, command := commandOf(f.Kind, p)
	if strings.HasPrefix(f.Error, "interrupted") {
		return []Step{{"Measure again:", command}}
	}
	if late := atLowerRate(f); late != nil {
		return late
	}
	var out []Step
	if whole := result.ShellLine(p.Command); p.Build == nil {
		if p.Ready == "" { // a server does not end
			out = append(out, Step{"See how it ends by itself:", whole})
		}
		if strings.Contains(f.Error, "exit code") && !p.IgnoreExit {
			out = append(out, Step{"If it ends so when all is well, count such runs:", folio + " --ignore-exit -- " + whole})
		}
	}
	return append(out, Step{"Then measure again:", command})
}

// abAgain is what to do after a failure of ab.
func abAgain(f *result.AB) []Step {
	if f.Error == "" || len(f.Arms) == 0 || slices.ContainsFunc(f.Arms, func(a result.ABArm) bool { return a.Source != nil }) {
		return nil // which revisions of which package, only the reader knows
	}
	words := "folio ab"
	var out []Step
	for i := range f.Arms {
		words += " -- " + f.Arms[i].Line()
		if !strings.HasPrefix(f.Error, "interrupted") {
			out = append(out, Step{"See how it ends by itself:", f.Arms[i].Line()})
		}
	}
	return append(out, Step{"Then compare again:", words})
}

// labAgain is what to do after a lab that did not complete.
func labAgain(f *result.Lab) []Step {
	var rest []string
	for _, e := range f.Experiments {
		if !e.Complete && !e.Refused {
			rest = append(rest, result.Quote(e.Name))
		}
	}
	if f.Error == "" || len(rest) == 0 {
		return nil
	}
	quick := ""
	if f.Quick {
		quick = "--quick "
	}
	return []Step{{"Run what is missing:", "folio lab " + quick + strings.Join(rest, " ")}}
}

// noChecks is the answer of a diagnosis of which no check could be made; ok is false where
// one could.
func noChecks(f *result.Doctor) (a Answer, ok bool) {
	var why []string
	for _, c := range f.Checks {
		switch {
		case c.State == result.CheckClean || c.State == result.CheckFound:
			return a, false
		case c.State == result.CheckNotChecked && c.Why != nil && !slices.Contains(why, *c.Why):
			why = append(why, *c.Why)
		}
	}
	a = Answer{Main: true, Bad: true, Goal: "Failed", Text: "No check could be made."}
	if len(why) > 0 {
		a.Text = "No check could be made: " + why[0] + "."
	}
	line := "sudo folio doctor"
	if f.Process != nil {
		line += " " + strconv.Itoa(f.Process.PID)
	}
	a.Steps = []Step{{"Look as root:", line}}
	return a, true
}

// unseenProcess is the answer of a look at a process of which nothing could be seen.
func unseenProcess(p *result.Process) (a Answer, ok bool) {
	if p.Windows != nil || p.Resident != nil || len(p.Memory) > 0 {
		return a, false
	}
	a = Answer{Main: true, Bad: true, Goal: "Failed", Text: formatf("The memory of process %d could not be looked at.", p.PID)}
	if len(p.Notes) > 0 {
		a.Text = formatf("The memory of process %d could not be looked at: %s.", p.PID, p.Notes[0])
	}
	a.Steps = []Step{{"Look as root:", formatf("sudo folio inspect %d", p.PID)}}
	return a, true
}

// unseenProcesses is the answer of a look at all processes that saw none.
func unseenProcesses(processes []result.ProcessLine, u *result.Unseen) (a Answer, ok bool) {
	if len(processes) > 0 || u == nil || u.Denied == 0 && u.Hidden == nil {
		return a, false
	}
	why := formatf("%d of other users, or protected", u.Denied)
	switch {
	case u.Hidden != nil:
		why = *u.Hidden
	case u.Small > 0:
		return Answer{Main: true, Text: "No process that folio may look at has as much anonymous memory as a huge page."}, true
	}
	return Answer{Main: true, Bad: true, Goal: "Failed", Text: formatf("No process could be looked at: %s.", why),
		Steps: []Step{{"Look as root:", "sudo folio inspect"}}}, true
}
