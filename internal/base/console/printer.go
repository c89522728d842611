// Package console is the way of all text that folio prints: to the standard output, to
// the standard error, and in the progress line. What comes from outside (names of
// processes, functions and files, arguments, results, environment) can hold what a
// terminal obeys. It is escaped here, where it leaves, so that no command can forget
// to.
package console

import (
	"fmt"
	"io"
	"os"
	"sync"
	"unicode/utf8"
)

// A Printer writes text to a terminal or file, escaped: see [Escape]. Its methods may
// be called by many goroutines at once.
type Printer struct {
	mu   sync.Mutex
	w    io.Writer
	rest []byte // the beginning of a character, whose end is still to come
	err  error  // the first of writing
}

// New returns a printer; one for a printer is that one.
func New(w io.Writer) *Printer {
	if p, ok := w.(*Printer); ok {
		return p
	}
	return &Printer{w: w}
}

// Write prints a text, of which a character may be cut at the end.
func (p *Printer) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(text)
	if len(p.rest) > 0 {
		text = append(p.rest, text...)
		p.rest = nil
	}
	if cut := unfinished(text); cut > 0 {
		p.rest = append(p.rest, text[len(text)-cut:]...)
		text = text[:len(text)-cut]
	}
	if err := p.put(text); err != nil {
		return 0, err
	}
	return n, nil
}

// Line prints one line, whatever is in the arguments: none of them can begin another.
func (p *Printer) Line(format string, args ...any) error {
	_, err := io.WriteString(p, Line(fmt.Sprintf(format, args...))+"\n")
	return err
}

// Flush prints what is left of a text that ended within a character. It returns the
// first error of all that was printed.
func (p *Printer) Flush() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	rest := p.rest
	p.rest = nil
	_ = p.put(rest)
	return p.err
}

func (p *Printer) put(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	if !clean(text, false) {
		text = []byte(Escape(string(text)))
	}
	_, err := p.w.Write(text)
	if p.err == nil {
		p.err = err
	}
	return err
}

// unfinished returns how many bytes at the end may be the beginning of a character.
func unfinished(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if b := text[len(text)-n:]; utf8.RuneStart(b[0]) {
			if !utf8.FullRune(b) {
				return n
			}
			return 0
		}
	}
	return 0
}

// Raw returns what the printer writes to, for what is not folio's text: the output of
// programs that folio runs, which passes through untouched, and result files that go to
// the standard output.
func (p *Printer) Raw() io.Writer { return p.w }

// File returns the file that the printer writes to, nil if it is none.
func (p *Printer) File() *os.File {
	f, _ := p.w.(*os.File)
	return f
}

// The styles that folio itself uses. They are for terminals.
const (
	clearLine   = "\r\x1b[K"
	clearScreen = "\x1b[H\x1b[2J"
)

// ClearLine takes away what was printed in the line.
func (p *Printer) ClearLine() error { return p.style(clearLine) }

// ClearScreen empties the screen.
func (p *Printer) ClearScreen() error { return p.style(clearScreen) }

func (p *Printer) style(s string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := io.WriteString(p.w, s)
	return err
}
