package html

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/test/testenv"
)

// wideTune is a search with the longest names and reasons that a search has.
func wideTune() *result.File {
	f := resulttest.Tune(8, "./prog", "-config", strings.Repeat("/very/long/path", 12))
	for i := range f.Arms {
		set := trial.Setting{GOGC: "off", MemLimit: 14832 << 20, GOMAXPROCS: 2, THP: trial.THPOff}
		if i == 0 {
			continue
		}
		set.GOGC = []string{"", "off", "566", "3200", "off"}[i]
		a := &f.Arms[i]
		a.Name, a.Setting, a.Status, a.Reason = set.String(), result.NewSetting(set), "dominated", "54.7% slower than GOGC=off GOMEMLIMIT=14832MiB, and no less memory"
		for _, s := range a.Samples {
			s.MinorFaults = 123456789
		}
		resulttest.Sampled(a.Samples[0])
	}
	best := f.Arms[3]
	for i := range f.Recommendations {
		f.Recommendations[i].Arm, f.Recommendations[i].Setting, f.Recommendations[i].ShellLine = best.Name, best.Setting, best.Setting.Trial().Line(f.Program.Command)
	}
	return f
}

// fitPages are one page of each kind, with names as long as they come.
func fitPages(t *testing.T) map[string][]byte {
	long := "github.com/example/some-service/internal/storage/segment.(*Writer[go.shape.string]).appendBatchLocked.func1"
	lab := resulttest.Lab()
	for i := range lab.Experiments {
		e := &lab.Experiments[i]
		e.Source = "https://example.com/" + strings.Repeat("a-long-path/", 20)
		e.Arms[0].About = "/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none " + strings.Repeat("x", 90)
	}
	other := wideTune()
	other.Host.Kernel, other.Program.Command = "6.19.0-a-rather-long-name-of-a-kernel-of-a-cloud", []string{"./prog", strings.Repeat("y", 300)}
	out := map[string][]byte{
		"tune": pageOf(t, wideTune()), "run": pageOf(t, resulttest.Run(6)), "lab": pageOf(t, lab),
		"inspect": pageOf(t, resulttest.Inspect(inspect.GoHeap, long)), "list": pageOf(t, resulttest.List(long)), "inspected over time": pageOf(t, resulttest.OverTime(long, 60)),
		"doctor": pageOf(t, resulttest.Doctor(long)), "charge": pageOf(t, resulttest.Charge(long)), "suggest": pageOf(t, resulttest.Suggest(long)),
		"several": pageOf(t, wideTune(), other, resulttest.Run(6), resulttest.Run(2)), "failed": pageOf(t, brokenFiles()["all arms failed"].file),
		"search": pageOf(t, resulttest.Search(20, 12)), "ab": pageOf(t, resulttest.AB()), "runs": pageOf(t, resulttest.Run(6), resulttest.Run(5), resulttest.Run(1)),
	}
	names := []string{long, "A"}
	for i := range 30 {
		names = append(names, fmt.Sprintf("Parse/kind=%d/size=%d", i, 1<<i))
	}
	out["benchmarks"] = benchPage(t, benchmarks(names, 1), benchmarks(names, 0.7))
	for _, path := range filepath.SplitList(os.Getenv("FOLIO_PAGES")) { // pages of real results, to look at
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(path)] = data
	}
	return out
}

// cut lists what a page does not show whole: boxes that scroll sideways, and texts of
// charts that stand over the edge. A table that is too wide may scroll in its box, on a
// screen wider than a phone, if its first column stays and the last can be reached.
const cut = `(() => {
	const out = [], root = document.documentElement;
	if (root.scrollWidth > root.clientWidth) out.push('the page: ' + root.scrollWidth + ' of ' + root.clientWidth);
	for (const e of document.querySelectorAll('body *:not(svg *)')) {
		if (e.matches('.hidden, .skip, #tip') || !e.checkVisibility() || getComputedStyle(e).display === 'inline') continue;
		if (e.matches('.scroll.wide') && innerWidth > 520 && !matchMedia('print').matches) {
			const box = e.getBoundingClientRect(), rows = [...e.querySelector('table').rows];
			const off = (at, what) => rows.forEach(r => {
				const c = r.cells[at < 0 ? r.cells.length - 1 : at].getBoundingClientRect();
				if (c.left < box.left - 1 || c.right > box.right + 1) out.push(what + ' of a wide table is at ' + Math.round(c.left) + ' to ' + Math.round(c.right) + ' of ' + Math.round(box.left) + ' to ' + Math.round(box.right) + ': ' + r.textContent.trim().slice(0, 60));
				if (at === 0 && c.width > box.width / 2) out.push('the first column takes ' + Math.round(c.width) + ' of ' + Math.round(box.width));
			});
			if (e.scrollWidth <= e.clientWidth + 1) out.push('a table scrolls that fits: ' + e.textContent.trim().slice(0, 60));
			if (e.tabIndex !== 0) out.push('a wide table cannot be scrolled with the keyboard');
			off(0, 'the first column');
			e.scrollLeft = e.scrollWidth;
			off(0, 'the first column, scrolled,');
			off(-1, 'the last column');
			e.scrollLeft = 0;
			continue;
		}
		if (e.scrollWidth > e.clientWidth + 1) out.push(e.tagName + '.' + e.className + ' of ' + (e.closest('section')?.getAttribute('aria-label') || e.closest('section')?.id || '') + ': ' + e.scrollWidth + ' of ' + e.clientWidth + ': ' + e.textContent.trim().slice(0, 60));
	}
	for (const s of document.querySelectorAll('.chart > svg')) {
		const box = s.getBoundingClientRect();
		if (box.width === 0) continue;
		for (const t of s.querySelectorAll('text')) {
			const b = t.getBoundingClientRect();
			if (b.width > 0 && (b.left < box.left - 1 || b.right > box.right + 1 || b.top < box.top - 1 || b.bottom > box.bottom + 1))
				out.push('text of ' + s.parentNode.id + ' ' + t.getAttribute('class') + ' (' + [b.left - box.left, b.right - box.right, b.top - box.top, b.bottom - box.bottom].map(Math.round) + '): ' + t.textContent);
		}
	}
	return out;
})()`

