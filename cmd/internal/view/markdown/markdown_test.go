package markdown

import (
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/view/document"
)

func TestEscape(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"plain text, -38.2% [-40.0%, -36.1%]", `plain text, -38.2% \[-40.0%, -36.1%\]`},
		{"a_b *c* `d` | <e> #1 @f", "a\\_b \\*c\\* \\`d\\` \\| &#60;e\\> \\#1 \\@f"},
		{"- no list", `\- no list`},
		{"see https://go.dev/doc/gc-guide#Linux_transparent.", "see <https://go.dev/doc/gc-guide#Linux_transparent>."},
		{"two\n lines", "two lines"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			if got := escape(tt.text); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCode(t *testing.T) {
	w := &writer{}
	w.fence("echo ```\n")
	if got, want := w.b.String(), "````sh\necho ```\n````\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := span("a `b`"), "`` a `b` ``"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The answer comes first; what is behind it is folded, with tables that GitHub shows.
func TestRender(t *testing.T) {
	p := &document.Document{Sections: []*document.Section{{
		Kicker: "folio run", Heading: "./prog -x", Code: true, Notes: []string{"a note"},
		Answers: []document.Answer{{Figure: "-38%", Text: "Set it.", Sure: "10 rounds", Line: "GOGC=400 ./prog"}},
		Blocks: []*document.Block{
			{Title: "Words", Words: []string{"no table"}},
			{Title: "A table", Lead: "It says <so>", Tables: []*document.Table{{Caption: "Rows" + document.HeadingsSort,
				Head: []document.Column{{Label: "name"}, {Label: "n", Num: true}},
				Rows: []document.Row{{Cells: []document.Cell{{Text: "a|b", Code: true}, {Text: "1"}}}, {Mark: true, Cells: []document.Cell{{Text: "c"}, {Text: "2"}}}}}},
				Folds: []*document.Fold{{Words: []string{"folded"}}}},
		},
	}}}
	want := strings.ReplaceAll(`## folio run: 'x./prog -x'x

**-38%** Set it.

10 rounds

'xxsh
GOGC=400 ./prog
'xx

- a note

### Words

no table

<details><summary>A table: It says &lt;so&gt;</summary>

Rows

| name | n |
|---|--:|
| 'xa\|b'x | 1 |
| **c** | **2** |

- folded

</details>
`, "'xx", "```")
	want = strings.NewReplacer("'x", "`").Replace(want)
	if got := string(Render(p)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A long answer of a block stands below its title, a table that the section has already is not
// repeated, and what a table has the sum of is left out.
func TestShort(t *testing.T) {
	table := func(name string) *document.Table {
		return &document.Table{Caption: name, Head: []document.Column{{Label: "what"}}, Rows: []document.Row{{Cells: []document.Cell{{Text: name + " row"}}}}}
	}
	long := strings.Repeat("a long answer ", 6) + "ends."
	got := string(Render(&document.Document{Sections: []*document.Section{{
		Kicker: "folio tune", Heading: "prog",
		Answers: []document.Answer{{Figure: "default", Text: "Inconclusive."}, {Figure: "-18.6%", Text: "CPU: -18.6% (-22.8% to -11.4%), better."}},
		Blocks: []*document.Block{
			{Title: "First", Words: []string{long}, Tables: []*document.Table{table("sites")},
				Folds: []*document.Fold{{Tables: []*document.Table{table("top")}}}},
			{Title: "Second", Tables: []*document.Table{table("sites")}},
		},
	}}}))
	for text, want := range map[string]int{"**default:** Inconclusive.": 1, "CPU: **-18.6%** (-22.8% to -11.4%), better.": 1, "18.6": 1, "<summary>First</summary>": 1, long: 1,
		"sites row": 1, "top row": 1, "Second": 0} {
		if n := strings.Count(got, text); n != want {
			t.Errorf("%q is there %d times, want %d:\n%s", text, n, want, got)
		}
	}
}
