package document

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/report"
	"github.com/foliomem/folio/internal/base/unit"
)

func size(v uint64) Cell { return num(unit.Size(v), float64(v)) }

// inspectSection is what folio inspect saw: of one process, or of all.
func inspectSection(f *result.Inspect) *Section {
	s := &Section{Kicker: "folio inspect"}
	if f.Process != nil {
		s.inspectProcess(f.Process)
	} else {
		s.inspectList(*f.Processes, f.Unseen)
	}
	return s
}

// inList is how many processes the picture of a list has.
const inList = 20

func (s *Section) inspectList(processes []result.ProcessLine, unseen *result.Unseen) {
	s.Heading = "Processes with memory that huge pages could hold"
	c := &Chart{Kind: Bars, Title: "Memory that huge pages could hold", X: Axis{Label: "memory", Format: Bytes},
		Caption: "On huge pages, and in dense windows that could be. For Go programs the heap, for others all anonymous memory."}
	if len(processes) > inList {
		c.Caption += formatf(" The first %d of %d processes.", inList, len(processes))
	}
	huge, gain := Series{Name: "on huge pages", Color: 3}, Series{Name: "could be", Color: 1}
	tb := &Table{Caption: "Processes" + HeadingsSort, Sort: true,
		Head: cols("process", "pid", "user", "go", "RSS", "on huge pages", "share", "could be huge", "sparse windows")}
	tb.More = "process"
	tb.Head[3].Num = false
	tb.Head[0].Minor, tb.Head[8].Minor = true, true
	tb.Head = drop(append(tb.Head, Column{Label: "command", Cut: true}), "user", "share", "go", "on huge pages", "RSS")
	var total uint64
	little := false
	for _, p := range processes {
		row := Row{Cells: []Cell{code(p.Name), num(itoa(p.PID), float64(p.PID)), plain("-"), plain("-"),
			size(p.Resident), plain("-"), plain("-"), plain("-"), plain("-"), code(shortened(strings.Join(p.Command, " ")))}}
		if p.UID != nil {
			row.Cells[2] = num(itoa(*p.UID), float64(*p.UID))
		}
		if p.GoVersion != nil {
			row.Cells[3] = plain(strings.TrimPrefix(*p.GoVersion, "go"))
		}
		if w := p.Windows; w != nil {
			total += w.Gain
			little = little || w.GainLittle()
			if y := float64(len(c.Y.Categories)); y < inList {
				c.Y.Categories = append(c.Y.Categories, formatf("%s %d", p.Name, p.PID))
				huge.P = append(huge.P, Point{X: float64(w.HugeSize), Y: y, Name: p.Name, Text: unit.Size(w.HugeSize)})
				gain.P = append(gain.P, Point{X: float64(w.Gain), Y: y, Name: p.Name, Text: unit.Size(w.Gain),
					Tip: [][2]string{{"could be huge", unit.Size(w.Gain)}, {"on huge pages", unit.Percent(w.Coverage)}}})
			}
			copy(row.Cells[5:], []Cell{size(w.HugeSize), num(unit.Percent(w.Coverage), w.Coverage), size(w.Gain),
				num(itoa(w.Sparse), float64(w.Sparse))})
		}
		tb.Rows = append(tb.Rows, row)
	}
	if u := unseen; u != nil && u.Denied > 0 {
		s.Notes = append(s.Notes, formatf("not read: %s of other users or protected, with %s of anonymous memory: run with CAP_SYS_PTRACE (sudo), unless a security module or another user namespace protects them", unit.Plural(u.Denied, "process"), unit.Size(u.DeniedBytes)))
	}
	if u := unseen; u != nil && u.Hidden != nil {
		s.Notes = append(s.Notes, formatf("hidden: %s", *u.Hidden))
	}
	if u := unseen; u != nil && u.Small > 0 {
		s.Notes = append(s.Notes, formatf("not listed: %s with less anonymous memory than one huge page", unit.Plural(u.Small, "process")))
	}
	s.Answers = []Answer{{Main: true, Figure: unit.Size(total),
		Text: "in dense windows of these processes could be on huge pages, and is not.",
		Sure: "One reading: it shows what is there, not how much time that would save. For Go programs this is the heap, for others all anonymous memory."}}
	if little {
		s.Answers[0].Sure = upper(result.LittleGain) + ". " + s.Answers[0].Sure
	}
	if a, none := unseenProcesses(processes, unseen); none {
		s.Answers = []Answer{a}
	}
	b := &Block{Key: true, Tables: []*Table{tb}}
	if len(c.Y.Categories) > 0 {
		c.Series = []Series{huge, gain}
		b.Charts = []*Chart{c}
	}
	s.Blocks = []*Block{b}
}

