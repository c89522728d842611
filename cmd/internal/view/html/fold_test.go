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
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
	"github.com/foliomem/folio/internal/test/testenv"
)

// A page of several results lists each with its answer.
func TestNavSaysTheAnswers(t *testing.T) {
	text := string(pageOf(t, resulttest.Tune(8, "./prog"), resulttest.Run(6), resulttest.Doctor("./prog")))
	nav, _, _ := strings.Cut(text[strings.Index(text, "<nav"):], "</nav>")
	for i, want := range []string{"folio report: ", "folio tune: ", "folio run: ", "folio doctor: "} {
		if !strings.Contains(nav, fmt.Sprintf(`<li><a href="#s%d">%s`, i, want)) {
			t.Errorf("the list of results has no %q", want)
		}
	}
	if n := strings.Count(nav, `class="says-line"`); n != 3 {
		t.Errorf("%d of 3 results have their answer: %s", n, nav)
	}
	if !strings.Contains(nav, "Set GOGC=400.") {
		t.Errorf("the answer is not in the list: %s", nav)
	}
}

const openFolds = `[...document.querySelectorAll('details')].filter(d => d.open).map(d => d.id)`

// A link to what is folded away opens it; so does print, and puts it back.
func TestFoldsOpen(t *testing.T) {
	testenv.Long(t)
	b := open(t, pageOf(t, resulttest.Lab()), 1280, 900)
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
	text := string(scripts.ReplaceAll(pageOf(t, resulttest.Lab()), nil))
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
	f := resulttest.Run(2)
	evil := `a "quoted", name` + "; and more"
	f.Arms[0].Samples[0].Metrics = map[string]float64{evil: 1}
	f.Arms[0].Summary = result.Summarize(f.Arms[0].Samples)
	for name, file := range map[string]any{"run": f, "tune": resulttest.Tune(8, "./prog"), "list": resulttest.List(`./a "b", c`), "lab": resulttest.Lab(),
		"suggest": resulttest.Suggest("./prog"), "inspect": resulttest.Inspect(inspect.GoHeap, "./prog")} {
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
	b := open(t, pageOf(t, resulttest.Lab()), 1280, 900)
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
