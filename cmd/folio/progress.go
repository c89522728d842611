package main

import (
	"os"

	"github.com/foliomem/folio/cmd/internal/base/terminal"
	"github.com/foliomem/folio/internal/base/console"
)

// newProgress returns the line that says how far folio is.
func newProgress(w *console.Printer) *console.Progress {
	f, ok := terminal.Of(w)
	if !ok || os.Getenv("TERM") == "dumb" {
		w = nil
	}
	return console.NewProgress(w, func() int { return terminal.Width(f) })
}
