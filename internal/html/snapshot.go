package html

import (
	"strings"

	"github.com/foliomem/folio/internal/diagnose"
	"github.com/foliomem/folio/internal/inspect"
	"github.com/foliomem/folio/internal/report"
)

func size(v uint64) Cell { return num(report.Bytes(float64(v)), float64(v)) }

func sizeOr(v *uint64) string {
	if v == nil {
		return "-"
	}
	return report.Bytes(float64(*v))
}

// inspectSection is what folio inspect saw: of one process, or of all.
func inspectSection(f *report.InspectFile) *Section {
	s := &Section{Kicker: "folio inspect", About: []string{f.Created.UTC().Format("2 Jan 2006 15:04 UTC")}}
	if p := f.Process; p != nil {
		s.inspectProcess(p)
		return s
	}
	s.Heading = "Processes with memory that huge pages could hold"
	c := &Chart{Kind: Bars, Title: "What huge pages would gain", X: Axis{Label: "memory", Format: Bytes}, Caption: "In dense windows: on huge pages now, and not yet."}
	huge, gain := Series{Name: "on huge pages", Color: 3}, Series{Name: "to gain", Color: 1}
	tb := &Table{Caption: "Processes; headings sort", Sort: true, Head: []Column{{Label: "process"}, {Label: "pid", Num: true}, {Label: "Go"}, {Label: "resident", Num: true}, {Label: "on huge pages", Num: true}, {Label: "to gain", Num: true}, {Label: "coverage", Num: true}}}
	var total uint64
	for _, p := range *f.Processes {
		row := Row{Cells: []Cell{code(p.Name), num(itoa(p.PID), float64(p.PID)), plain(text(p.GoVersion)), size(p.Resident)}}
		if w := p.Windows; w != nil {
			total += w.Gain
			if y := float64(len(c.Y.Categories)); y < 20 {
				c.Y.Categories = append(c.Y.Categories, formatf("%s %d", p.Name, p.PID))
				huge.P = append(huge.P, Point{X: float64(w.HugeSize), Y: y, Name: p.Name, Text: report.Bytes(float64(w.HugeSize))})
				gain.P = append(gain.P, Point{X: float64(w.Gain), Y: y, Name: p.Name, Text: report.Bytes(float64(w.Gain)), Tip: [][2]string{{"to gain", report.Bytes(float64(w.Gain))}, {"coverage", report.Percent(w.Coverage)}}})
			}
			row.Cells = append(row.Cells, size(w.HugeSize), size(w.Gain), num(report.Percent(w.Coverage), w.Coverage))
		} else {
			row.Cells = append(row.Cells, plain("-"), plain("-"), plain("-"))
		}
		tb.Rows = append(tb.Rows, row)
	}
	if u := f.Unseen; u != nil && u.Small+u.Denied > 0 {
		s.Notes = append(s.Notes, formatf("not in the list: %d processes that are small, %d that may not be looked at (%s anonymous memory)", u.Small, u.Denied, report.Bytes(float64(u.DeniedBytes))))
	}
	s.Answers = []Answer{{Main: true, Figure: report.Bytes(float64(total)), Text: "could be on huge pages and is not, in dense windows of these processes.", Sure: "One look: it says what is there, not what time it would give back."}}
	b := &Block{Tables: []*Table{tb}}
	if len(c.Y.Categories) > 0 {
		c.Series = []Series{huge, gain}
		b.Charts = []*Chart{c}
	}
	s.Blocks = []*Block{b}
	return s
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (s *Section) inspectProcess(p *report.ProcessJSON) {
	s.Heading, s.Code = strings.Join(p.Command, " "), true
	if s.Heading == "" {
		s.Heading = p.Name
	}
	s.About = append([]string{formatf("process %d, %s", p.PID, p.Name), text(p.GoVersion)}, s.About...)
	if s.About[1] == "" {
		s.About = append(s.About[:1], s.About[2:]...)
	}
	s.Notes = append(append([]string{}, p.Hazards...), p.Notes...)
	a := Answer{Main: true, Text: upper(p.Policy.Means) + ".", Sure: "One look; resident " + sizeOr(p.Resident) + "."}
	if w := p.Windows; w != nil {
		a.Figure = report.Bytes(float64(w.Gain))
		a.Text = formatf("of its %s memory could be on huge pages and is not; %s is covered now.", text(p.Of), report.Percent(w.Coverage))
		a.Sure += " " + upper(p.Policy.Means) + "."
		if w.Gain > 0 {
			a.Line = formatf("folio collapse %d", p.PID)
		}
	}
	s.Answers = []Answer{a}
	memory := &Chart{Kind: Bars, Title: "Memory by kind", X: Axis{Label: "memory", Format: Bytes}}
	resident, huge := Series{Name: "resident", Color: 1}, Series{Name: "of it on huge pages", Color: 3}
	tb := &Table{Caption: "Memory by kind", Sort: true, Head: cols("kind", "mappings", "mapped", "resident", "on huge pages", "swapped")}
	for i, m := range p.Memory {
		memory.Y.Categories = append(memory.Y.Categories, m.Kind)
		resident.P = append(resident.P, Point{X: float64(m.Resident), Y: float64(i), Name: m.Kind, Text: report.Bytes(float64(m.Resident))})
		huge.P = append(huge.P, Point{X: float64(m.Huge), Y: float64(i), Name: m.Kind, Text: report.Bytes(float64(m.Huge))})
		tb.Rows = append(tb.Rows, Row{Cells: []Cell{plain(m.Kind), num(itoa(m.Mappings), float64(m.Mappings)), size(m.Size), size(m.Resident), size(m.Huge), size(m.Swapped)}})
	}
	if len(p.Memory) > 0 {
		memory.Series = []Series{resident, huge}
		s.Blocks = append(s.Blocks, &Block{Title: "What is in memory", Charts: []*Chart{memory}, Tables: []*Table{tb}, Fold: true})
	}
	if w := p.Windows; w != nil && w.Count > 0 {
		s.Blocks = append(s.Blocks, densityBlock(text(p.Of), w))
	}
}

// densityBlock draws how full the windows are.
func densityBlock(of string, w *report.WindowsJSON) *Block {
	c := &Chart{Kind: Bars, Title: "How dense the windows are", Caption: formatf("A window is the range of one huge page (%s). Dense ones gain; a sparse one on a huge page takes memory that nobody uses.", report.Bytes(float64(w.Size))), X: Axis{Label: "windows", Format: Count}}
	series := Series{Name: "windows", Color: 1}
	tb := &Table{Caption: "Windows of " + of, Head: cols("present", "windows")}
	for i, n := range w.Density {
		name := formatf("%d to %d%%", 100*i/inspect.Bins, 100*(i+1)/inspect.Bins)
		c.Y.Categories = append(c.Y.Categories, name)
		series.P = append(series.P, Point{X: float64(n), Y: float64(i), Name: name, Text: itoa(n)})
		tb.Rows = append(tb.Rows, Row{Cells: []Cell{plain(name), num(itoa(n), float64(n))}})
	}
	c.Series = []Series{series}
	return &Block{Title: "Windows of " + of, Charts: []*Chart{c}, Tables: []*Table{tb}, Fold: true,
		Words: []string{formatf("%d windows: %d on huge pages, %d dense, %d sparse, %d opted out. Filling the dense ones would take %s more memory.", w.Count, w.Huge, w.Dense, w.Sparse, w.OptedOut, report.Bytes(float64(w.Fill)))}}
}

// doctorSection is what folio doctor found.
func doctorSection(f *report.DoctorFile) *Section {
	s := &Section{Kicker: "folio doctor", Heading: "This machine", About: append(machine(f.Host), f.Created.UTC().Format("2 Jan 2006 15:04 UTC")), Notes: f.Notes}
	if p := f.Process; p != nil {
		s.Heading = formatf("Process %d: %s", p.PID, p.Name)
	}
	ran, found := 0, &Block{Title: "What was read, and what it means"}
	checks := &Table{Caption: "All checks", Sort: true, Wrap: true, Head: []Column{{Label: "check"}, {Label: "about"}, {Label: "outcome"}, {Label: "what it looks for"}, {Label: "why"}}}
	for _, c := range f.Checks {
		if c.State == diagnose.Clean || c.State == diagnose.Found {
			ran++
		}
		checks.Rows = append(checks.Rows, Row{Cells: []Cell{code(c.ID), plain(string(c.Scope)), plain(strings.ReplaceAll(string(c.State), "_", " ")), plain(c.Title), plain(text(c.Why))}})
	}
	for i, h := range f.Findings {
		a := Answer{Main: i == 0, Goal: upper(string(h.Severity)) + ": " + h.Rule, Text: upper(h.What), Sure: h.Means}
		for i, step := range h.Fix {
			if i == 0 {
				a.Sure, a.Line = a.Sure+" "+step.Do, step.Code
				continue
			}
			a.Detail += step.Do + " " + step.Code + " "
		}
		s.Answers = append(s.Answers, a)
		tb := &Table{Caption: h.Rule + ": what was read (" + h.Reference + ")", Wrap: true, Head: []Column{{Label: "from"}, {Label: "says"}}}
		for _, e := range h.Evidence {
			tb.Rows = append(tb.Rows, Row{Cells: []Cell{code(e.From), code(e.Says)}})
		}
		found.Tables = append(found.Tables, tb)
	}
	if len(f.Findings) == 0 {
		s.Answers = []Answer{{Main: true, Figure: "none", Text: "Nothing was found.", Sure: formatf("%d of %d checks ran", ran, len(f.Checks))}}
	} else {
		s.Blocks = append(s.Blocks, found)
	}
	s.Blocks = append(s.Blocks, &Block{Title: formatf("%d of %d checks ran", ran, len(f.Checks)), Tables: []*Table{checks}})
	return s
}
