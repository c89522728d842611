package main

import (
	"os"

	"github.com/foliomem/folio/internal/base/console"
)

// newProgress returns the line that says how far folio is.
func newProgress(w *console.Printer) *console.Progress {
	f, ok := terminal(w)
	if !ok || os.Getenv("TERM") == "dumb" {
		w = nil
	}
	return console.NewProgress(w, func() int { return terminalWidth(f) })
}

// terminal returns the file behind w when it is one that a person watches.
func terminal(w any) (*os.File, bool) {
	if p, ok := w.(*console.Printer); ok {
		w = p.Raw()
	}
	f, ok := w.(*os.File)
	if !ok {
		return nil, false
	}
	return f, isTerminal(f)
}
