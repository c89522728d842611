package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/unit"
)

// Options say how a text is laid out.
type Options struct {
	// Width is how many columns there are; 0 where that is not known: then nothing is wrapped.
	Width int
	// Rows bounds the lists that may be long; 0 for no bound.
	Rows int
	// Full has all, not the answer alone.
	Full bool
}

// Render prints a document.
func Render(w io.Writer, d *document.Document, o Options) error {
	p := &printer{w: w, o: o}
	for i, s := range d.Sections {
		if i > 0 {
			p.line("")
		}
		p.section(s)
	}
	return p.err
}

// A printer writes lines and keeps the first error.
type printer struct {
	w   io.Writer
	o   Options
	err error
	// left says that the section is not shown in full.
	left bool
}

func (p *printer) line(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, strings.TrimRight(console.Line(text), " ")+"\n")
	}
}

// say prints a text in lines as wide as the terminal, unless it is empty; all but the first
// are indented further.
func (p *printer) say(indent, text string) {
	switch {
	case text == "":
	case p.o.Width <= 0:
		p.line(indent + text)
	default:
		for _, l := range console.Wrap(indent, indent+"  ", text, p.o.Width) {
			p.line(l)
		}
	}
}

// ofMachine begin the notes that hold of each run on a machine: folio doctor has them as well.
var ofMachine = []string{"no cycle counter can be used here", "a heap that shrinks may grow back on huge pages"}

func (p *printer) section(s *document.Section) {
	p.left = false
	if s.From != "" {
		p.line("== " + s.From)
	}
	if s.Code {
		p.line("$ " + s.Heading)
	} else {
		p.say("", s.Kicker+": "+s.Heading)
	}
	about := s.About
	if p.o.Full {
		about = s.All()
	}
	p.say("", strings.Join(about, ", "))
	for _, t := range s.First {
		p.line("")
		p.table(t, "", false)
	}
	if len(s.Answers) > 0 {
		p.line("")
	}
	for _, a := range s.Answers {
		if a.Minor && !p.o.Full {
			p.left = true
			continue
		}
		p.answer(a)
	}
	p.say("", s.Verdict)
	for _, b := range s.Blocks {
		if p.o.Full || b.Key && says(b) {
			p.block(b)
		}
		p.left = p.left || !p.o.Full && (!b.Key || len(b.Folds) > 0 && b.More == "")
	}
	n := 0
	for _, text := range s.Notes {
		if !p.o.Full && slices.ContainsFunc(ofMachine, func(begin string) bool { return strings.HasPrefix(text, begin) }) {
			continue
		}
		if n++; n == 1 {
			p.line("")
		}
		p.say("", fmt.Sprintf("note %d: %s", n, text))
	}
	if p.left {
		p.line("")
		p.line("--full shows the rest.")
	}
}

func (p *printer) answer(a document.Answer) {
	a.Figure = strings.ReplaceAll(a.Figure, "−", "-") // one kind of minus, which grep finds
	text := a.Text
	// An interval is of the figure before it, which a part of the text may equal by chance.
	if strings.HasPrefix(text, "[") || !strings.Contains(text, strings.TrimLeft(a.Figure, "+-")) {
		text = a.Figure + " " + text
	}
	if strings.HasSuffix(a.Goal, "?") {
		text = a.Goal + " " + text
	} else if a.Goal != "" {
		text = a.Goal + ": " + text
	}
	p.say("", text)
	p.say("  ", a.Sure)
	p.code("  ", a.Line)
	switch {
	case p.o.Full:
		p.say("  ", a.Detail)
	case a.Main:
		p.say("  ", cmp.Or(a.Brief, a.Detail))
	default: // what warns of a further answer is as much a part of it
		p.say("  ", a.Brief)
	}
	if a.Later && !p.o.Full {
		return
	}
	for _, s := range a.Steps {
		p.say("  ", s.Do)
		p.code("    ", s.Code)
	}
}

// says reports whether a block says anything where folds are not shown.
func says(b *document.Block) bool {
	return b.Lead != "" || len(b.Words)+len(b.Tables) > 0 || b.More != "" && len(b.Folds) > 0
}

// code prints what is to be pasted: it is never wrapped.
func (p *printer) code(indent, text string) {
	if text == "" {
		return
	}
	for l := range strings.SplitSeq(text, "\n") {
		p.line(indent + l)
	}
}

func (p *printer) block(b *document.Block) {
	p.line("")
	title := b.Title
	if b.Lead != "" && !strings.HasSuffix(title, "?") {
		title = strings.TrimPrefix(title+": "+b.Lead, ": ")
	}
	p.say("", title)
	if strings.HasSuffix(title, "?") {
		p.say("  ", b.Lead)
	}
	p.say("  ", b.Sure)
	words := p.o.Full || len(b.Tables) == 0
	for _, l := range b.Words {
		if words {
			p.say("  ", l)
		}
	}
	for i, t := range b.Tables {
		if i > 0 || words && len(b.Words) > 0 {
			p.line("")
		}
		p.table(t, b.Title, len(b.Tables) == 1)
	}
	p.folds(b)
}

func (p *printer) folds(b *document.Block) {
	folds := b.Folds
	if b.More == "" && !p.o.Full {
		return
	}
	if b.More != "" && p.o.Rows > 0 && len(folds) > p.o.Rows {
		folds = folds[:p.o.Rows]
	}
	for _, f := range folds {
		p.line("")
		p.say("  ", f.Title)
		for _, l := range f.Words {
			p.say("    ", l)
		}
		for _, t := range f.Tables {
			p.line("")
			p.table(t, f.Title, false)
		}
	}
	p.more(len(b.Folds)-len(folds), b.More)
}

// more says how much of a list is not shown.
func (p *printer) more(n int, what string) {
	if n > 0 {
		p.line("  and " + unit.Plural(n, what) + " (--rows)")
	}
}
