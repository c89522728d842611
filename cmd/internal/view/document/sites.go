package document

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/report"
	"github.com/foliomem/folio/internal/base/unit"
)

// sitesSection is who keeps the memory of a process.
func sitesSection(f *result.Sites) *Section {
	s := &Section{Kicker: "folio inspect", Heading: "profiles", Notes: f.Notes}
	if f.Kind == result.KindLeaks {
		s.Kicker = "folio leaks"
	}
	if f.PID != nil {
		s.Heading = formatf("process %d, %s", *f.PID, report.Command(f.Command, "unknown"))
	}
	if f.GoVersion != nil {
		s.About = []string{*f.GoVersion}
	}
	s.About = append(s.About, report.RuntimeNames(f.Runtimes)...)
	if f.Heap != nil {
		s.heap(f.Heap)
	}
	if f.Growth != nil {
		s.growth(f.Growth)
	}
	if f.Goroutines != nil {
		s.goroutines(f.Goroutines)
	}
	if f.Leaks != nil {
		s.leaks(f.Leaks, f.PID, slices.ContainsFunc(f.Notes, func(n string) bool { return strings.Contains(n, importPprof) }))
	}
	if len(s.Answers) > 0 {
		s.Answers[0].Main = true
	}
	return s
}

// siteText names a line, the function of the library that allocates there, and its caller.
func siteText(s result.SiteLine, of, inside *string, callers []string) string {
	text := result.ShortFunc(s.Func)
	switch place := s.Place(); {
	case place != "":
		text += " " + place
	case s.Func == result.SiteRuntime:
		text = "the runtime itself"
	case s.Func == result.SiteUnknown:
		text = "unknown: the stack has no names"
	}
	if inside != nil && *inside != s.Func {
		text += ", in " + result.ShortFunc(*inside)
	}
	if len(callers) > 0 {
		text += ", from " + result.ShortFunc(callers[0])
	}
	return text + ofRuntime(of)
}

// ofRuntime names the file of a runtime where there are several.
func ofRuntime(of *string) string {
	if of == nil {
		return ""
	}
	return " in " + *of
}

// heap lists the lines that allocate what is in use.
func (s *Section) heap(h *result.HeapSites) {
	sampled := "every object counted"
	if h.Rate > 1 {
		sampled = "estimated from a sample for every " + unit.Size(h.Rate)
	}
	s.Answers = append(s.Answers, Answer{Figure: unit.Size(h.InUseBytes),
		Text: formatf("in %s objects in use after the last GC cycle; %s in %s allocated since the start (%s).",
			unit.Count(float64(h.InUseObjects)), unit.Size(h.AllocBytes), unit.Count(float64(h.AllocObjects)), sampled)})
	t := &Table{Caption: "Lines that allocate" + HeadingsSort, Sort: true, More: "line", Head: []Column{{Label: "in use", Num: true}, {Label: "objects", Num: true},
		{Label: "share", Num: true, Drop: 1}, {Label: "allocated", Num: true, Drop: 2}, {Label: "line that allocates"}}}
	for _, x := range h.Sites {
		part := plain(unit.None)
		if h.InUseBytes > 0 {
			part = share(float64(x.InUseBytes) / float64(h.InUseBytes))
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{sizeOf(x.InUseBytes), count(x.InUseObjects), part, sizeOf(x.AllocBytes), code(siteText(x.SiteLine, x.Of, x.Inside, x.Callers))}})
	}
	s.Blocks = append(s.Blocks, &Block{Key: true, Title: "Lines that allocate", Tables: []*Table{t}})
}

func sizeOf(n int64) Cell { return num(unit.Size(n), float64(n)) }

func count(n int64) Cell { return num(unit.Count(float64(n)), float64(n)) }

