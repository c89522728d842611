package result

import (
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/lab"
	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/trial"
)

// A Lab is the result of a lab as JSON has it. docs/result.keys.txt describes it.
type Lab struct {
	Header
	Complete bool   `json:"complete"`
	Error    string `json:"error,omitempty" redact:"prose"` // why it failed, or "interrupted"
	// Interrupted says that what did not begin was not to be.
	Interrupted bool `json:"interrupted,omitempty"`

	Host           host.Info `json:"host"`
	Limits         *Limits   `json:"limits,omitempty"` // of the cgroup that every run had; nil for none
	Seed           *uint64   `json:"seed"`
	Quick          bool      `json:"quick"`
	ElapsedSeconds float64   `json:"elapsed_seconds"`

	Experiments []LabExperiment `json:"experiments"`
	Notes       []string        `json:"notes" redact:"prose"`
}

// A LabExperiment is what one experiment found.
type LabExperiment struct {
	Name     string      `json:"name" redact:"keep"`
	Question string      `json:"question" redact:"keep"`
	Source   string      `json:"source" redact:"keep"`
	Figure   string      `json:"figure" redact:"keep"` // the key of the figure that decides
	Unit     string      `json:"unit" redact:"keep"`
	Figures  []LabFigure `json:"figures"`
	// Base is the arm that the others are compared with, "" for none. Across says that
	// each figure is a benchmark of its own, with a row for each.
	Base   string `json:"base,omitempty" redact:"keep"`
	Across bool   `json:"across,omitempty"`
	// Curves are the keys of the figures that are listed by size.
	Curves []string `json:"curves,omitempty" redact:"keep"`
	// Charts are what a page draws.
	Charts []LabChart `json:"charts"`
	// Refused says that the experiment was not run at all, Error why.
	Refused        bool          `json:"refused,omitempty"`
	Parameters     LabParameters `json:"parameters"`
	Complete       bool          `json:"complete"`
	Error          *string       `json:"error" redact:"prose"`
	ElapsedSeconds float64       `json:"elapsed_seconds"`
	Arms           []LabArm      `json:"arms"`
	Conclusions    []string      `json:"conclusions" redact:"prose"`
	Notes          []string      `json:"notes" redact:"prose"`
}

// A LabFigure explains a key of the points.
type LabFigure struct {
	Key   string `json:"key" redact:"keep"`
	Label string `json:"label" redact:"keep"`
	Unit  string `json:"unit" redact:"keep"`
	Minor bool   `json:"minor,omitempty"` // not in the table
}

// LabParameters are how much work the arms did.
type LabParameters struct {
	SizeBytes uint64 `json:"size_bytes"` // the largest
	Count     int    `json:"count"`
	Rounds    int    `json:"rounds"` // completed ones
}

// A LabArm is what one arm measured.
type LabArm struct {
	Name  string `json:"name" redact:"keep"`
	About string `json:"about" redact:"prose"`
	Group string `json:"group,omitempty" redact:"keep"` // the table that it is part of, where there are several
	// Work is what the arm does, where arms do several things, Varies what differs among
	// those that do the same: gogc, goroutines.
	Work       string     `json:"work,omitempty" redact:"keep"`
	Varies     string     `json:"varies,omitempty" redact:"keep"`
	Goroutines int        `json:"goroutines,omitempty"` // that work at once
	Setting    LabSetting `json:"setting"`
	// NotRun is why there are no samples; null when the arm ran.
	NotRun  *string         `json:"not_run" redact:"prose"`
	Samples []*trial.Sample `json:"samples"`
	// Ran says that some sample counts; Failed that it was to run and could not;
	// Forbidden that it needs --allow-system.
	Ran       bool `json:"ran"`
	Failed    bool `json:"failed,omitempty"`
	Forbidden bool `json:"forbidden,omitempty"`
	// Against compares the figures at the largest size with the base's.
	Against map[string]LabDifference `json:"against,omitempty"`
	// Median and Interval are of the experiment's figure at the largest size;
	// null when nothing counts.
	Median   *float64   `json:"median"`
	Interval *Interval  `json:"interval"`
	Points   []LabPoint `json:"points"` // by size, ascending
}

// A LabDifference is how a figure of an arm differs from the base's.
type LabDifference struct {
	Ratio     float64  `json:"ratio"`
	P         float64  `json:"p"`
	Different bool     `json:"different"`
	Warnings  []string `json:"warnings,omitempty" redact:"keep"`
}

// LabSetting is what makes the arm.
type LabSetting struct {
	Pages     string `json:"pages" redact:"keep"` // base, thp, hugetlb
	PageBytes *int   `json:"page_bytes"`          // null: the kind's default
	How       string `json:"how" redact:"keep"`
	// Runtime is the Go runtime's, where it is what the experiment is about.
	Runtime *Setting    `json:"runtime,omitempty"`
	System  []LabChange `json:"system"` // system-wide settings during its trials
}

