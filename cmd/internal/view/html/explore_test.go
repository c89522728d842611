package html

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
	"github.com/foliomem/folio/internal/test/testenv"
)

// again opens the page of a tab in another one, at its address.
func (b *tab) again(t *testing.T, page []byte) *tab {
	t.Helper()
	hash := eval[string](b, `location.hash`)
	n := open(t, page, 1280, 900)
	n.do(chromedp.Navigate("about:blank"))
	n.do(chromedp.Navigate("file://" + n.file + hash))
	n.until(`document.documentElement.dataset.ready === 'yes'`)
	return n
}

// press clicks the button of that text.
func (b *tab) press(within, text string) {
	b.Helper()
	if !eval[bool](b, fmt.Sprintf(`(() => { const e = [...document.querySelectorAll(%q)].find(e => e.textContent === %q); e?.click(); return !!e; })()`, within+" button", text)) {
		b.Fatalf("no button %q in %s: %q", text, within, eval[[]string](b, `[...document.querySelectorAll('button')].map(e => e.textContent)`))
	}
}

// shownCalls are the names in an icicle, in the order in which they are drawn, of those
// that are wide enough for them.
const shownCalls = `[...document.querySelector('.chart .calls svg').querySelectorAll('.call-name')].map(e => e.textContent)`

// Call paths can be searched, entered, and compared; what is chosen is in the address.
func TestCallPaths(t *testing.T) {
	page := pageOf(t, resulttest.Tune(8, "./prog"))
	b := open(t, page, 1280, 900)
	const tools = ".chart .tools"
	calls := func(want ...string) {
		t.Helper()
		got := eval[[]string](b, shownCalls)
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("shown are %q, want %q", got, want)
		}
	}
	// The memory tax alone: half of the CPU time is the program's own.
	calls("all", "main.main", "module.(*Tree[go.shape.int]).build", "module.(*Tree[go.shape.int]).build", "runtime.mallocgc",
		"runtime.gcAssist…", "runtime.gcBgMarkWorker", "runtime.scanobject")
	b.press(tools, "All CPU time")
	found := `document.querySelector('.found').textContent`
	find := func(text string) {
		eval[int](b, fmt.Sprintf(`(() => { const e = document.querySelector('.chart input[type=search]'); e.value = %q; e.dispatchEvent(new Event('input')); return 1; })()`, text))
	}
	find(`Tree.*build`) // calls itself: once
	if got := eval[string](b, found); got != "matches 70.0% (1.56s) of CPU time" {
		t.Errorf("the search says %q", got)
	}
	if got := eval[int](b, `document.querySelectorAll('.calls .hit').length`); got != 2 {
		t.Errorf("%d calls are marked", got)
	}
	find(`(`)
	if got := eval[bool](b, `document.querySelector('.chart input').getAttribute('aria-invalid') === 'true' && document.querySelector('.found').textContent !== ''`); !got {
		t.Error("a broken expression is not said to be one")
	}
	find(`gc`)

	// Enter goes into a call, and says who calls it and what it calls.
	eval[bool](b, `(document.querySelector('.calls svg').focus(), true)`)
	for _, key := range []string{"\u0301", "\u0301", "\u0301"} { // arrow down
		b.do(chromedp.KeyEvent(key))
	}
	said := eval[string](b, `document.getElementById('live').textContent`)
	if !strings.HasPrefix(said, "example.com/some/module.(*Tree[go.shape.int]).build, at main.go:23, CPU time ") {
		t.Errorf("said: %q", said)
	}
	b.do(chromedp.KeyEvent("\r"))
	b.until(`!!document.querySelector('.detail-of h3')`)
	if got := eval[string](b, `document.querySelector('.detail-of h3').textContent`); got != "example.com/some/module.(*Tree[go.shape.int]).build" {
		t.Errorf("in detail: %q", got)
	}
	parts := eval[[]string](b, `[...document.querySelectorAll('.detail-of section')].map(s => s.getAttribute('aria-label') + ': ' + [...s.querySelectorAll('.call-name')].map(e => e.textContent).join(' '))`)
	want := []string{"What calls it: module.(*Tree[go.shape.int]).build main.main",
		"What it calls: module.(*Tree[go.shape.int]).build module.(*Tree[go.shape.int]).build runtime.mallocgc runtime.…"}
	if strings.Join(parts, "\n") != strings.Join(want, "\n") {
		t.Errorf("callers and calls: %q", parts)
	}
	b.press(".detail-of", "Copy name")
	b.until(`document.documentElement.dataset.copied === 'example.com/some/module.(*Tree[go.shape.int]).build'`)

	// The recommended setting against the default: more is more, less is less.
	b.press(tools, "GOGC=400 against default")
	tip := eval[string](b, `(() => { const e = document.querySelector('.calls svg'); e.focus(); e.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown' })); return document.getElementById('tip').innerText; })()`)
	if !strings.Contains(tip, "difference") || !strings.Contains(tip, "default\n446ms, 20.0%\nGOGC=400\n267ms, 20.0%\ndifference\n−178ms") {
		t.Errorf("the comparison says %q", tip)
	}
	if n := eval[int](b, `document.querySelectorAll('.calls .less2').length`); n == 0 {
		t.Error("nothing is drawn as less")
	}

	// The same view, from its address.
	state := `JSON.stringify([` + shownCalls + `, document.querySelector('.chart input').value, [...document.querySelectorAll('.chart .tools [aria-pressed=true]')].map(e => e.textContent), document.querySelector('.detail-of h3').textContent])`
	before := eval[string](b, state)
	if after := eval[string](b.again(t, page), state); after != before || !strings.Contains(before, "GOGC=400 against default") {
		t.Errorf("the address leads to %s, want %s", after, before)
	}
	b.do(chromedp.KeyEvent("\u001b"))
	b.until(`!document.querySelector('.detail-of h3')`)
}