// growth lists the lines whose objects in use have become more between two profiles.
func (s *Section) growth(g *result.HeapGrowth) {
	a := Answer{Figure: signed(g.After.InUseBytes - g.Before.InUseBytes),
		Text: formatf("of heap in use: %s before, %s after.", unit.Size(g.Before.InUseBytes), unit.Size(g.After.InUseBytes))}
	if g.Other {
		a.Sure = "The second profile has allocated less than the first: it is of another process, or of an earlier time."
	}
	t := &Table{Caption: "Lines that have grown" + HeadingsSort, Sort: true, More: "line", Head: []Column{{Label: "growth", Num: true}, {Label: "95% interval ±", Num: true, Drop: 1},
		{Label: "objects", Num: true, Drop: 2}, {Label: "before", Num: true, Drop: 3}, {Label: "after", Num: true}, {Label: "line that allocates"}}}
	unsure := 0
	for i := range g.Sites {
		switch x := &g.Sites[i]; {
		case x.Bytes <= 0:
		case !x.Certain():
			unsure++
		default:
			t.Rows = append(t.Rows, Row{Cells: []Cell{num(signed(x.Bytes), float64(x.Bytes)), num(unit.Bytes(x.Error), x.Error),
				num(formatf("%+d", x.Objects), float64(x.Objects)), sizeOf(x.Before.InUseBytes), sizeOf(x.After.InUseBytes),
				code(siteText(x.SiteLine, x.Of, x.Inside, x.Callers))}})
		}
	}
	if len(t.Rows) == 0 {
		a.Detail = "No line has grown."
	}
	if unsure > 0 {
		a.Detail = strings.TrimSpace(a.Detail + formatf(" %s grew by less than the error of the sample.", upper(unit.Plural(unsure, "line"))))
	}
	s.Answers = append(s.Answers, a)
	s.Blocks = append(s.Blocks, &Block{Key: true, Title: "Lines that have grown", Tables: []*Table{t}})
}

func signed(n int64) string {
	if n < 0 {
		return "-" + unit.Size(-n)
	}
	return "+" + unit.Size(n)
}

// goroutines lists them by where they were created and where they wait.
func (s *Section) goroutines(g *result.GoroutineSites) {
	a := Answer{Text: formatf("%s, %d of them of the runtime itself", unit.Plural(g.Total, "goroutine"), g.Runtime)}
	if g.Leaked != nil {
		a.Text += formatf(", %d leaked (as of the program's last profile goroutineleak)", *g.Leaked)
	}
	a.Text += "."
	if g.Unread > 0 {
		a.Sure = formatf("%d could not be read.", g.Unread)
	}
	s.Answers = append(s.Answers, a)
	b := &Block{Key: true, Title: "By where they were created, and wait", More: "group"}
	for _, x := range g.Groups {
		state := x.State
		if x.Leaked {
			state += ", leaked"
		}
		if x.Waits != nil {
			state += ", up to " + unit.Elapsed(time.Duration(*x.Waits*float64(time.Second)))
		}
		created := "started by the runtime"
		switch {
		case x.Start == "runtime.main":
			created = "the main goroutine"
		case x.Created != nil:
			created = "created by " + result.ShortFunc(x.Created.Func) + " " + x.Created.Place()
		}
		created += ofRuntime(x.Of)
		stack := x.Stack // without how the runtime waits, which the state says
		for len(stack) > 1 && strings.HasPrefix(stack[0].Func, "runtime.") {
			stack = stack[1:]
		}
		b.Folds = append(b.Folds, &Fold{Title: formatf("%s [%s] %s", unit.Count(float64(x.Count)), state, created), Words: calls(stack)})
	}
	s.Blocks = append(s.Blocks, b)
}

// shownFrames is how many calls of a stack are shown.
const shownFrames = 8

// calls are the first ones of a stack.
func calls(stack []result.SiteLine) (out []string) {
	for i, l := range stack {
		if i == shownFrames {
			return append(out, formatf("... %d more", len(stack)-i))
		}
		out = append(out, strings.TrimSpace(result.ShortFunc(l.Func)+" "+l.Place()))
	}
	return out
}

// importPprof is what has the linker keep the heap profile of a program.
const importPprof = `import _ "net/http/pprof"`

