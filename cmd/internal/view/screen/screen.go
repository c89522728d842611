// Package screen draws what a process has in memory on the whole terminal, again and again
// in place. [Model] is what is drawn, as Bubble Tea has it: readings come to it as messages.
package screen

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/report"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/unit"
)

// A Reading is a message: what was read of the process. It has an OverTime.
type Reading struct{ Process *result.Process }

// Model is the screen. Its zero value waits for the first reading.
type Model struct {
	Every string // how often the process is read, in words

	width, height int
	reading       *result.Process // the last one
	shown         *result.Process // that is drawn: not the last one while it is paused
	paused        bool
}

// Init starts nothing: readings come from outside.
func (Model) Init() tea.Cmd { return nil }

// Update takes a message.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case Reading:
		m.reading = msg.Process
		if !m.paused {
			m.shown = msg.Process
		}
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		switch msg.String() {
		case "q", "ctrl+c", "esc":
			return m, tea.Quit
		case "p", "space":
			m.paused = !m.paused
			m.shown = m.reading
		case "ctrl+z":
			return m, tea.Suspend
		}
	}
	return m, nil
}

// View draws the screen.
func (m Model) View() tea.View {
	v := tea.NewView(strings.Join(m.Lines(), "\n"))
	v.AltScreen = true
	return v
}

// What the size is taken for until the terminal has said it, and the least that is drawn.
const (
	usualWidth, usualHeight = 80, 24
	leastWidth              = 20
)

// Lines are those of the screen, as many as it has, none wider than it is. All that comes
// from outside is escaped in them.
func (m Model) Lines() []string {
	width, height := m.width, m.height
	if width <= 0 || height <= 0 {
		width, height = usualWidth, usualHeight
	}
	if width < leastWidth || height < 3 {
		return []string{cut("too small", width)}
	}
	foot := styled(faint, cut("q quit   p "+m.pause()+"   read every "+m.Every, width))
	if m.shown == nil {
		return fill([]string{cut("reading...", width)}, foot, height)
	}
	p := m.shown
	lines := m.head(p, width)
	lines = append(lines, "")
	lines = append(lines, rows(p, width)...)
	for _, n := range p.Notes {
		lines = append(lines, cut(console.Line("note: "+n), width))
	}
	if line := sparkline(p.OverTime, width); line != "" && len(lines)+3 < height {
		lines = append(lines, "", line)
	}
	return fill(lines, foot, height)
}

func (m Model) pause() string {
	if m.paused {
		return "go on (paused)"
	}
	return "pause"
}

// fill puts the foot into the last line, and leaves out what does not fit above it.
func fill(lines []string, foot string, height int) []string {
	if n := height - 1; len(lines) > n {
		lines = append(lines[:n-1:n-1], styled(faint, fmt.Sprintf("... %s more", unit.Plural(len(lines)-n+1, "line"))))
	}
	for len(lines) < height-1 {
		lines = append(lines, "")
	}
	return append(lines, foot)
}

// head says which process it is, and how its memory stands.
func (m Model) head(p *result.Process, width int) []string {
	out := []string{styled(bold, cut(fmt.Sprintf("process %d: %s", p.PID, report.Command(p.Command, p.Name)), width)),
		cut(console.Line(strings.Join(report.About(p), ", ")), width)}
	if text := report.LimitText(p); text != "" {
		rss, _ := report.Charged(p)
		columns := min(40, width/2)
		if rss <= p.Limit.Bytes {
			out = append(out, gauge(float64(rss)/float64(p.Limit.Bytes), columns)+cut(" of the limit", width-columns-10))
		}
		out = append(out, console.Wrap("", "  ", text, width)...)
	}
	for _, l := range report.GrowthWords(p) {
		out = append(out, console.Wrap("", "  ", l, width)...)
	}
	text := ""
	if p.Waterfall != nil {
		text = report.GCText(p.Waterfall.GC, true)
	}
	if rate := cycleRate(p.OverTime); rate != "" {
		text += ", " + rate
	}
	if text != "" {
		out = append(out, cut(text, width))
	}
	if f := p.Faults; f != nil && f.Seconds > 0 {
		out = append(out, cut(fmt.Sprintf("page faults: %s minor, %s major a second", unit.Count(float64(f.Minor)/f.Seconds),
			unit.Count(float64(f.Major)/f.Seconds)), width))
	}
	return out
}

// cycleRate is how often the GC ran lately; "" if that is not known.
func cycleRate(o *result.OverTime) string {
	const lately = 30 // readings
	if o == nil || len(o.Cycles) < 2 {
		return ""
	}
	last := len(o.Cycles) - 1
	first := max(0, last-lately)
	a, b, d := o.Cycles[first], o.Cycles[last], o.Seconds[last]-o.Seconds[first]
	if a == nil || b == nil || !(d > 0) {
		return ""
	}
	return fmt.Sprintf("%s a second now", unit.Rate(float64(*b-*a)/d))
}

// titleWidth is how wide the column of titles is.
func titleWidth(w *result.Waterfall, room int) int {
	width := 0
	for _, p := range w.Parts {
		width = max(width, console.Width(console.Line(p.Title())))
	}
	return max(min(width, room), 8)
}

// rows are the parts of RSS, each with its share as a bar where there is room.
func rows(p *result.Process, width int) []string {
	w := p.Waterfall
	if w == nil {
		return nil
	}
	const size, share, growth = 10, 7, 11
	title := titleWidth(w, width-size-share-growth-3)
	row := func(name, bytes, percent, grows string, of float64) string {
		line := fmt.Sprintf("%-*s %*s %*s %*s", title, cut(name, title), size, bytes, share, percent, growth, grows)
		if room := width - title - size - share - growth - 5; room >= 8 && of >= 0 {
			line += "  " + bar(of, min(room, 60))
		}
		return cut(strings.TrimRight(line, " "), width)
	}
	out := []string{styled(bold, row("part of RSS", "bytes", "share", "a minute", -1))}
	for _, part := range w.Parts {
		if part.Bytes == 0 && (part.Runtime == nil || *part.Runtime == 0) {
			continue
		}
		var g *result.Growth
		if p.OverTime != nil {
			if over := p.OverTime.Part(part.Kind); over != nil {
				g = over.Growth
			}
		}
		of := 0.0
		if w.RSS > 0 {
			of = float64(part.Bytes) / float64(w.RSS)
		}
		out = append(out, row(console.Line(part.Title()), report.SignedSize(part.Bytes), unit.Percent(of), report.GrowthText(g), max(of, 0)))
		for _, of := range part.Of {
			share := float64(of.Bytes) / float64(max(w.RSS, 1))
			out = append(out, row("  "+console.Line(of.Name), unit.Size(of.Bytes), unit.Percent(share), "", -1))
		}
	}
	var g *result.Growth
	if p.OverTime != nil {
		g = p.OverTime.Growth
	}
	out = append(out, row("RSS", unit.Size(w.RSS), unit.Percent(1), report.GrowthText(g), -1))
	for _, l := range report.WaterfallNotes(w, "") { // the head has the GC
		out = append(out, styled(faint, cut(console.Line(l), width)))
	}
	return out
}
