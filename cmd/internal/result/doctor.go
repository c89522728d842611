package result

import (
	"fmt"
	"strings"

	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/result/diagnose"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/procmem"
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

// Denied is how many checks of a process were not permitted, and why, and how they are; "" where
// all were.
func (f *Doctor) Denied() (n int, text string) {
	need, refused, why := 0, 0, ""
	for _, c := range f.Checks {
		if c.State != CheckNotChecked || c.Why == nil || f.Process == nil {
			continue
		}
		if before, _, is := strings.Cut(*c.Why, ": needs "); is {
			need, why = need+1, before[strings.LastIndex(": "+before, ": "):]
		} else if strings.HasSuffix(*c.Why, procmem.Refuses) {
			refused++
		}
	}
	switch {
	case need > 0:
		return need, fmt.Sprintf("Not permitted: %s, because process %d%s. As root: sudo folio doctor %[2]d",
			unit.Plural(need, "check"), f.Process.PID, strings.TrimPrefix(why, "it"))
	case refused > 0:
		return refused, fmt.Sprintf("Not permitted: %s: %s.", unit.Plural(refused, "check"), procmem.Refuses)
	}
	return 0, ""
}