// leaks says what grew while a process was watched. unlinked says that it keeps no heap profile.
func (s *Section) leaks(l *result.Leaks, pid *int, unlinked bool) {
	watched, kinds := watchedText(l)
	blind := watched == ""
	if blind {
		watched = "nothing of it could be read"
	}
	ended := ""
	switch {
	case l.Ended:
		ended = ", when it ended"
	case l.Interrupted:
		ended = ", when it was interrupted"
	}
	s.About = append(s.About, formatf("watched for %s%s: %s", unit.ElapsedSeconds(l.Seconds), ended, watched))
	a, unjudged := Answer{Bad: len(l.Growing) > 0, Sure: upper(report.RSSText(l))}, l.HeapUnjudged
	switch {
	case len(l.Growing) > 0:
		g := l.Growing[0] // most bytes first
		a.Text = formatf("%s a minute, and still growing: %s.", leakRate(g), leakText(g))
		if g.Kind == "heap" && pid != nil && !l.Ended {
			a.Line = formatf("folio inspect --heap heap.pprof %d # all lines, with what they keep", *pid)
		}
		if g.Kind == "memory" && unlinked {
			a.Detail = "Which line: add " + importPprof + " (it opens no port), build again, and run folio leaks on it."
		}
		switch more := len(l.Growing) - 1; {
		case more == 1:
			a.Text += " 1 other thing grows."
		case more > 1:
			a.Text += formatf(" %d other things grow.", more)
		}
	case !l.Enough || l.OverTime != nil && l.OverTime.Growth == nil:
		a.Text = formatf("Not judged: too few readings in %s.", unit.ElapsedSeconds(l.Seconds))
	case blind:
		a.Text = "Not judged."
	default:
		rest := "watched"
		if kinds[0] == "line" && *l.Cycles < result.EnoughProfiles {
			kinds, rest = kinds[1:], "judged"
			a.Detail = formatf("Too early to judge single lines: %s seen, %d needed.", unit.Plural(*l.Cycles, "heap profile"), result.EnoughProfiles)
		}
		switch last := len(kinds) - 1; {
		case unjudged != nil:
			a.Text = formatf("Unknown: whether the Go heap keeps growing (%s). Nothing else that was %s does.", *unjudged, rest)
			unjudged = nil // it is said
		case last < 0:
			a.Text = "Not judged."
		default:
			a.Text = "No " + strings.TrimPrefix(join(kinds[:last])+" or "+kinds[last], " or ") + " keeps growing."
		}
	}
	if unjudged != nil {
		a.Detail = strings.TrimSpace(a.Detail + " Go heap not judged: " + *unjudged + ".")
	}
	if l.LongEnough != nil && pid != nil && a.Line == "" {
		a.Line = formatf("folio leaks --duration %s %d # as long as it takes at this rate", unit.ElapsedSeconds(*l.LongEnough), *pid)
	}
	s.Answers = append(s.Answers, a)
	b := &Block{Key: true, Title: "What grows", More: "stack"}
	t := &Table{Caption: b.Title, Head: []Column{{Label: "growth/min", Num: true}, {Label: "95% interval", Num: true, Drop: 1}, {Label: "from", Num: true, Drop: 3},
		{Label: "to", Num: true, Drop: 4}, {Label: "confidence", Num: true, Drop: 2}, {Label: "what grows"}}}
	for _, g := range l.Growing {
		t.Rows = append(t.Rows, leakRow(g))
		if g.Kind == "goroutines" && len(g.Stack) > 0 && g.Site != nil && g.State != nil {
			b.Folds = append(b.Folds, &Fold{Title: formatf("goroutines of %s wait here [%s]:", g.Site.Place(), *g.State), Words: calls(g.Stack)})
		}
	}
	b.Tables = []*Table{t}
	s.Blocks = append(s.Blocks, b)
	if text := waitingText(l.Waiting); text != "" {
		s.Answers = append(s.Answers, Answer{Text: text})
	}
	for _, x := range l.Blocked {
		s.Answers = append(s.Answers, Answer{Bad: true, Text: formatf("A %s has been waiting for about %s [%s]: the %ss queued behind it do not run, and what they would free stays.",
			x.Kind, unit.ElapsedSeconds(x.Seconds), x.State, x.Kind)})
		s.Blocks = append(s.Blocks, &Block{Key: true, Title: formatf("Where the %s waits", x.Kind), Words: calls(x.Stack)})
	}
	if b := overTimeBlock(l.OverTime, nil); b != nil {
		s.Blocks = append(s.Blocks, b)
	}
}

