package html

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/result/diagnose"
	"github.com/foliomem/folio/internal/test/testenv"
)

// Each experiment of several has its sentence in the list of contents and above one
// chart; the rest is folded away, and what others measured by itself.
func TestLabFolds(t *testing.T) {
	p := NewPage(read(t, "lab.json", labFile()))
	if _, err := Render(p); err != nil {
		t.Fatal(err)
	}
	s := p.Sections[0]
	if len(s.Answers) != 0 || len(s.Contents()) != len(s.Blocks) || len(s.Blocks) != 8 {
		t.Fatalf("%d answers, %d of %d blocks in the contents", len(s.Answers), len(s.Contents()), len(s.Blocks))
	}
	references := 0
	for _, b := range s.Blocks {
		name, _, _ := strings.Cut(b.Title, ":")
		if b.Lead != "It costs "+name+"." || b.Says() != b.Lead || b.Sure == "" {
			t.Errorf("%s says %q (%s)", b.Title, b.Lead, b.Sure)
		}
		if len(b.Charts) != 1 || len(b.Tables) != 0 || len(b.Words) != 0 {
			t.Errorf("%s shows %d charts, %d tables and %d sentences more", b.Title, len(b.Charts), len(b.Tables), len(b.Words))
		}
		for _, series := range b.Charts[0].Series {
			if series.Ref || slices.ContainsFunc(series.P, func(p Point) bool { return p.Ref }) {
				t.Errorf("%s: %s is from another machine", b.Title, series.Name)
			}
		}
		if len(b.Charts[0].Lines) > 0 {
			t.Errorf("%s: the processor of somebody else is in the chart", b.Title)
		}
		last := b.Folds[len(b.Folds)-1]
		if last.Title != "Measured by others, on other machines" || last.Words[0] != "Known from elsewhere: somebody" {
			t.Errorf("%s: the last that is folded away is %q: %q", b.Title, last.Title, last.Words)
		}
		references += len(last.Charts)
		if !strings.HasPrefix(b.Folds[0].Title, "Details: 2 findings") || len(b.Folds[0].Tables) < 2 {
			t.Errorf("%s: first folded away: %q with %d tables", b.Title, b.Folds[0].Title, len(b.Folds[0].Tables))
		}
	}
	if references < 7 {
		t.Errorf("%d charts with figures of others", references)
	}
	// Of a source that has one figure, a row for each of its programs, and no more.
	last := s.Blocks[7].Folds[len(s.Blocks[7].Folds)-1]
	if len(last.Charts) != 1 || len(last.Tables) != 1 || len(last.Tables[0].Rows) != 4 {
		t.Fatalf("%s: %d charts, %d tables", s.Blocks[7].Title, len(last.Charts), len(last.Tables))
	}
	c := last.Charts[0]
	if !slices.Equal(c.Y.Categories[2:], []string{"elsewhere: Go 1.17", "elsewhere: Go 1.17, no assists", "elsewhere: Go 1.19", "elsewhere: Go 1.19, no assists"}) ||
		len(c.Series[0].P) != 6 || c.Series[0].P[5].Text != "3.900ms" || len(c.Series[1].P) != 2 {
		t.Errorf("%q, %+v", c.Y.Categories, c.Series)
	}
	one := labFile()
	one.Experiments = one.Experiments[:1]
	s = NewPage(read(t, "lab.json", one)).Sections[0]
	if len(s.Answers) != 1 || s.Blocks[0].Lead != "" || s.Contents() != nil {
		t.Errorf("of one experiment: %d answers, %q, contents %v", len(s.Answers), s.Blocks[0].Lead, s.Contents())
	}
}

// A page of several results lists each with its answer.
func TestNavSaysTheAnswers(t *testing.T) {
	text := string(pageOf(t, tuneFile(8, "./prog"), runFile(6), doctorFile("./prog")))
	nav, _, _ := strings.Cut(text[strings.Index(text, "<nav"):], "</nav>")
	for i, want := range []string{"folio report: ", "folio tune: ", "folio run: ", "folio doctor: "} {
		if !strings.Contains(nav, fmt.Sprintf(`<li><a href="#s%d">%s`, i, want)) {
			t.Errorf("the list of results has no %q", want)
		}
	}
	if n := strings.Count(nav, `class="says-line"`); n != 3 {
		t.Errorf("%d results of 3 have their answer: %s", n, nav)
	}
	if !strings.Contains(nav, "Set GOGC=400.") {
		t.Errorf("the answer is not in the list: %s", nav)
	}
}

