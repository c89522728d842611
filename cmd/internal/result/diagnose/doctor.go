package diagnose

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// Severity is how much a finding matters.
type Severity string

const (
	Problem Severity = "problem" // it costs time or memory now, or will end the program
	Warning Severity = "warning" // it will, once the program does something ordinary
	Note    Severity = "note"    // worth knowing when huge pages or the GC disappoint
)

// rank orders severities, the worst first.
func (s Severity) rank() int { return slices.Index([]Severity{Problem, Warning, Note}, s) }

// Scope is what a rule is about.
type Scope string

const (
	Host      Scope = "host"
	Container Scope = "container" // the memory cgroups of the process, or of folio itself
	OfProcess Scope = "process"
	OfGo      Scope = "go" // a process that runs a Go program
)

// A Finding is something that costs memory performance or will: what it is, what
// was read, and what to do.
type Finding struct {
	Rule      string    `json:"rule" redact:"keep"`
	Severity  Severity  `json:"severity" redact:"keep"`
	What      string    `json:"what" redact:"prose"`
	Evidence  []Reading `json:"evidence"`
	Means     string    `json:"means" redact:"prose"`
	Fix       []Step    `json:"fix"`
	Reference string    `json:"reference" redact:"keep"`
	far       int       // 1: of the machine, where a process was asked about
}

// A Reading is what a file said.
type Reading struct {
	From string `json:"from" redact:"prose"` // the file, or another source
	Says string `json:"says" redact:"prose"`
}

// A Step of a fix is a sentence, with the exact command or code if there is one.
type Step struct {
	Do   string `json:"do" redact:"prose"`
	Code string `json:"code,omitempty" redact:"prose"`
}

// A Rule finds one kind of finding. Look is pure: all that it knows is in the
// facts. It returns an error when it cannot tell, which says why.
type Rule struct {
	ID        string // does not change
	Title     string // what is wrong where it finds something
	Scope     Scope
	Severity  Severity // unless the finding has its own
	Reads     []string
	Reference string
	look      func(*Facts) ([]Finding, error)
}

// Rules returns all rules, in the order of reports.
func Rules() []Rule {
	return slices.Concat(hostRules, watchRules, containerRules, processRules, goRules)
}

// Completions returns what shells offer for IDs of rules, each with a tab and its title.
func Completions() []string {
	var out []string
	for _, r := range Rules() {
		out = append(out, r.ID+"\t"+r.Title)
	}
	return out
}

// CheckRules reports the first of the names that no rule has.
func CheckRules(ids []string) error {
	for _, id := range ids {
		if !slices.ContainsFunc(Rules(), func(r Rule) bool { return r.ID == id }) {
			return fmt.Errorf("unknown check %q: 'folio doctor list' names them", id)
		}
	}
	return nil
}

// State is what became of a rule.
type State string

const (
	Clean        State = "clean"
	Found        State = "found"
	NotChecked   State = "not_checked"    // it could not be found out
	NotAsked     State = "skipped"        // by the user
	DoesNotApply State = "does_not_apply" // no process was named, or it is not Go
)

// An Outcome is what became of one rule.
type Outcome struct {
	Rule  Rule
	State State
	Why   string // for NotChecked and DoesNotApply
}

// A Diagnosis is what all rules found.
type Diagnosis struct {
	Findings []Finding // those of the process first, of each the worst first
	Outcomes []Outcome
}

// Diagnose applies all rules to the facts, but for those that skip names.
func (f *Facts) Diagnose(skip ...string) Diagnosis {
	var d Diagnosis
	for _, r := range Rules() {
		o := Outcome{Rule: r, State: Clean}
		switch why := f.beside(r.Scope); {
		case slices.Contains(skip, r.ID):
			o.State = NotAsked
		case why != nil:
			o.State, o.Why = why.state, why.why
		default:
			found, err := r.look(f)
			if err != nil {
				o.State, o.Why = NotChecked, f.because(r.Scope, err)
			}
			if len(found) > 0 {
				o.State = Found
			}
			for _, h := range found {
				if f.Process != nil && (r.Scope == Host || r.Scope == Container) {
					h.far = 1
				}
				h.Rule, h.Severity, h.Reference = r.ID, cmp.Or(h.Severity, r.Severity), cmp.Or(h.Reference, r.Reference)
				d.Findings = append(d.Findings, h)
			}
		}
		d.Outcomes = append(d.Outcomes, o)
	}
	slices.SortStableFunc(d.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.Severity.rank(), b.Severity.rank()))
	})
	return d
}

// besides is why a rule is not asked.
type besides struct {
	state State
	why   string
}

// beside says why rules of a scope have nothing to look at; nil if they do.
func (f *Facts) beside(s Scope) *besides {
	if f.Process == nil && (s == OfProcess || s == OfGo) {
		return &besides{DoesNotApply, "no process was named"}
	}
	if s == OfGo {
		version, err := f.Process.GoVersion.get()
		switch {
		case err != nil:
			return &besides{NotChecked, "whether it is a Go program is not known: " + f.because(s, err)}
		case version == "":
			return &besides{DoesNotApply, f.Process.NotGo}
		}
	}
	return nil
}

// because is an error with its fix, of a rule of this scope.
func (f *Facts) because(s Scope, err error) string {
	switch {
	case !errors.Is(err, fs.ErrPermission):
		return err.Error()
	case s == OfProcess || s == OfGo:
		return err.Error() + ": " + f.Process.Denied
	case os.Geteuid() == 0:
		return err.Error() // root may not either
	}
	return err.Error() + ": run as root"
}
