// Package terminal says whether a person watches what is printed, and how wide that is.
package terminal

import (
	"os"

	"golang.org/x/term"

	"github.com/foliomem/folio/internal/base/console"
)

// Of returns the file behind w when it is a terminal.
func Of(w any) (*os.File, bool) {
	if p, ok := w.(*console.Printer); ok {
		w = p.Raw()
	}
	f, ok := w.(*os.File)
	if !ok {
		return nil, false
	}
	return f, Is(f)
}

// Is reports whether a file is a terminal.
func Is(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Width returns the columns of a terminal, 80 when it does not say.
func Width(f *os.File) int {
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		return w
	}
	return 80
}

// Columns returns the width of the terminal behind w, 0 where there is none: what goes into a
// file is always the same.
func Columns(w any) int {
	if f, ok := Of(w); ok {
		return Width(f)
	}
	return 0
}