// LabChange is a system-wide setting.
type LabChange struct {
	Path  string `json:"path" redact:"prose"`
	Value string `json:"value" redact:"prose"`
}

// LabPoint is what was measured at one size.
type LabPoint struct {
	SizeBytes uint64              `json:"size_bytes"`
	Figures   map[string]Interval `json:"figures"`
}

// Keep puts what is known so far into the file.
func (f *Lab) Keep(r *lab.Result) {
	f.Seed, f.ElapsedSeconds, f.Interrupted = &r.Seed, r.Elapsed.Seconds(), r.Interrupted
	f.Experiments = f.Experiments[:0]
	for _, o := range r.Outcomes {
		f.Experiments = append(f.Experiments, labExperiment(o))
	}
}

func labExperiment(o *lab.Outcome) LabExperiment {
	e := o.Experiment
	out := LabExperiment{
		Name: e.Name, Question: e.Question, Source: e.Source, Figure: e.Figures[0].Key, Unit: e.Figures[0].Unit,
		Parameters: LabParameters{SizeBytes: o.Params.Size, Count: o.Params.Count, Rounds: o.Rounds},
		Complete:   o.Complete, ElapsedSeconds: o.Elapsed.Seconds(),
		Arms: []LabArm{}, Conclusions: append([]string{}, o.Conclusions()...), Notes: append([]string{}, o.Notes...),
	}
	for _, fig := range e.Figures {
		out.Figures = append(out.Figures, LabFigure{fig.Key, fig.Label, fig.Unit, fig.Minor})
	}
	for i := range e.Curves {
		out.Curves = append(out.Curves, e.Figures[i].Key)
	}
	out.Charts = e.Drawn()
	out.Base, out.Across, out.Refused = e.Base, e.Across, o.Refused
	if o.Err != nil {
		text := o.Err.Error()
		out.Error = &text
	}
	for _, a := range o.Arms {
		out.Arms = append(out.Arms, labArm(o, a))
	}
	return out
}

func labArm(o *lab.Outcome, a *lab.ArmResult) LabArm {
	t := a.Arm.Task
	out := LabArm{
		Name: a.Arm.Name, About: a.Arm.About, Group: a.Arm.Group, Work: a.Arm.Work, Varies: a.Arm.Varies,
		Goroutines: t.Goroutines, Samples: append([]*trial.Sample{}, a.Samples...), Points: []LabPoint{},
		Setting: LabSetting{Pages: t.Kind.String(), How: t.How, System: []LabChange{}},
	}
	if t.PageSize != 0 {
		out.Setting.PageBytes = &t.PageSize
	}
	if s := a.Arm.Setting; s != nil {
		runtime := NewSetting(*s)
		out.Setting.Runtime = &runtime
	}
	for _, c := range a.Arm.Changes {
		out.Setting.System = append(out.Setting.System, LabChange{c.Path, c.Value})
	}
	out.Ran, out.Failed, out.Forbidden = a.Ran(), a.Failure != "", a.Arm.Forbidden
	out.Against = labAgainst(o, a)
	switch {
	case a.Arm.NotRun != "":
		out.NotRun = &a.Arm.NotRun
	case a.Failure != "":
		out.NotRun = &a.Failure
	case len(a.Samples) == 0:
		text := LabEnded
		out.NotRun = &text
	}
	for _, size := range a.Sizes() {
		p := LabPoint{SizeBytes: size, Figures: make(map[string]Interval)}
		for _, f := range o.Experiment.Figures {
			if v := a.Values(size, f.Key); len(v) > 0 {
				p.Figures[f.Key] = newInterval(v)
			}
		}
		out.Points = append(out.Points, p)
	}
	if v := a.Values(o.Params.Size, o.Experiment.Figures[0].Key); len(v) > 0 {
		i := newInterval(v)
		out.Median, out.Interval = &i.Median, &i
	}
	return out
}

// LabEnded is why an arm has no samples if the lab ended before its turn.
const LabEnded = "the lab ended before"

// labAgainst compares an arm with the base of the experiment.
func labAgainst(o *lab.Outcome, a *lab.ArmResult) map[string]LabDifference {
	base := o.Arm(o.Experiment.Base)
	if base == a || !base.Ran() || !a.Ran() {
		return nil
	}
	out := make(map[string]LabDifference)
	for _, f := range o.Experiment.Figures {
		c := stat.Compare(base.Values(o.Params.Size, f.Key), a.Values(o.Params.Size, f.Key))
		if Finite(c.Ratio) != nil && Finite(c.P) != nil {
			out[f.Key] = LabDifference{c.Ratio, c.P, c.Different, texts(c.Warnings)}
		}
	}
	return out
}

// JSON returns the file's text.
func (f *Lab) JSON() ([]byte, error) {
	if f.Experiments == nil {
		f.Experiments = []LabExperiment{}
	}
	if f.Notes == nil {
		f.Notes = []string{}
	}
	return indented(f)
}
