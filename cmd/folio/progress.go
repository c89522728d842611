package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/foliomem/folio/internal/console"
	"github.com/foliomem/folio/internal/tune"
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
		text += fmt.Sprintf(", run %d, %d settings", u.Trials+1, u.Settings)
		if u.Left > 0 {
			text += ", at most " + u.Left.Round(time.Second).String() + " left"
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
	text = console.Line(text)
	if r, w := []rune(text), terminalWidth(p.out.File())-1; len(r) > w {
		text = string(r[:w])
	}
	p.clear()
	_, _ = io.WriteString(p.out, text)
	p.shown = true
}

// clear takes the line away.
func (p *progress) clear() {
	if p.out != nil && p.shown {
		_ = p.out.ClearLine()
		p.shown = false
	}
}