// shortened cuts a command line that is too long for a table.
func shortened(s string) string {
	const most = 100
	if r := []rune(s); len(r) > most {
		return string(r[:most-3]) + "..."
	}
	return s
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (s *Section) inspectProcess(p *result.Process) {
	s.Heading, s.Code = strings.Join(p.Command, " "), true
	if s.Heading == "" {
		s.Heading = p.Name
	}
	s.About = slices.Concat([]string{formatf("process %d, %s", p.PID, p.Name)}, report.About(p), s.About)
	s.Notes = slices.Concat(p.Hazards, p.Notes)
	g := growthAnswer(p)
	once := ""
	if g == nil {
		once = "One reading; RSS " + report.SizeOr(p.RSS()) + "."
	}
	a := Answer{Main: true, Text: upper(p.Policy.Means) + ".", Sure: once}
	if w := p.Windows; w != nil {
		a.Sure = strings.TrimSpace(once + " " + a.Text)
		a.Text = "Nothing to gain from huge pages: " + report.NoGain(p) + "."
		if w.Gain > 0 {
			a.Figure, a.Line = unit.Size(w.Gain), p.Collapse
			a.Text = formatf("of %s could be on huge pages, and is not; %s is now.", report.Area(p), unit.Percent(w.Coverage))
		}
		if w.Fill > 0 {
			a.Sure += formatf(" It would take %s more memory.", unit.Size(w.Fill))
		}
	}
	s.Answers = []Answer{a}
	if lead := largestAnswer(p.Waterfall); lead != nil {
		switch w := p.Windows; {
		case p.GainsLittle():
			s.Answers = []Answer{*lead}
			if w != nil && w.Gain > 0 {
				s.Answers[0].Detail = strings.TrimSpace(s.Answers[0].Detail + formatf(" %s could be on huge pages. %s.", unit.Size(w.Gain), upper(result.LittleGain)))
			}
		case w.Gain < p.Waterfall.LargestAdvice().Bytes:
			a.Main = false
			s.Answers = []Answer{*lead, a}
		}
	}
	if a, none := unseenProcess(p); none {
		s.Answers = []Answer{a}
	}
	short := &Table{Caption: "In short", Wrap: true, Head: []Column{{Label: "what"}, {Label: "seen"}}}
	name := ""
	for _, row := range report.Short(p) {
		name = cmp.Or(row[0], name) // a row without a name goes on with the one above
		row[0] = name
		short.Rows = append(short.Rows, Row{Cells: []Cell{plain(row[0]), plain(row[1])}})
	}
	memory := &Chart{Kind: Bars, Title: "Memory by kind", X: Axis{Label: "memory", Format: Bytes}}
	resident, huge := Series{Name: "resident", Color: 1}, Series{Name: "of it on huge pages", Color: 3}
	tb := &Table{Caption: "Memory by kind", Sort: true, Head: drop(cols("kind", "mappings", "mapped", "RSS", "on huge pages", "swapped"), "mappings", "swapped", "mapped")}
	for i, m := range p.Memory {
		kind, swapped := m.Title(), plain("-")
		if m.Swapped != nil {
			swapped = size(*m.Swapped)
		}
		memory.Y.Categories = append(memory.Y.Categories, kind)
		resident.P = append(resident.P, Point{X: float64(m.Resident), Y: float64(i), Name: kind, Text: unit.Size(m.Resident)})
		huge.P = append(huge.P, Point{X: float64(m.Huge), Y: float64(i), Name: kind, Text: unit.Size(m.Huge)})
		tb.Rows = append(tb.Rows, Row{Cells: []Cell{plain(kind), num(itoa(m.Mappings), float64(m.Mappings)),
			size(m.Size), size(m.Resident), size(m.Huge), swapped}})
	}
	b := &Block{Title: "What is in memory", Tables: []*Table{short}}
	if len(p.Memory) > 0 {
		memory.Series = []Series{resident, huge}
		b.Charts, b.Tables = []*Chart{memory}, []*Table{short, tb}
	}
	if g != nil {
		s.Answers[0].Main = false
		s.Answers = append([]Answer{*g}, s.Answers...)
	}
	if over := overTimeBlock(p.OverTime, p); over != nil {
		s.Blocks = append(s.Blocks, over)
	}
	if w := p.Waterfall; w != nil {
		b := waterfallBlock(w, report.GCText(w.GC, true))
		b.Key = true
		s.Blocks = append(s.Blocks, b)
		s.Blocks = append(s.Blocks, adviceBlocks(w)...)
	}
	s.Blocks = append(s.Blocks, b)
	if w := p.Windows; w != nil && w.Count > 0 {
		s.Blocks = append(s.Blocks, densityBlock(report.Area(p), w))
	}
}

// largestAnswer says what most of the memory is that something can be done about; nil for nothing.
func largestAnswer(w *result.Waterfall) *Answer {
	most := w.LargestAdvice()
	if most == nil {
		return nil
	}
	a := &Answer{Main: true, Figure: unit.Size(most.Bytes), Steps: []Step{{most.Do, cmp.Or(most.Code, most.Subject)}}}
	a.Text = formatf("of %s RSS (%s): %s.", unit.Size(w.RSS), unit.Percent(float64(most.Bytes)/float64(max(w.RSS, 1))), lower(most.Title))
	if !most.InUse {
		a.Text = "at most " + a.Text
	} else if w.Together > 0 {
		a.Detail = formatf("Up to %s is reclaimable, see below.", unit.Size(w.Together))
	}
	return a
}

// densityBlock draws how full the windows are: the huge ones, then the densest first.
func densityBlock(of string, w *result.Windows) *Block {
	c := &Chart{Kind: Bars, Title: "Windows by how much of them is in memory",
		Caption: formatf("A window is the range of one huge page (%s). Dense ones gain; a sparse one on a huge page holds unused memory.", unit.Size(w.Size)), X: Axis{Label: "windows", Format: Count}}
	series := Series{Name: "windows", Color: 1}
	tb := &Table{Caption: "Windows of " + of, Head: cols("in memory", "windows"), Bar: 1}
	add := func(name string, n int) {
		y := float64(len(c.Y.Categories))
		c.Y.Categories = append(c.Y.Categories, name)
		series.P = append(series.P, Point{X: float64(n), Y: y, Name: name, Text: itoa(n)})
		tb.Rows = append(tb.Rows, Row{Cells: []Cell{plain(name), num(itoa(n), float64(n))}})
	}
	add("huge", w.Huge)
	for i, n := range slices.Backward(w.Density[:]) {
		add(formatf("%d to %d%%", 100*i/result.DensityBins, 100*(i+1)/result.DensityBins), n)
	}
	c.Series = []Series{series}
	optedOut := "an unknown number of the dense ones"
	if w.OptedOut != nil {
		optedOut = itoa(*w.OptedOut)
	}
	return &Block{Title: "Windows of " + of, Charts: []*Chart{c}, Tables: []*Table{tb}, Fold: true,
		Words: []string{formatf("%s: %d on huge pages, %d dense, %d sparse, %s opted out.",
			unit.Plural(w.Count, "window"), w.Huge, w.Dense, w.Sparse, optedOut)}}
}

// doctorSection is what folio doctor found.
func doctorSection(f *result.Doctor) *Section {
	s := &Section{Kicker: "folio doctor", Heading: "This machine",
		Notes: f.Notes}
	if p := f.Process; p != nil {
		s.Heading = formatf("Process %d: %s", p.PID, p.Name)
		if v := text(p.GoVersion); v != "" {
			s.About = slices.Insert(s.About, 0, v)
		}
		if line := strings.Join(p.Command, " "); line != "" {
			s.About = slices.Insert(s.About, 0, shortened(line))
		}
	}
	ran := 0
	head := func(labels ...string) (out []Column) {
		for _, l := range labels {
			out = append(out, Column{Label: l})
		}
		return out
	}
	undone := &Table{Sort: true, Wrap: true, Head: head("check", "why")}
	clean := &Table{Sort: true, Wrap: true, Head: head("check", "about", "not found")}
	apart := &Table{Wrap: true, Head: []Column{{Label: "checks", Num: true}, {Label: "why"}, {Label: "which"}}}
	reasons := make(map[string][]string)
	for _, c := range f.Checks {
		why := text(c.Why)
		switch c.State {
		case result.CheckFound:
			ran++
		case result.CheckClean:
			ran++
			clean.Rows = append(clean.Rows, Row{Cells: []Cell{code(c.ID), plain(string(c.Scope)), plain(c.Title)}})
		case result.CheckDoesNotApply, result.CheckNotAsked:
			why = cmp.Or(why, "skipped")
			reasons[why] = append(reasons[why], c.ID)
		default:
			undone.Rows = append(undone.Rows, Row{Cells: []Cell{code(c.ID), plain(why)}})
		}
	}
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		n := len(reasons[why])
		apart.Rows = append(apart.Rows, Row{Cells: []Cell{num(itoa(n), float64(n)), plain(why), code(join(reasons[why]))}})
	}
	for i, h := range f.Findings {
		var read []string
		for _, e := range h.Evidence {
			read = append(read, e.From+": "+e.Says)
		}
		a := Answer{Main: i == 0, Goal: upper(string(h.Severity)) + ": " + h.Rule, Text: upper(h.What), Sure: h.Means, Detail: "Read: " + strings.Join(read, "; ")}
		for _, step := range h.Fix {
			a.Steps = append(a.Steps, Step{step.Do, step.Code})
		}
		a.Steps = append(a.Steps, Step{Do: "See " + h.Reference})
		s.Answers = append(s.Answers, a)
	}
	title := formatf("%d of %d checks ran", ran, len(f.Checks))
	if a, none := noChecks(f); none {
		s.Answers = []Answer{a}
	} else if len(f.Findings) == 0 {
		s.Answers = []Answer{{Main: true, Text: "Nothing was found.", Sure: title + "."}}
	}
	s.Verdict = report.DoctorSum(f)
	b := &Block{Title: title}
	for _, x := range []struct {
		of   *Table
		n    int
		what string
	}{{undone, len(undone.Rows), " could not be made"}, {clean, len(clean.Rows), " passed"}, {apart, len(f.Checks) - ran - len(undone.Rows), " left out"}} {
		if x.n > 0 {
			x.of.Caption = upper(unit.Plural(x.n, "check")) + x.what
			b.Folds = append(b.Folds, &Fold{Title: x.of.Caption, Tables: []*Table{x.of}})
		}
	}
	if len(undone.Rows) > 0 {
		b.Tables, b.Folds = b.Folds[0].Tables, b.Folds[1:]
	}
	s.Blocks = append(s.Blocks, b)
	return s
}