// Checks that passed are folded away, counted.
func TestPassedChecksFold(t *testing.T) {
	f := doctorFile("./prog")
	for i := range 5 {
		f.Checks = append(f.Checks, result.DoctorCheck{ID: fmt.Sprint("fine-", i), Title: "x", Scope: diagnose.Host, State: diagnose.Clean})
	}
	f.Checks = append(f.Checks, result.DoctorCheck{ID: "other", Title: "x", Scope: diagnose.OfGo, State: diagnose.DoesNotApply, Why: new("no Go")})
	s := NewPage(read(t, "doctor.json", f)).Sections[0]
	b := s.Blocks[len(s.Blocks)-1]
	var shown []string
	for _, r := range b.Tables[0].Rows {
		shown = append(shown, r.Cells[0].Text)
	}
	if want := []string{"go-collector-off", "swapping"}; !slices.Equal(shown, want) {
		t.Errorf("shown: %q, want %q", shown, want)
	}
	if len(b.Folds) != 2 || b.Folds[0].Title != "6 checks passed" || len(b.Folds[0].Tables[0].Rows) != 6 ||
		b.Folds[1].Title != "1 check left out, or about something else" {
		t.Errorf("folded away: %+v", b.Folds)
	}
}

const openFolds = `[...document.querySelectorAll('details')].filter(d => d.open).map(d => d.id)`

// A link to what is folded away opens it; so does print, and puts it back.
func TestFoldsOpen(t *testing.T) {
	testenv.Long(t)
	b := open(t, pageOf(t, labFile()), 1280, 900)
	if got := eval[[]string](b, openFolds); len(got) != 0 {
		t.Fatalf("open at first: %q", got)
	}
	b.do(chromedp.Click(chromedp.CSS(`.contents li:nth-child(2) a`)))
	b.until(`location.hash === '#s0-b1' && Math.abs(document.getElementById('s0-b1').getBoundingClientRect().top) < 5`)
	eval[bool](b, `(location.hash = '#s0-b2-f0', true)`)
	b.until(`document.getElementById('s0-b2-f0').open`)
	b.do(chromedp.Navigate("file://" + b.file + "#s0-b0-f1-c0"))
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate("file://"+b.file+"#s0-b0-f1-c0"))
	b.until(`document.documentElement.dataset.ready === 'yes' && document.getElementById('s0-b0-f1').open`)
	b.until(`(r => r.width > 500 && r.top < innerHeight)(document.querySelector('#s0-b0-f1-c0 > svg').getBoundingClientRect())`)
	before := eval[[]string](b, openFolds)
	eval[bool](b, `(window.opened = [], addEventListener('beforeprint', () => { window.opened.push(document.querySelectorAll('details:not([open])').length); }), true)`)
	if _, err := chromedp.Call(b.ctx, page.PrintToPDF, page.PrintToPDFParams{}); err != nil {
		t.Fatal(err)
	}
	b.until(`window.opened.length > 0 && window.opened.every(n => n === 0)`)
	b.until(fmt.Sprintf(`%s.length === %d`, openFolds, len(before)))
}

// Without script the list of contents leads to each block, and what is folded away is in
// elements that the browser opens itself.
func TestFoldsWithoutScript(t *testing.T) {
	text := string(scripts.ReplaceAll(pageOf(t, labFile()), nil))
	for i := range 7 {
		for _, want := range []string{fmt.Sprintf(`<a href="#s0-b%d">`, i), fmt.Sprintf(`id="s0-b%d"`, i),
			fmt.Sprintf(`<details id="s0-b%d-f0"><summary>`, i)} {
			if strings.Count(text, want) != 1 {
				t.Errorf("%s is there %d times", want, strings.Count(text, want))
			}
		}
	}
	if strings.Contains(text, "Copy as CSV") {
		t.Error("there is a button that does nothing")
	}
}

// A copiedTable is a table, what its button copies, and what is said of it.
type copiedTable struct {
	Cells      [][]string
	Text, Said string
}

// copyTables clicks the button of each table, and waits for each.
const copyTables = `(async () => {
	const data = document.documentElement.dataset, out = [];
	const buttons = document.querySelectorAll('section:not(.raw) button.csv');
	for (const [i, table] of document.querySelectorAll('section:not(.raw) .scroll > table').entries()) {
		delete data.copied;
		buttons[i].click();
		while (data.copied === undefined) await new Promise(done => setTimeout(done));
		out.push({ Cells: [...table.rows].map(r => [...r.cells].map(c => c.textContent.trim())),
			Text: data.copied, Said: document.getElementById('live').textContent });
	}
	return out;
})()`

