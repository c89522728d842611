package report

import (
	"bytes"
	"fmt"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/foliomem/folio/internal/ab"
	"github.com/foliomem/folio/internal/console"
	"github.com/foliomem/folio/internal/host"
	"github.com/foliomem/folio/internal/trial"
)

// KindAB is the kind of an [ABFile].
const KindAB = "ab"

// An ABFile is a result of folio ab as JSON has it.
type ABFile struct {
	Schema   string    `json:"schema"` // Schema
	Kind     string    `json:"kind"`   // KindAB
	Folio    string    `json:"folio_version"`
	Created  time.Time `json:"created"`
	Complete bool      `json:"complete"`        // false: interrupted, or a version from half-way
	Error    string    `json:"error,omitempty"` // why it failed, or "interrupted"

	Host           host.Info `json:"host"`
	Seed           uint64    `json:"seed"`
	ElapsedSeconds float64   `json:"elapsed_seconds"`
	Metric         *Target   `json:"metric"` // null: Go benchmarks, or wall time
	Input          string    `json:"input,omitempty"`
	Setting        Setting   `json:"setting"` // of all arms

	Arms   []ABArm    `json:"arms"`   // the first is the base
	Result *ab.Result `json:"result"` // null: nothing was compared
	Notes  []string   `json:"notes"`
}

// An ABArm is a program with all that was measured of it.
type ABArm struct {
	Name    string          `json:"name"`
	Program Program         `json:"program"`
	Source  *Source         `json:"source,omitempty"` // of a program that folio built
	Samples []*trial.Sample `json:"samples"`
	Summary Summary         `json:"summary"`
}

// A Source is what folio built a program from.
type Source struct {
	Revision string `json:"revision"` // as it was named
	Commit   string `json:"commit"`   // of a working tree: the one that is checked out
	Dirty    bool   `json:"dirty"`    // with changes that are in no commit
	Package  string `json:"package"`
	Test     bool   `json:"test"` // it is a test binary
}

// JSON returns the file's text.
func (f *ABFile) JSON() ([]byte, error) {
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
	data, err := marshal(f)
	return append(data, '\n'), err
}

// Bench returns the samples in the Go benchmark format: one result a sample, all under
// the name of the base, so that "benchstat -col arm FILE" compares the arms.
func (f *ABFile) Bench() ([]byte, error) {
	var b bytes.Buffer
	w := benchfmt.NewWriter(&b)
	for _, arm := range f.Arms {
		// One name for all: benchstat compares what has the same.
		as := File{Host: f.Host, Program: f.Arms[0].Program}
		as.Program.GoVersion = arm.Program.GoVersion
		known := knownFigures(arm.Samples)
		for _, s := range arm.Samples {
			if !s.OK() {
				continue
			}
			for _, r := range as.results(&Arm{Setting: f.Setting}, s, known) {
				keys := configKeys(r.Config)
				keys.add("arm", arm.Name)
				if arm.Source != nil {
					keys.add("commit", arm.Source.Commit)
				}
				r.Config = keys
				if err := w.Write(r); err != nil {
					return nil, fmt.Errorf("write the Go benchmark format: %w", err)
				}
			}
		}
	}
	return []byte(console.Escape(b.String())), nil
}

// Measured says whether anything was.
func (f *ABFile) Measured() bool {
	for _, a := range f.Arms {
		if len(a.Samples) > 0 {
			return true
		}
	}
	return false
}

// Check says why a file that was read cannot be shown; nil if it can.
func (f *ABFile) Check() error {
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