// Nothing is cut off or has to be scrolled sideways, on a wide screen, a narrow one, at
// twice the size (720 and 512), and on a phone, tables that are folded away included.
func TestNothingIsCut(t *testing.T) {
	testenv.FullOnly(t)
	needChromium(t)
	wide := 0
	for name, page := range fitPages(t) {
		t.Run(name, func(t *testing.T) {
			b := open(t, page, 1440, 900)
			eval[int](b, `(document.querySelectorAll('details').forEach(d => { d.open = true; }), 1)`)
			for _, width := range []int64{1440, 1024, 720, 512, 390} {
				b.do(chromedp.EmulateViewport(width, 900))
				b.settled(width)
				for _, c := range eval[[]string](b, cut) {
					t.Errorf("at width %d: %s", width, c)
				}
				if n := eval[int](b, `[...document.querySelectorAll('table.cards')].length`); n > 0 && width > 520 {
					t.Errorf("at width %d, %d tables are not tables", width, n)
				}
				n := eval[int](b, `[...document.querySelectorAll('.scroll.wide')].length`)
				if n > 0 && width <= 520 {
					t.Errorf("at width %d, %d tables scroll", width, n)
				}
				t.Logf("at width %d, %d tables scroll", width, n)
				wide += n
				b.keep(fmt.Sprintf("fit-%s-%d.png", name, width))
			}
		})
	}
	if wide == 0 {
		t.Error("no table was wide enough to scroll")
	}
}

// A value of a table is not broken within a word, such as a size within its unit, where there is
// room for it elsewhere.
func TestValuesAreWhole(t *testing.T) {
	testenv.Long(t)
	f := resulttest.Tune(8, "./prog")
	for i := range f.Arms {
		if f.Arms[i].Name == "GOGC=400" {
			f.Arms[i].Name = "GOGC=off GOMEMLIMIT=14384MiB"
		}
	}
	for i := range f.Recommendations {
		if r := &f.Recommendations[i]; r.Arm == "GOGC=400" {
			r.Arm = "GOGC=off GOMEMLIMIT=14384MiB"
		}
	}
	b := open(t, pageOf(t, f), 1280, 900)
	for _, width := range []int64{1280, 1024, 720, 390} {
		b.do(chromedp.EmulateViewport(width, 900))
		b.settled(width)
		const broken = `[...document.querySelectorAll('table bdi')].filter(e => e.checkVisibility()).flatMap(e => {
			const text = e.firstChild, out = [];
			for (const m of (text?.data || '').matchAll(/\S+/g)) {
				const r = document.createRange();
				r.setStart(text, m.index);
				r.setEnd(text, m.index + m[0].length);
				if (!/-/.test(m[0]) && r.getClientRects().length > 1) out.push(m[0]);
			}
			return out;
		})`
		for _, word := range eval[[]string](b, broken) {
			t.Errorf("at width %d, %s is broken", width, word)
		}
	}
	if n := eval[int](b, `[...document.querySelectorAll('tbody th')].filter(e => e.textContent === 'GOGC=off GOMEMLIMIT=14384MiB').length`); n == 0 {
		t.Error("no table has the setting")
	}
}

// settled waits until charts and tables have followed the width of the window.
func (b *tab) settled(width int64) {
	b.Helper()
	b.until(fmt.Sprintf(`innerWidth === %d && [...document.querySelectorAll('.chart > svg')].every(s => Math.abs(s.viewBox.baseVal.width - Math.max(s.parentNode.clientWidth, 260)) <= 1)`, width))
	eval[int](b, `(window.frame = 0, requestAnimationFrame(() => requestAnimationFrame(() => { window.frame = 1; })))`)
	b.until(`window.frame === 1`)
}