// Every table has a button that copies what it shows, in the order that it is shown in, as
// RFC 4180 has it.
func TestCopyCSV(t *testing.T) {
	testenv.Long(t)
	f := runFile(2)
	evil := `a "quoted", name` + "; and more"
	f.Arms[0].Samples[0].Metrics = map[string]float64{evil: 1}
	f.Arms[0].Summary = result.Summarize(f.Arms[0].Samples)
	for name, file := range map[string]any{"run": f, "tune": tuneFile(8, "./prog"), "list": listFile(`./a "b", c`), "lab": labFile(),
		"suggest": suggestFile("./prog"), "inspect": inspectFile(inspect.GoHeap, "./prog")} {
		for _, width := range []int64{1280, 390} {
			b := open(t, pageOf(t, file), width, 900)
			eval[int](b, `(document.querySelectorAll('details').forEach(d => { d.open = true; }), 1)`)
			tables := eval[int](b, `document.querySelectorAll('section:not(.raw) .scroll > table').length`)
			if n := eval[int](b, `document.querySelectorAll('section:not(.raw) .scroll + button.csv').length`); n != tables || n == 0 {
				t.Fatalf("%s: %d buttons for %d tables", name, n, tables)
			}
			if n := eval[int](b, `[...document.querySelectorAll('button.csv')].filter(e => e.getBoundingClientRect().height < 24 || e.tabIndex < 0).length`); n > 0 {
				t.Errorf("%s: %d buttons are too low, or out of reach of the keyboard", name, n)
			}
			// The first by the keyboard, all by a click.
			eval[bool](b, `(document.querySelector('section:not(.raw) button.csv').focus(), true)`)
			b.do(chromedp.KeyEvent("\r"))
			b.until(`document.documentElement.dataset.copied !== undefined`)
			all, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]copiedTable](copyTables, chromedp.EvalAwaitPromise))
			if err != nil || len(all) != tables {
				t.Fatalf("%s: %d of %d tables: %v", name, len(all), tables, err)
			}
			for i, c := range all {
				got, err := csv.NewReader(strings.NewReader(c.Text)).ReadAll()
				if err != nil || !slices.EqualFunc(got, c.Cells, slices.Equal) {
					t.Errorf("%s, table %d: %v, %q for %q", name, i, err, got, c.Cells)
				}
				if strings.Count(c.Text, "\r\n") != len(c.Cells) {
					t.Errorf("%s, table %d: %d lines, want %d", name, i, strings.Count(c.Text, "\r\n"), len(c.Cells))
				}
				if want := fmt.Sprintf("Copied: %d row", len(c.Cells)-1); !strings.HasPrefix(c.Said, want) || !strings.HasSuffix(c.Said, " as CSV") {
					t.Errorf("%s: it says %q, want %q", name, c.Said, want)
				}
			}
		}
	}
}

// A sorted table is copied as it is sorted.
func TestCopySortedCSV(t *testing.T) {
	testenv.Long(t)
	b := open(t, pageOf(t, labFile()), 1280, 900)
	eval[bool](b, `(location.hash = '#s0-b5-f0', true)`)
	b.until(`document.getElementById('s0-b5-f0').open`)
	first := func() string {
		eval[bool](b, `(document.querySelector('#s0-b5-f0 button.csv').focus(), true)`)
		b.do(chromedp.KeyEvent("\r"))
		b.until(`(document.documentElement.dataset.copied || '').includes('ecdsa')`)
		return strings.Split(eval[string](b, `document.documentElement.dataset.copied`), "\r\n")[1]
	}
	eval[bool](b, `(document.querySelectorAll('#s0-b5-f0 table.sortable .sort')[1].click(), true)`)
	up := first()
	eval[bool](b, `(delete document.documentElement.dataset.copied, document.querySelectorAll('#s0-b5-f0 table.sortable .sort')[1].click(), true)`)
	if down := first(); up == down || !strings.HasPrefix(up, "ecdsa-goroutines-1,") || !strings.HasPrefix(down, "ecdsa-off,") {
		t.Errorf("the first row is %q, then %q", up, down)
	}
}
