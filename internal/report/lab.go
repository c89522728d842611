package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/foliomem/folio/internal/figure"
	"github.com/foliomem/folio/internal/lab"
	"github.com/foliomem/folio/internal/stat"
	"github.com/foliomem/folio/internal/unit"
)

// A Lab is what folio lab shows.
type Lab struct {
	Title  string
	Result *lab.Result
	Notes  *stat.Notes
}

// Text prints, for each experiment, its question, the table of its arms, the
// curves over sizes, what did not run, and what the figures mean.
func (l *Lab) Text(w io.Writer) error {
	p := &printer{w: w}
	p.lines(l.Title)
	for _, o := range l.Result.Outcomes {
		if o.Rounds == 0 && o.Err == nil && l.Result.Interrupted {
			continue // it did not begin
		}
		l.outcome(p, o)
	}
	p.notes(l.Notes)
	return p.err
}

func (l *Lab) outcome(p *printer, o *lab.Outcome) {
	e := o.Experiment
	p.line("")
	p.line("%s: %s", e.Name, e.Question)
	if t := l.tables(o); len(t) > 0 {
		rounds := "rounds"
		if o.Rounds == 1 {
			rounds = "round"
		}
		p.line("%s, %d %s", unit.Exact(o.Params.Size), o.Rounds, rounds)
		for _, t := range t {
			p.line("")
			if t.title != "" {
				p.line("  %s:", t.title)
			}
			if p.err == nil {
				p.err = t.write(p.w, "  ")
			}
		}
		l.curve(p, o)
	}
	if o.Refused {
		p.line("  not run: %s", strings.TrimPrefix(o.Err.Error(), e.Name+": "))
		return
	}
	var forbidden []string
	for _, a := range o.Arms {
		switch {
		case a.Arm.Forbidden:
			forbidden = append(forbidden, a.Arm.Name)
		case a.Failure != "":
			p.line("  failed: %s: %s", a.Arm.Name, a.Failure)
		case a.Arm.NotRun != "":
			p.line("  not run: %s: %s", a.Arm.Name, a.Arm.NotRun)
		}
	}
	if len(forbidden) > 0 {
		p.line("  not run without --allow-system: %s", strings.Join(forbidden, ", "))
	}
	if m := o.Meaning(); len(m) > 0 {
		p.line("")
		for _, s := range m {
			p.line("  %s", s)
		}
	}
	for _, n := range o.Notes {
		l.Notes.Add(e.Name + ": " + n)
	}
}

// A labTable is the table of a group of arms.
type labTable struct {
	*table
	title string
}

// tables returns the tables of the arms that ran, in the order of the arms.
func (l *Lab) tables(o *lab.Outcome) (out []labTable) {
	if o.Experiment.Across {
		return l.across(o)
	}
	var groups []string
	for _, a := range o.Arms {
		if a.Ran() && !slices.Contains(groups, a.Arm.Group) {
			groups = append(groups, a.Arm.Group)
		}
	}
	for _, g := range groups {
		out = append(out, labTable{l.arms(o, g), g})
	}
	return out
}

// arms returns the table of a group's arms at the largest size.
func (l *Lab) arms(o *lab.Outcome, group string) *table {
	t := &table{left: map[int]bool{0: true, 2: true, 3: true}}
	base := o.Arm(o.Experiment.Base)
	against := "" // a column that is empty throughout takes no room
	if base.Ran() {
		against = "vs " + base.Arm.Name
	}
	var head []string
	for i, f := range o.Experiment.Figures {
		if f.Minor {
			continue
		}
		head = append(head, f.Label)
		if i == 0 {
			head = append(head, "", against)
		}
	}
	t.add(append(append([]string{"arm"}, head...), "n")...)
	for _, a := range o.Arms {
		if !a.Ran() || a.Arm.Group != group {
			continue
		}
		row := []string{a.Arm.Name}
		n := 0
		for i, f := range o.Experiment.Figures {
			s := stat.Summarize(a.Values(o.Params.Size, f.Key))
			if f.Minor {
				continue
			}
			row = append(row, figure.KindOf(f.Key).Format(s.Median))
			if i == 0 {
				row, n = append(row, spreadOrNote(l.Notes, intervalOf(s)), l.against(o, base, a, f.Key)), s.N
			}
		}
		t.add(append(row, fmt.Sprint(n))...)
	}
	return t
}

// curve prints the first figures by size, an arm each column.
func (l *Lab) curve(p *printer, o *lab.Outcome) {
	sizes := o.Sizes()
	if !o.Experiment.Curve || len(sizes) < 2 {
		return
	}
	figures := o.Experiment.Figures[:1]
	if o.Experiment.Name == "pages" {
		figures = o.Experiment.Figures[:2]
	}
	for _, f := range figures {
		t := &table{}
		head := []string{"size"}
		var arms []*lab.ArmResult
		for _, a := range o.Arms {
			if len(a.Sizes()) > 1 && a.Ran() {
				arms, head = append(arms, a), append(head, a.Arm.Name)
			}
		}
		if len(arms) == 0 {
			return
		}
		t.add(head...)
		for _, size := range sizes {
			row := []string{unit.Exact(size)}
			for _, a := range arms {
				row = append(row, figure.KindOf(f.Key).Format(stat.Median(a.Values(size, f.Key))))
			}
			t.add(row...)
		}
		p.line("")
		p.line("  %s, by size:", f.Label)
		if p.err == nil {
			p.err = t.write(p.w, "  ")
		}
	}
}

// LabList prints what experiments there are: what each asks, what is known of
// it, and its arms on this machine.
func LabList(w io.Writer, m *lab.Machine) error {
	p := &printer{w: w}
	for i, e := range lab.Experiments() {
		if i > 0 {
			p.line("")
		}
		size := e.Size()
		p.line("%s: %s", e.Name, e.Question)
		p.line("  source: %s", e.Source)
		p.line("  memory: %s, quick %s", unit.Exact(size[0]), unit.Exact(size[1]))
		if e.Apart {
			p.line("  only when it is named: it builds programs with the go command")
		}
		t := &table{left: map[int]bool{0: true, 1: true}}
		for _, a := range e.List(m) {
			about := a.About
			switch {
			case a.NotRun != "":
				about += " (not here: " + a.NotRun + ")"
			case len(a.Changes) > 0:
				about += " (needs --allow-system)"
			}
			t.add(a.Name, about)
		}
		if p.err == nil {
			p.err = t.write(w, "  ")
		}
	}
	return p.err
}

// LabTitle says what was measured, where.
func LabTitle(machine string, r *lab.Result) string {
	what := "folio lab"
	ended := ""
	if r.Interrupted {
		ended = ", interrupted"
	}
	return fmt.Sprintf("%s: %s\n%s in %s, seed %d%s", what, machine, unit.Of(len(r.Outcomes), "experiment"), unit.Elapsed(r.Elapsed), r.Seed, ended)
}
