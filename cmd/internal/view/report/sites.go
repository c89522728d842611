package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// Sites prints who keeps the memory of a process: of each list at most so many rows, 0 for
// all.
func Sites(w io.Writer, f *result.Sites, rows int) error {
	if err := sayRedacted(w, f.Header); err != nil {
		return err
	}
	p := &printer{w: w}
	if f.PID != nil {
		about := ""
		if f.GoVersion != nil {
			about = ", " + *f.GoVersion
		}
		p.line("process %d: %s%s", *f.PID, commandText(f.Command, "unknown"), about)
	}
	for _, show := range []func(*printer, *result.Sites, int){heapSites, heapGrowth, goroutineSites, leaks} {
		show(p, f, rows)
	}
	p.notes(numbered(f.Notes))
	return p.err
}

// more says how many rows are not shown, and how many are.
func moreRows(n, rows int) (shown int) {
	if rows > 0 && n > rows {
		return rows
	}
	return n
}

// siteText names a line, the function of the library that allocates there, and its caller.
func siteText(s result.SiteLine, inside *string, callers []string) string {
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
	return text
}

func heapSites(p *printer, f *result.Sites, rows int) {
	h := f.Heap
	if h == nil {
		return
	}
	p.line("%s in %s objects in use after the last GC cycle; %s in %s allocated since the start (%s)", unit.Size(h.InUseBytes),
		unit.Count(float64(h.InUseObjects)), unit.Size(h.AllocBytes), unit.Count(float64(h.AllocObjects)), sampling(h.Rate))
	p.line("")
	t := &table{left: map[int]bool{4: true}}
	t.add("in use", "objects", "share", "allocated", "line that allocates")
	n := moreRows(len(h.Sites), rows)
	for _, s := range h.Sites[:n] {
		share := none
		if h.InUseBytes > 0 {
			share = unit.Percent(float64(s.InUseBytes) / float64(h.InUseBytes))
		}
		t.add(unit.Size(s.InUseBytes), unit.Count(float64(s.InUseObjects)), share, unit.Size(s.AllocBytes), siteText(s.SiteLine, s.Inside, s.Callers))
	}
	p.table(t)
	if left := len(h.Sites) - n; left > 0 {
		p.line("  and %s with less (--rows)", unit.Plural(left, "line"))
	}
}

func sampling(rate int64) string {
	if rate <= 1 {
		return "every object counted"
	}
	return "estimated from a sample for every " + unit.Size(rate)
}

func (p *printer) table(t *table) {
	if p.err == nil {
		p.err = t.write(p.w, "  ")
	}
}

func heapGrowth(p *printer, f *result.Sites, rows int) {
	g := f.Growth
	if g == nil {
		return
	}
	p.line("heap in use: %s before, %s after: %s", unit.Size(g.Before.InUseBytes), unit.Size(g.After.InUseBytes), signedSize(g.After.InUseBytes-g.Before.InUseBytes))
	if g.Other {
		p.line("the second profile has allocated less than the first: it is of another process, or of an earlier time")
	}
	t := &table{left: map[int]bool{5: true}}
	t.add("growth", "+-", "objects", "before", "after", "line that allocates")
	grown, unsure := 0, 0
	for i := range g.Sites {
		s := &g.Sites[i]
		switch {
		case s.Bytes <= 0:
		case !s.Certain():
			unsure++
		default:
			if grown++; rows > 0 && grown > rows {
				continue
			}
			t.add(signedSize(s.Bytes), unit.Bytes(s.Error), fmt.Sprintf("%+d", s.Objects), unit.Size(s.Before.InUseBytes), unit.Size(s.After.InUseBytes),
				siteText(s.SiteLine, s.Inside, s.Callers))
		}
	}
	p.line("")
	if grown == 0 {
		p.line("no line has grown")
	} else {
		p.table(t)
		if rows > 0 && grown > rows {
			p.line("  and %s that grew less (--rows)", unit.Plural(grown-rows, "line"))
		}
	}
	if unsure > 0 {
		p.line("  %s grew by less than the error of the sample", unit.Plural(unsure, "line"))
	}
}

func signedSize(n int64) string {
	if n < 0 {
		return "-" + unit.Size(-n)
	}
	return "+" + unit.Size(n)
}

// shownFrames is how many calls of a stack are shown.
const shownFrames = 8

