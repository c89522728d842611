package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// Lab prints, for each experiment, its question, the table of its arms, the
// curves over sizes, what did not run, and what the figures mean.
func Lab(w io.Writer, f *result.Lab) error { return labText(f, w, numbered(f.Notes)) }

// SetLabNotes completes the notes, so that the file has all that its text prints, after
// those that come first.
func SetLabNotes(f *result.Lab, first []string) {
	notes := numbered(first)
	_ = labText(f, io.Discard, notes) // nothing fails that is not written
	f.Notes = notes.Texts()
}

func labText(f *result.Lab, w io.Writer, notes *stat.Notes) error {
	if err := sayRedacted(w, f.Header); err != nil {
		return err
	}
	p := &printer{w: w}
	p.lines(labTitle(f))
	for i := range f.Experiments {
		e := &f.Experiments[i]
		if e.Parameters.Rounds == 0 && e.Error == nil && f.Interrupted {
			continue // it did not begin
		}
		experimentText(e, p, notes)
	}
	p.notes(notes)
	return p.err
}

// labTitle says what was measured, where.
func labTitle(f *result.Lab) string {
	seed, ended := uint64(0), ""
	if f.Seed != nil {
		seed = *f.Seed
	}
	if f.Interrupted {
		ended = ", interrupted"
	}
	limits := ""
	if f.Limits != nil {
		limits = ", limits: " + f.Limits.String()
	}
	return fmt.Sprintf("folio lab: %s%s\n%s in %s, seed %d%s", MachineName(f.Host), limits,
		unit.Plural(len(f.Experiments), "experiment"), unit.ElapsedSeconds(f.ElapsedSeconds), seed, ended)
}

func experimentText(e *result.LabExperiment, p *printer, notes *stat.Notes) {
	p.line("")
	p.line("%s: %s", e.Name, e.Question)
	if t := labTables(e, notes); len(t) > 0 {
		p.line("%s, %s", unit.Exact(e.Parameters.SizeBytes), unit.Plural(e.Parameters.Rounds, "round"))
		for _, t := range t {
			p.line("")
			if t.title != "" {
				p.line("  %s:", t.title)
			}
			if p.err == nil {
				p.err = t.write(p.w, "  ")
			}
		}
		labCurves(e, p)
	}
	if e.Refused && e.Error != nil {
		p.line("  not run: %s", strings.TrimPrefix(*e.Error, e.Name+": "))
		return
	}
	var forbidden []string
	for _, a := range e.Arms {
		switch {
		case a.Forbidden:
			forbidden = append(forbidden, a.Name)
		case a.Failed && a.NotRun != nil:
			p.line("  failed: %s: %s", a.Name, *a.NotRun)
		case a.NotRun != nil && *a.NotRun != result.LabEnded:
			p.line("  not run: %s: %s", a.Name, *a.NotRun)
		}
	}
	if len(forbidden) > 0 {
		p.line("  not run without --allow-system: %s", strings.Join(forbidden, ", "))
	}
	if len(e.Conclusions) > 0 {
		p.line("")
		for _, s := range e.Conclusions {
			p.line("  %s", s)
		}
	}
	for _, n := range e.Notes {
		notes.Add(e.Name + ": " + n)
	}
}

// A labTable is the table of a group of arms.
type labTable struct {
	*table
	title string
}

// labArm returns the arm with a name that ran; nil if there is none.
func labArm(e *result.LabExperiment, name string) *result.LabArm {
	for i := range e.Arms {
		if a := &e.Arms[i]; a.Name == name && a.Ran {
			return a
		}
	}
	return nil
}

// labAt is a figure of the arm at a size.
func labAt(a *result.LabArm, size uint64, key string) result.Interval {
	for _, p := range a.Points {
		if i, ok := p.Figures[key]; ok && p.SizeBytes == size {
			return i
		}
	}
	return result.Interval{Median: math.NaN()}
}

// labTables returns the tables of the arms that ran, in the order of the arms.
func labTables(e *result.LabExperiment, notes *stat.Notes) (out []labTable) {
	if e.Across {
		return acrossTables(e, notes)
	}
	var groups []string
	for _, a := range e.Arms {
		if a.Ran && !slices.Contains(groups, a.Group) {
			groups = append(groups, a.Group)
		}
	}
	for _, g := range groups {
		out = append(out, labTable{labGroup(e, notes, g), g})
	}
	return out
}

// labGroup returns the table of a group's arms at the largest size.
func labGroup(e *result.LabExperiment, notes *stat.Notes, group string) *table {
	t := &table{left: map[int]bool{0: true, 2: true, 3: true}}
	against := "" // a column that is empty throughout takes no room
	if base := labArm(e, e.Base); base != nil {
		against = "vs " + base.Name
	}
	var head []string
	for i, f := range e.Figures {
		if f.Minor {
			continue
		}
		head = append(head, f.Label)
		if i == 0 {
			head = append(head, "", against)
		}
	}
	t.add(append(append([]string{"arm"}, head...), "n")...)
	for i := range e.Arms {
		a := &e.Arms[i]
		if !a.Ran || a.Group != group {
			continue
		}
		row := []string{a.Name}
		n := 0
		for i, f := range e.Figures {
			if f.Minor {
				continue
			}
			v := labAt(a, e.Parameters.SizeBytes, f.Key)
			row = append(row, figure.KindOf(f.Key).Format(v.Median))
			if i == 0 {
				row, n = append(row, spreadOrNote(notes, v), differs(a, notes, f.Key)), v.N
			}
		}
		t.add(append(row, fmt.Sprint(n))...)
	}
	return t
}

// labCurves prints figures by size, an arm each column.
func labCurves(e *result.LabExperiment, p *printer) {
	var sizes []uint64
	var arms []*result.LabArm
	head := []string{"size"}
	for i := range e.Arms {
		a := &e.Arms[i]
		for _, point := range a.Points {
			sizes = append(sizes, point.SizeBytes)
		}
		if len(a.Points) > 1 && a.Ran {
			arms, head = append(arms, a), append(head, a.Name)
		}
	}
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	if len(sizes) < 2 || len(arms) == 0 {
		return
	}
	for _, f := range e.Figures {
		if !slices.Contains(e.Curves, f.Key) {
			continue
		}
		t := &table{}
		t.add(head...)
		for _, size := range sizes {
			row := []string{unit.Exact(size)}
			for _, a := range arms {
				row = append(row, figure.KindOf(f.Key).Format(labAt(a, size, f.Key).Median))
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

// A ListedExperiment is what the list of experiments says of one.
type ListedExperiment struct {
	Name, Question, Source string
	Size, Quick            uint64 // bytes
	Apart                  bool   // only when it is named
	Arms                   [][2]string
}

// LabList prints what experiments there are: what each asks, what is known of it, and its
// arms on this machine.
func LabList(w io.Writer, list []ListedExperiment) error {
	p := &printer{w: w}
	for i, e := range list {
		if i > 0 {
			p.line("")
		}
		p.line("%s: %s", e.Name, e.Question)
		p.line("  source: %s", e.Source)
		p.line("  memory: %s, quick %s", unit.Exact(e.Size), unit.Exact(e.Quick))
		if e.Apart {
			p.line("  only when it is named: it builds programs with the go command")
		}
		t := &table{left: map[int]bool{0: true, 1: true}}
		for _, a := range e.Arms {
			t.add(a[0], a[1])
		}
		if p.err == nil {
			p.err = t.write(w, "  ")
		}
	}
	return p.err
}
