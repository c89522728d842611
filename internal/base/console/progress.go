package console

import (
	"io"
	"strings"
)

// A Progress is the live line on a terminal: where folio is and how long it still takes.
// Elsewhere it prints nothing.
type Progress struct {
	out   *Printer // nil when nobody watches
	width func() int
	shown bool
}

// NewProgress returns the line on a terminal of width columns; out is nil where there is
// none.
func NewProgress(out *Printer, width func() int) *Progress { return &Progress{out: out, width: width} }

// Show shows a text in place of what was there; "" takes the line away.
func (p *Progress) Show(text string) {
	if p.out == nil {
		return
	}
	if p.shown {
		_ = p.out.ClearLine()
	}
	if p.shown = text != ""; p.shown {
		_, _ = io.WriteString(p.out, fitLine(Line(text), p.width()-1)) // the last column would wrap
	}
}

// fitLine cuts a text to a width: after the last part that fits, as a setting that is cut is
// another one, or after a word.
func fitLine(text string, width int) string {
	r := []rune(text)
	switch {
	case len(r) <= width:
		return text
	case width < 2:
		return ""
	}
	head, next := string(r[:width-1]), string(r[width-1]) // one for …
	if part := max(strings.LastIndex(head+next, ", "), strings.LastIndex(head+next, ": ")); part > 0 && !strings.Contains(",:", next) {
		head = head[:part]
	} else if word := strings.LastIndexByte(head, ' '); word > 0 && !strings.Contains(" ,:", next) {
		head = head[:word]
	}
	return strings.TrimRight(head, " ,:") + "…"
}

// Clear takes the line away.
func (p *Progress) Clear() { p.Show("") }