func goroutineSites(p *printer, f *result.Sites, rows int) {
	g := f.Goroutines
	if g == nil {
		return
	}
	text := unit.Plural(g.Total, "goroutine") + fmt.Sprintf(", %d of the runtime itself", g.Runtime)
	if g.Leaked != nil {
		text += fmt.Sprintf(", %d leaked (as of the program's last profile goroutineleak)", *g.Leaked)
	}
	p.line("%s", text)
	n := moreRows(len(g.Groups), rows)
	count := 0
	for _, s := range g.Groups[:n] {
		state := s.State
		if s.Leaked {
			state += ", leaked"
		}
		if s.Waits != nil {
			state += ", up to " + unit.Elapsed(time.Duration(*s.Waits*float64(time.Second)))
		}
		created := "started by the runtime"
		if s.Created != nil {
			created = "created by " + result.ShortFunc(s.Created.Func) + " " + s.Created.Place()
		}
		p.line("")
		p.line("%s [%s] %s", unit.Count(float64(s.Count)), state, created)
		stack := s.Stack // without how the runtime waits, which the state says
		for len(stack) > 1 && strings.HasPrefix(stack[0].Func, "runtime.") {
			stack = stack[1:]
		}
		for i, l := range stack {
			if i == shownFrames {
				p.line("    ... %d more", len(stack)-i)
				break
			}
			p.line("    %s %s", result.ShortFunc(l.Func), l.Place())
		}
		count += s.Count
	}
	if left := g.Total - g.Runtime - count; left > 0 {
		p.line("")
		p.line("and %s in smaller groups (--rows)", unit.Plural(left, "goroutine"))
	}
	if g.Unread > 0 {
		p.line("%d could not be read", g.Unread)
	}
}

func leaks(p *printer, f *result.Sites, _ int) {
	l := f.Leaks
	if l == nil {
		return
	}
	var watched []string
	if l.Cycles != nil && l.Sites != nil {
		lines := unit.Plural(*l.Sites, "line") + " that allocate"
		if *l.Sites == 1 {
			lines += "s"
		}
		watched = append(watched, fmt.Sprintf("%s (%s)", lines, unit.Plural(*l.Cycles, "heap profile")))
	}
	if l.Starts != nil {
		watched = append(watched, unit.Plural(*l.Starts, "go statement"))
	}
	if l.Parts != nil {
		watched = append(watched, unit.Plural(*l.Parts, "part")+" of its memory")
	}
	blind := len(watched) == 0
	if blind {
		watched = append(watched, "nothing of it could be read")
	}
	ended := ""
	switch {
	case l.Ended:
		ended = ", when it ended"
	case l.Interrupted:
		ended = ", when it was interrupted"
	}
	p.line("watched for %s%s: %s", unit.ElapsedSeconds(l.Seconds), ended, strings.Join(watched, ", "))
	p.line("")
	if text := rssText(l); text != "" {
		p.line("%s", text)
	}
	switch {
	case len(l.Growing) > 0:
		if l.RSSFirst != nil {
			p.line("")
		}
		t := &table{left: map[int]bool{5: true}}
		t.add("growth/min", "95% interval", "from", "to", "confidence", "what grows")
		for _, g := range l.Growing {
			value := unit.Bytes
			if g.Kind == "goroutines" {
				value = func(v float64) string { return unit.Count(math.Round(v)) }
			}
			t.add("+"+value(60*g.Slope), value(60*g.Low)+" to "+value(60*g.High), value(g.From), value(g.To), confidence(g.Confidence), leakText(g))
		}
		p.table(t)
		for _, g := range l.Growing {
			if g.Kind != "goroutines" || len(g.Stack) == 0 || g.Site == nil || g.State == nil {
				continue
			}
			p.line("")
			p.line("  goroutines of %s wait here [%s]:", g.Site.Place(), *g.State)
			p.stack(g.Stack)
		}
	case !l.Enough:
		p.line("not judged: too few readings")
	case blind:
		p.line("not judged")
	case l.HeapUnjudged != nil:
		p.line("no go statement or part of memory outside of the Go heap grows without end")
	default:
		p.line("no line, go statement or part of memory grows without end")
	}
	if l.HeapUnjudged != nil {
		if len(l.Growing) > 0 {
			p.line("")
		}
		p.line("whether the Go heap grows without end is not known yet: %s", *l.HeapUnjudged)
	}
	for _, b := range l.Blocked {
		p.line("")
		p.line("a %s has been waiting for about %s [%s]: the %ss queued behind it do not run, and what they would free stays", b.Kind,
			unit.ElapsedSeconds(b.Seconds), b.State, b.Kind)
		p.stack(b.Stack)
	}
}

// stack prints the first calls of a stack.
func (p *printer) stack(stack []result.SiteLine) {
	for _, s := range stack[:min(len(stack), shownFrames)] {
		p.line("    %s %s", result.ShortFunc(s.Func), s.Place())
	}
}

// rssText says by how much RSS has grown, whatever of it grows; "" if it is not known.
func rssText(l *result.Leaks) string {
	if l.RSSFirst == nil || l.RSSLast == nil {
		return ""
	}
	levels := fmt.Sprintf("%s at first, %s at last", unit.Size(*l.RSSFirst), unit.Size(*l.RSSLast))
	switch g := l.RSSGrowth; {
	case g == nil:
		return "RSS: " + levels + "; too few readings to say how it grows"
	case g.Steady():
		return "RSS: " + levels + "; no significant trend"
	default:
		text := "RSS: " + levels + "; it " + rssTrend(g)
		if l.RSSPart != nil && l.RSSPartGrowth != nil {
			text += fmt.Sprintf(", most of it in: %s (%s a minute)", *l.RSSPart, GrowthText(l.RSSPartGrowth))
		}
		return text
	}
}

// confidence never says 100%.
func confidence(v float64) string {
	if v > 0.999 {
		return ">99.9%"
	}
	return unit.Percent(v)
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
		return text
	}
	return siteText(*g.Site, g.Inside, g.Callers)
}