// waitingText says how many finalizers and cleanups wait; "" for none.
func waitingText(w *result.Waiting) string {
	if w == nil {
		return ""
	}
	var out []string
	add := func(first, last uint64, of string) {
		if last > 0 {
			out = append(out, formatf("%s (%s at the first reading)", unit.Plural(int(min(last, math.MaxInt32)), of), unit.Count(float64(first))))
		}
	}
	add(w.FinalizersFirst, w.Finalizers, "finalizer")
	if w.Cleanups != nil {
		first := uint64(0)
		if w.CleanupsFirst != nil {
			first = *w.CleanupsFirst
		}
		add(first, *w.Cleanups, "cleanup")
	}
	if len(out) == 0 {
		return ""
	}
	text := "Waiting to run, or running: " + strings.Join(out, ", ")
	if len(w.Functions) > 0 {
		f := w.Functions[0]
		text += formatf("; most finalizers (%s): %s", unit.Count(float64(f.Count)), siteText(f.SiteLine, nil, nil, nil))
	}
	return text + "."
}

// watchedText says what of a process was watched, "" for nothing, and of what kinds that is.
func watchedText(l *result.Leaks) (text string, kinds []string) {
	var out []string
	add := func(text, kind string) { out, kinds = append(out, text), append(kinds, kind) }
	if l.Cycles != nil && l.Sites != nil {
		lines := unit.Plural(*l.Sites, "line") + " that allocate"
		if *l.Sites == 1 {
			lines += "s"
		}
		add(formatf("%s (%s)", lines, unit.Plural(*l.Cycles, "heap profile")), "line")
	}
	if l.Starts != nil {
		add(unit.Plural(*l.Starts, "go statement"), "go statement")
	}
	if l.Parts != nil {
		add(unit.Plural(*l.Parts, "part")+" of its memory", "part of memory")
	}
	return join(out), kinds
}

// leakValue prints how much there is of what grows.
func leakValue(g result.Leak, v float64) string {
	if g.Kind == "goroutines" {
		return unit.Count(float64(int64(v + 0.5)))
	}
	return unit.Bytes(v)
}

// leakRate is the growth of a minute.
func leakRate(g result.Leak) string { return "+" + leakValue(g, 60*g.Slope) }

func leakRow(g result.Leak) Row {
	value := func(v float64) string { return leakValue(g, v) }
	sure := unit.Percent(g.Confidence)
	if g.Confidence > 0.999 { // never 100%
		sure = ">99.9%"
	}
	return Row{Cells: []Cell{num(leakRate(g), g.Slope), plain(value(60*g.Low) + " to " + value(60*g.High)),
		num(value(g.From), g.From), num(value(g.To), g.To), num(sure, g.Confidence), plain(leakText(g))}}
}

func leakText(g result.Leak) string {
	switch {
	case g.Title != nil && g.Name != nil:
		return *g.Title + ", most of it " + *g.Name
	case g.Title != nil:
		return *g.Title
	case g.Site == nil:
		return g.Kind
	case g.Kind == "goroutines":
		text := "goroutines created by " + result.ShortFunc(g.Site.Func) + " " + g.Site.Place()
		if g.State != nil {
			text += ", " + *g.State
		}
		if g.Leaked {
			text += ", leaked"
		}
		return text + ofRuntime(g.Of)
	}
	return siteText(*g.Site, g.Of, g.Inside, g.Callers)
}
