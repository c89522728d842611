package result

import (
	"fmt"

	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/ab"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

// An AB is a result of folio ab as JSON has it.
type AB struct {
	Header
	Complete bool   `json:"complete"`                       // false: interrupted, or a version from half-way
	Error    string `json:"error,omitempty" redact:"prose"` // why it failed, or "interrupted"

	Host           host.Info `json:"host"`
	Seed           uint64    `json:"seed"`
	ElapsedSeconds float64   `json:"elapsed_seconds"`
	Metric         *Target   `json:"metric"` // null: Go benchmarks, or wall time
	Input          string    `json:"input,omitempty" redact:"blank"`
	// RateSearch are the rates that --rate auto tried, in order.
	RateSearch []load.RateStep `json:"rate_search,omitempty"`
	Setting    Setting         `json:"setting"` // of all arms

	Arms   []ABArm    `json:"arms"`   // the first is the base
	Result *ab.Result `json:"result"` // null: nothing was compared
	Notes  []string   `json:"notes" redact:"prose"`
}

// An ABArm is a program with all that was measured of it.
type ABArm struct {
	Name    string          `json:"name" redact:"named"`
	Program Program         `json:"program"`
	Env     []string        `json:"env,omitempty" redact:"env"`  // KEY=VALUE of its own, besides those of the comparison
	THP     string          `json:"thp,omitempty" redact:"keep"` // of its own, in place of the comparison's
	Source  *Source         `json:"source,omitempty"`            // of a program that folio built
	Samples []*trial.Sample `json:"samples"`
	Summary Summary         `json:"summary"`
	Load    *LoadSummary    `json:"load,omitempty"` // the loads of the samples together; nil where folio put none on them
	// Profile is where the CPU time of all runs that were sampled went, Tree the same by
	// call path; nil for none.
	Profile *profile.Result `json:"profile,omitempty"`
	Tree    *profile.Tree   `json:"call_tree,omitempty"`
}

// Line returns what was run, as a shell line.
func (a *ABArm) Line() string { return a.line(a.own(), a.Program.Command) }

func (a *ABArm) line(own trial.Setting, command []string) string {
	if a.Program.Tree {
		return own.TreeLine(command)
	}
	return own.Line(command)
}

// own is what the arm sets besides what all do.
func (a *ABArm) own() trial.Setting { return trial.Setting{THP: trial.THP(a.THP), Env: a.Env} }

// A Source is what folio built a program from.
type Source struct {
	Revision string `json:"revision" redact:"blank"` // as it was named
	Commit   string `json:"commit" redact:"keep"`    // of a working tree: the one that is checked out
	Dirty    bool   `json:"dirty"`                   // with changes that are in no commit
	Package  string `json:"package" redact:"built"`
	Test     bool   `json:"test"` // it is a test binary
}

// JSON returns the file's text.
func (f *AB) JSON() ([]byte, error) {
	if f.Arms == nil {
		f.Arms = []ABArm{}
	}
	if f.Notes == nil {
		f.Notes = []string{}
	}
	for i := range f.Arms {
		if f.Arms[i].Samples == nil {
			f.Arms[i].Samples = []*trial.Sample{}
		}
	}
	return indented(f)
}

// Limits are those that the runs of all arms had; nil for none.
func (f *AB) Limits() *Limits {
	if len(f.Arms) == 0 {
		return nil
	}
	return f.Arms[0].Program.Limits
}

// Measured says whether anything was.
func (f *AB) Measured() bool {
	for _, a := range f.Arms {
		if len(a.Samples) > 0 {
			return true
		}
	}
	return false
}

// Check says why a file that was read cannot be shown; nil if it can.
func (f *AB) Check() error {
	if r := f.Result; r != nil {
		for _, c := range r.Comparisons {
			if c.Arm < 1 || c.Arm >= len(f.Arms) {
				return fmt.Errorf("a comparison of arm %d, of %d", c.Arm, len(f.Arms))
			}
		}
		for _, g := range r.Gates {
			if g.Arm < 1 || g.Arm >= len(f.Arms) {
				return fmt.Errorf("a gate of arm %d, of %d", g.Arm, len(f.Arms))
			}
		}
	}
	for _, a := range f.Arms {
		for _, s := range a.Samples {
			if s == nil {
				return fmt.Errorf("arm %q has a sample that is null", a.Name)
			}
		}
	}
	return nil
}
