// Package markdown renders the documents as GitHub Flavored Markdown: answers first,
// then what is behind them, folded. A chart is its table.
package markdown

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/foliomem/folio/cmd/internal/view/document"
)

// Render returns the text of a document.
func Render(p *document.Document) []byte {
	w := &writer{}
	for _, s := range p.Sections {
		w.section(s)
	}
	return []byte(strings.TrimSpace(w.b.String()) + "\n")
}

type writer struct {
	b     strings.Builder
	wrote map[string]bool // tables of the section
}

// longSummary is the length of a block's answer beyond which it stands below its title.
const longSummary = 80

// para writes a paragraph, unless it is empty.
func (w *writer) para(text string) {
	if text = strings.TrimSpace(text); text != "" {
		w.b.WriteString(text + "\n\n")
	}
}

func (w *writer) section(s *document.Section) {
	w.wrote = make(map[string]bool)
	heading := escape(s.Heading)
	if s.Code {
		heading = span(s.Heading)
	}
	w.para("## " + escape(s.Kicker) + ": " + heading)
	w.para(w.tablesOf("", s.First))
	for _, a := range s.Answers {
		w.answer(a)
	}
	w.para(escape(s.Verdict))
	w.list(s.Notes)
	for _, b := range s.Blocks {
		w.block(b)
	}
	w.para(escape(strings.Join(s.All(), "; ")))
}

func (w *writer) answer(a document.Answer) {
	text := escape(a.Text)
	if a.Figure != "" {
		figure := escape(a.Figure)
		if !strings.ContainsAny(figure, "0123456789") { // a name, and no measure of the text
			figure += ":"
		}
		if !strings.HasPrefix(a.Text, "[") && strings.Contains(text, figure) { // the interval is of what stands before it
			text = strings.Replace(text, figure, "**"+figure+"**", 1)
		} else {
			text = "**" + figure + "** " + text
		}
	}
	if a.Goal != "" {
		text = escape(a.Goal) + ": " + text
	}
	w.para(text)
	w.para(escape(a.Sure))
	w.fence(a.Line)
	w.para(escape(a.Detail))
	for _, s := range a.Steps {
		w.para(escape(s.Do))
		w.fence(s.Code)
	}
}

// block writes a block, folded below its answer where it has tables.
func (w *writer) block(b *document.Block) {
	title, tables := b.Title, w.tablesOf(b.Title, b.AllTables())
	var words []string
	for _, f := range b.Folds {
		words = append(words, f.Words...)
	}
	if tables == "" && len(words) == 0 {
		if title != "" && len(b.Words) > 0 {
			w.para("### " + escape(title))
		}
		w.words(b, "")
		return
	}
	says := b.Says()
	if says == title || len(title)+len(says) > longSummary {
		says = ""
	}
	if title == "" {
		title = "Details"
	}
	if says != "" {
		title += ": " + says
	}
	w.para("<details><summary>" + template.HTMLEscapeString(title) + "</summary>")
	if b.Lead != says {
		w.para(escape(b.Lead))
	}
	w.words(b, says)
	w.para(tables)
	w.list(words)
	w.para("</details>")
}

// words writes those of a block, but what its title says.
func (w *writer) words(b *document.Block, says string) {
	w.para(escape(b.Sure))
	for _, l := range b.Words {
		if l != says {
			w.para(escape(l))
		}
	}
}

func (w *writer) list(texts []string) {
	var out strings.Builder
	for _, t := range texts {
		out.WriteString("- " + escape(t) + "\n")
	}
	w.para(out.String())
}

// tablesOf returns tables under a title, without those that the section has already; of rows that
// are recommended the cells are bold.
func (w *writer) tablesOf(title string, all []*document.Table) string {
	var out strings.Builder
	for _, t := range all {
		if len(t.Rows) == 0 || len(t.Head) == 0 {
			continue
		}
		text := tableText(t)
		if caption := t.TextCaption(); caption != title {
			text = escape(caption) + "\n\n" + text
		}
		if !w.wrote[text] {
			w.wrote[text] = true
			out.WriteString(text + "\n")
		}
	}
	return out.String()
}

func tableText(t *document.Table) string {
	var out strings.Builder
	for _, c := range t.Head {
		out.WriteString("| " + escape(c.Label) + " ")
	}
	out.WriteString("|\n")
	for _, c := range t.Head {
		if c.Num {
			out.WriteString("|--:")
		} else {
			out.WriteString("|---")
		}
	}
	out.WriteString("|\n")
	for _, r := range t.All() {
		for _, c := range r.Cells {
			out.WriteString("| " + cell(c, r.Mark) + " ")
		}
		out.WriteString("|\n")
	}
	return out.String()
}

func cell(c document.Cell, mark bool) string {
	switch {
	case c.Text == "":
		return ""
	case c.Code:
		return strings.ReplaceAll(span(c.Text), "|", `\|`)
	case mark:
		return "**" + escape(c.Text) + "**"
	}
	return escape(c.Text)
}

// fence writes lines to paste, between fences longer than any in them.
func (w *writer) fence(code string) {
	if code = strings.TrimRight(code, "\n"); code != "" {
		f := strings.Repeat("`", max(3, longest(code)+1))
		w.b.WriteString(f + "sh\n" + code + "\n" + f + "\n\n")
	}
}

// span is a text as code, in a line.
func span(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	f := strings.Repeat("`", longest(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return f + text + f
}

// longest is the length of the longest run of backquotes.
func longest(text string) (n int) {
	run := 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		n = max(n, run)
	}
	return n
}

// special are the characters that mean something to Markdown, or to HTML in it.
const special = "\\`*_{}[]<>#|~&@"

// escape makes a text mean itself, in a line. Addresses become links.
func escape(text string) string {
	words := strings.Fields(text)
	for i, word := range words {
		if url := strings.TrimRight(word, ".,;:)"); strings.HasPrefix(url, "https://") && !strings.ContainsAny(url, "<>") {
			words[i] = "<" + url + ">" + escapeWord(word[len(url):])
		} else {
			words[i] = escapeWord(word)
		}
	}
	text = strings.Join(words, " ")
	// What would begin a list, or a rule, at the beginning of a line.
	if strings.HasPrefix(text, "- ") || strings.HasPrefix(text, "+ ") || strings.HasPrefix(text, "=") || strings.HasPrefix(text, "---") {
		return `\` + text
	}
	return text
}

func escapeWord(word string) string {
	var out strings.Builder
	for _, r := range word {
		switch {
		case r == '<' || r == '&':
			fmt.Fprintf(&out, "&#%d;", r)
		case strings.ContainsRune(special, r):
			out.WriteString(`\` + string(r))
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
