package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/trial/tune"
)

// A progress is the live line on a terminal: where the search is and how long
// it still takes. Elsewhere it prints nothing.
type progress struct {
	out   *console.Printer // nil when nobody watches
	shown bool
}

func newProgress(w *console.Printer) *progress {
	if _, ok := terminal(w); !ok || os.Getenv("TERM") == "dumb" {
		return &progress{}
	}
	return &progress{out: w}
}

func (p *progress) show(u tune.Progress) {
	if p.out == nil {
		return
	}
	if u.Sample != nil {
		return // the next trial's start follows at once
	}
	text := string(u.Stage)
	if u.Stage != tune.InWarmup {
		text += fmt.Sprintf(": round %d", u.Round)
		if u.Of > 0 {
			text += fmt.Sprintf(" of %d", u.Of)
		}
		text += fmt.Sprintf(", run %d, %s", u.Trials+1, unit.Plural(u.Settings, "setting"))
		if u.Left > 0 {
			text += ", at most " + unit.Span(u.Left.Round(time.Second)) + " left"
		}
		if u.Best != nil {
			text += ", best " + u.Best.Name
		}
	}
	if u.Arm != nil {
		text += ": " + u.Arm.Name
	}
	p.line(text)
}

// line shows a text in place of what was there.
func (p *progress) line(text string) {
	if p.out == nil {
		return
	}
	text = fitLine(console.Line(text), terminalWidth(p.out.File())-1) // the last column would wrap
	p.clear()
	_, _ = io.WriteString(p.out, text)
	p.shown = true
}

// fitLine cuts a text to a width, after a word where there is one.
func fitLine(text string, width int) string {
	r := []rune(text)
	switch {
	case len(r) <= width:
		return text
	case width < 2:
		return ""
	}
	head := string(r[:width-1]) // one for …
	if !strings.ContainsRune(" ,:", r[width-1]) {
		if i := strings.LastIndexByte(head, ' '); i > 0 {
			head = head[:i]
		}
	}
	return strings.TrimRight(head, " ,:") + "…"
}

// clear takes the line away.
func (p *progress) clear() {
	if p.out != nil && p.shown {
		_ = p.out.ClearLine()
		p.shown = false
	}
}
