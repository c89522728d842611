package result

import (
	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/result/diagnose"
)

// A Doctor is a diagnosis as JSON has it.
type Doctor struct {
	Header

	Host           host.Info      `json:"host"`
	Process        *DoctorProcess `json:"process"` // null: none was named
	WatchedSeconds float64        `json:"watched_seconds"`
	// THP says in a sentence what the system's THP policy means; "" where it is not known.
	THP string `json:"thp_policy,omitempty" redact:"prose"`

	Findings []diagnose.Finding `json:"findings"` // the worst first
	Checks   []DoctorCheck      `json:"checks"`
	Notes    []string           `json:"notes" redact:"prose"`
}

// DoctorProcess is the process that was looked at.
type DoctorProcess struct {
	PID       int      `json:"pid"`
	Name      string   `json:"name" redact:"keep"`
	Command   []string `json:"command" redact:"command"`
	GoVersion *string  `json:"go_version" redact:"keep"` // null: not Go, or not known
}

// DoctorCheck is what became of one check.
type DoctorCheck struct {
	ID    string         `json:"id" redact:"keep"`
	Title string         `json:"title" redact:"keep"`
	Scope diagnose.Scope `json:"scope" redact:"keep"`
	State diagnose.State `json:"state" redact:"keep"`
	// Why is for not_checked and does_not_apply; null otherwise.
	Why *string `json:"why" redact:"prose"`
}

// NewDoctor puts facts and diagnosis into a file.
func NewDoctor(folio string, f *diagnose.Facts, d diagnose.Diagnosis) *Doctor {
	out := &Doctor{
		Header: NewHeader(DoctorSchema, KindDoctor, folio), WatchedSeconds: f.Watched.Seconds(), THP: f.Policy(),
		Findings: append([]diagnose.Finding{}, d.Findings...), Checks: []DoctorCheck{}, Notes: []string{},
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
func (f *Doctor) JSON() ([]byte, error) { return indented(f) }