// What a tree lacks is said, and a page without one has none.
func TestCallPathsOfLittle(t *testing.T) {
	f := resulttest.Run(2)
	f.Arms[0].Tree.Pruned = 0.022
	page := pageOf(t, f)
	if !strings.Contains(string(page), "Small calls (1.0% of the time) are merged into their callers") {
		t.Error("it is not said that small paths are missing")
	}
	b := open(t, page, 1280, 900)
	eval[int](b, `(() => { const e = document.querySelector('.chart input[type=search]'); e.value = 'mallocgc'; e.dispatchEvent(new Event('input')); return 1; })()`)
	if got := eval[string](b, `document.querySelector('.found').textContent`); got != "matches at least 18.1% (400ms) of CPU time" {
		t.Errorf("the search says %q", got)
	}
	// What a function spent is of all paths.
	eval[bool](b, `(document.querySelector('.calls svg').focus(), true)`)
	for n := 0; !eval[bool](b, `document.getElementById('live').textContent.startsWith('main.main,')`); n++ {
		if n > 5 {
			t.Fatal("main.main cannot be reached")
		}
		b.do(chromedp.KeyEvent("\u0301")) // arrow down
	}
	b.do(chromedp.KeyEvent("\r"))
	b.until(`!!document.querySelector('.detail-of p')`)
	if got := eval[string](b, `document.querySelector('.detail-of p').textContent`); got != "at main.go:12; CPU time 400ms, 18.1%." {
		t.Errorf("of main.main it says %q", got)
	}
	f.Arms[0].Tree = nil
	if text := string(pageOf(t, f)); strings.Contains(text, `"kind":"calls"`) {
		t.Error("there are call paths without any")
	}
	f = resulttest.Run(2)
	f.Arms[0].Tree.Parents[2] = 5
	if _, err := result.Read("x", resulttest.Encode(t, f)); err == nil {
		t.Error("a tree whose parents come later is taken")
	}
}

// A timeline is zoomed by dragging and by keys; the window is in the address.
func TestTimeline(t *testing.T) {
	testenv.Long(t)
	page := pageOf(t, resulttest.Run(2))
	b := open(t, page, 1280, 900)
	const svg = `document.querySelector('svg[aria-label*="over time"]')`
	ticks := `[...` + svg + `.querySelectorAll('.axis:last-of-type .tick text')].map(e => e.textContent).join(' ')`
	lanes := eval[int](b, svg+`.querySelectorAll('.axis').length - 1`)
	if lanes != 5 {
		t.Errorf("%d lanes", lanes)
	}
	at := eval[[]float64](b, `(() => { const e = `+svg+`; e.scrollIntoView({ block: 'center' }); const r = e.getBoundingClientRect(); return [r.x, r.y, r.width]; })()`)
	from, to, y := at[0]+at[2]*0.3, at[0]+at[2]*0.6, at[1]+80
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, from, y, chromedp.ButtonLeft))
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, to, y, chromedp.ButtonLeft))
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, to, y, chromedp.ButtonLeft))
	b.until(`location.hash.includes('.t=')`)
	zoomed := eval[string](b, ticks)
	if after := eval[string](b.again(t, page), ticks); after != zoomed {
		t.Errorf("the address leads to %q, want %q", after, zoomed)
	}
	eval[bool](b, `(`+svg+`.focus(), true)`)
	b.do(chromedp.KeyEvent("\u0303"))
	said := eval[string](b, `document.getElementById('live').textContent`)
	for _, want := range []string{"at ", "RSS ", "heap goal ", "live heap ", "GC cycle ", "stop-the-world ", "assists ", "page faults "} {
		if !strings.Contains(said, want) {
			t.Errorf("the cursor says %q, without %s", said, want)
		}
	}
	b.do(chromedp.KeyEvent("0"))
	b.until(`!location.hash.includes('.t=')`)
	if got := eval[string](b, ticks); got == zoomed {
		t.Error("0 does not show all")
	}
	sticks := eval[int](b, svg+`.querySelectorAll('.stick').length`)
	b.press(".chart .legend", "stop-the-world")
	b.until(fmt.Sprintf(svg+`.querySelectorAll('.stick').length === %d`, sticks-1))
}

// Two settings are on one axis, a lane for each figure.
func TestTimelineOfTwo(t *testing.T) {
	b := open(t, pageOf(t, resulttest.Tune(8, "./prog")), 1280, 900)
	names := eval[[]string](b, `[...document.querySelectorAll('.chart')].filter(e => e.querySelector('[aria-label*="over time"]')).flatMap(e => [...e.querySelectorAll('.legend span')].map(s => s.textContent))`)
	if strings.Join(names, " ") != "default GOGC=400" {
		t.Errorf("the timeline has %q", names)
	}
}

// Runs of several files can be compared by call path, and over time, with a warning.
func TestSeveralInDetail(t *testing.T) {
	text := string(pageOf(t, resulttest.Run(2), resulttest.Run(2)))
	if !strings.Contains(text, `"trees":[{"name":"file0.json"`) || !strings.Contains(text, `{"name":"file1.json","total":`) ||
		!strings.Contains(text, "The runs were not interleaved: a difference may be the machine&#39;s.") {
		t.Error("two runs are not compared by call path")
	}
	if !strings.Contains(text, `"series":[{"name":"file0.json","kind":"line"`) {
		t.Error("two runs are not on one axis")
	}
}
