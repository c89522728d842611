package report

import (
	"time"

	"github.com/foliomem/folio/internal/diagnose"
	"github.com/foliomem/folio/internal/host"
)

// DoctorSchema is the version of the JSON of folio doctor. docs/doctor.md
// describes it.
const DoctorSchema = "folio-doctor/1"

// A DoctorFile is a diagnosis as JSON has it.
type DoctorFile struct {
	Schema  string    `json:"schema"`
	Kind    string    `json:"kind"` // doctor
	Folio   string    `json:"folio_version"`
	Created time.Time `json:"created"`

	Host           host.Info      `json:"host"`
	Process        *DoctorProcess `json:"process"` // null: none was named
	WatchedSeconds float64        `json:"watched_seconds"`
	// THP says in a sentence what the system's THP policy means; "" where it is not known.
	THP string `json:"thp_policy,omitempty"`

	Findings []diagnose.Hazard `json:"findings"` // the worst first
	Checks   []DoctorCheck     `json:"checks"`
	Notes    []string          `json:"notes"`
}

// DoctorProcess is the process that was looked at.
type DoctorProcess struct {
	PID       int      `json:"pid"`
	Name      string   `json:"name"`
	Command   []string `json:"command"`
	GoVersion *string  `json:"go_version"` // null: not Go, or not known
}

// DoctorCheck is what became of one check.
type DoctorCheck struct {
	ID    string         `json:"id"`
	Title string         `json:"title"`
	Scope diagnose.Scope `json:"scope"`
	State diagnose.State `json:"state"`
	// Why is for not_checked and does_not_apply; null otherwise.
	Why *string `json:"why"`
}

// NewDoctorFile puts facts and diagnosis into a file.
func NewDoctorFile(f *diagnose.Facts, d diagnose.Diagnosis) *DoctorFile {
	out := &DoctorFile{
		Schema: DoctorSchema, Kind: "doctor", WatchedSeconds: f.Watched.Seconds(), THP: f.Policy(),
		Findings: append([]diagnose.Hazard{}, d.Hazards...), Checks: []DoctorCheck{}, Notes: []string{},
	}
	if p := f.Process; p != nil {
		out.Process = &DoctorProcess{PID: p.PID, Name: p.Comm, Command: append([]string{}, p.Command...)}
		if p.GoVersion.Value != "" {
			out.Process.GoVersion = &p.GoVersion.Value
		}
	}
	for _, o := range d.Outcomes {
		c := DoctorCheck{ID: o.Rule.ID, Title: o.Rule.Title, Scope: o.Rule.Scope, State: o.State}
		if o.Why != "" {
			c.Why = &o.Why
		}
		out.Checks = append(out.Checks, c)
	}
	return out
}

// JSON returns the file's text.
func (f *DoctorFile) JSON() ([]byte, error) {
	data, err := marshal(f)
	return append(data, '\n'), err
}