// On paper tables are whole, whatever the screen was, and their repeated headings are
// words, not arrows.
func TestPaper(t *testing.T) {
	testenv.FullOnly(t)
	screens := []int64{390, 1440}
	for name, page := range fitPages(t) {
		t.Run(name, func(t *testing.T) {
			for _, screen := range screens {
				b := open(t, page, screen, 900)
				eval[int](b, `(document.querySelectorAll('details').forEach(d => { d.open = true; }), 1)`)
				b.settled(screen)
				if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}); err != nil {
					t.Fatal(err)
				}
				b.do(chromedp.EmulateViewport(718, 1000)) // A4 without its margins
				b.settled(718)
				for _, c := range eval[[]string](b, cut) {
					t.Errorf("printed from width %d: %s", screen, c)
				}
				if n := eval[int](b, `[...document.querySelectorAll('thead th')].filter(th => th.checkVisibility() && getComputedStyle(th).display !== 'table-cell' || [...th.querySelectorAll('button')].some(e => e.checkVisibility())).length`); n > 0 {
					t.Errorf("printed from width %d: %d headings are not those of a table, or have buttons", screen, n)
				}
			}
		})
	}
}

// A tap shows the figures of a point and keeps them there; a second one copies.
func TestTap(t *testing.T) {
	testenv.Long(t)
	b := open(t, pageOf(t, resulttest.Tune(8, "./prog")), 390, 800)
	if _, err := chromedp.Call(b.ctx, emulation.SetTouchEmulationEnabled,
		emulation.SetTouchEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	x, y := b.spot("GOGC=400")
	eval[bool](b, `(window.clicks = 0, document.addEventListener('click', () => { window.clicks++; }), true)`)
	taps := 0
	tap := func(x, y float64) {
		t.Helper()
		for _, step := range []struct {
			kind   input.DispatchTouchEventType
			points []*input.TouchPoint
		}{{input.DispatchTouchEventTypeTouchStart, []*input.TouchPoint{{X: x, Y: y}}},
			{input.DispatchTouchEventTypeTouchEnd, []*input.TouchPoint{}}} {
			if _, err := chromedp.Call(b.ctx, input.DispatchTouchEvent,
				input.DispatchTouchEventParams{Type: step.kind, TouchPoints: step.points}); err != nil {
				t.Fatal(err)
			}
		}
		taps++
		b.until(fmt.Sprintf(`window.clicks === %d`, taps)) // a click follows a tap
	}
	tap(x, y)
	if eval[bool](b, `document.getElementById('tip').hidden`) || eval[string](b, `document.documentElement.dataset.copied || ''`) != "" {
		t.Error("the first tap hides the figures, or copies")
	}
	tap(x, y)
	b.until(`document.documentElement.dataset.copied === 'GOGC=400 ./prog'`)
	tap(20, 700)
	b.until(`document.getElementById('tip').hidden`)
}

// On paper charts have their colors, whatever the theme of the screen, and the legend says
// which of its series are not shown.
func TestPrintedCharts(t *testing.T) {
	testenv.Long(t)
	b := open(t, pageOf(t, resulttest.Tune(8, "./prog")), 1280, 900)
	eval[bool](b, `(document.querySelector('.chart .legend li:nth-child(3) button').click(), true)`)
	const drawn = `(() => {
		const fill = (s, p = 'fill') => getComputedStyle(document.querySelector(s))[p];
		const off = document.querySelector('.legend button[aria-pressed=false]');
		return [fill('.chart rect.mark.c2'), fill('.chart .inside.c2'), fill('.axis text'), fill('.dots.c2'), fill('.median', 'stroke'),
			getComputedStyle(document.documentElement).backgroundColor, getComputedStyle(document.documentElement).printColorAdjust,
			off.textContent, getComputedStyle(off).textDecorationLine, String(off.checkVisibility()), String(document.querySelectorAll('.legend button[aria-pressed=false]').length)].join(', ');
	})()`
	for _, theme := range []string{"light", "dark"} {
		if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print",
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}}); err != nil {
			t.Fatal(err)
		}
		b.do(chromedp.EmulateViewport(718, 1000))
		b.settled(718)
		const want = "rgb(213, 94, 0), rgb(0, 0, 0), rgb(0, 0, 0), rgb(213, 94, 0), rgb(0, 0, 0), rgb(255, 255, 255), exact, GOGC, line-through, true, 1"
		if got := eval[string](b, drawn); got != want {
			t.Errorf("%s: %s, want %s", theme, got, want)
		}
		for _, text := range eval[[]string](b, faint) {
			t.Errorf("%s: %s", theme, text)
		}
		b.keep("print-" + theme + ".png")
	}
}
