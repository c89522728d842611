package html

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/test/testenv"
)

// geometry is what the charts of every run have drawn: for each arm of the strip plot its
// dots, as places, and how many runs of the race and how many failed ones the order has.
const geometry = `(() => {
	const of = kind => [...document.querySelectorAll('script.chart-data')].map(s => JSON.parse(s.textContent)).find(c => c.kind === kind);
	const svg = c => document.querySelector('#' + c.id + ' > svg'), strip = of('strip'), order = of('order');
	const near = [];
	for (const g of svg(strip).querySelectorAll('g.arm')) {
		const dots = [...g.querySelectorAll('.dots')].flatMap(p => [...p.getAttribute('d').matchAll(/M([\d.-]+),([\d.-]+)A([\d.]+)/g)].map(m => [m[1] - m[3], +m[2], +m[3]]));
		let least = Infinity;
		dots.forEach((a, i) => dots.slice(i + 1).forEach(b => { least = Math.min(least, Math.hypot(a[0] - b[0], a[1] - b[1]) / (a[2] + b[2])); }));
		near.push([g.dataset.name, dots.length, least]);
	}
	const count = s => [...svg(order).querySelectorAll(s)].map(e => e.getAttribute('d').split('M').length - 1).reduce((a, b) => a + b, 0);
	return { near, race: count('.dots.race'), final: count('.dots:not(.race)'), failed: count('.failure'), bands: svg(order).querySelectorAll('rect.round').length,
		rows: [...svg(strip).querySelectorAll('.category')].map(t => t.textContent), medians: svg(strip).querySelectorAll('.median').length, intervals: svg(strip).querySelectorAll('.interval').length };
})()`

// In the strip plot no dot hides another one; in the order every run stands, those of the
// race as such, failed ones as such.
func TestStripAndOrder(t *testing.T) {
	testenv.Long(t)
	b := open(t, pageOf(t, resulttest.Search(6, 8)), 1280, 900)
	for _, width := range []int64{1280, 390} {
		b.do(chromedp.EmulateViewport(width, 900))
		b.settled(width)
		got := eval[struct {
			Near                                           [][3]any
			Race, Final, Failed, Bands, Medians, Intervals int
			Rows                                           []string
		}](b, geometry)
		// 6 settings of 3 rounds, with one failed run; 3 of them in a final of 8.
		if got.Race != 17 || got.Final != 24 || got.Failed != 1 || got.Bands != 5 || got.Medians != 6 || got.Intervals != 3 {
			t.Errorf("at width %d: %+v", width, got)
		}
		if want := "default GOGC=100 GOGC=150 GOGC=200 GOGC=250 (1 failed) GOGC=300"; strings.Join(got.Rows, " ") != want {
			t.Errorf("at width %d: rows %q", width, got.Rows)
		}
		for _, n := range got.Near {
			if n[2].(float64) < 0.98 {
				t.Errorf("at width %d, two of %v dots of %v are nearer than they are wide: %v", width, n[1], n[0], n[2])
			}
		}
	}
}

// lit is what is highlighted: for each chart with names those that are, and whether the
// others are dimmed, then the rows of tables.
const lit = `(() => {
	const out = [...document.querySelectorAll('.chart > svg')].filter(s => s.querySelector('[data-name]')).map(s => {
		const of = hit => [...new Set([...s.querySelectorAll('[data-name]')].filter(e => e.matches('.hit') === hit && (Number(getComputedStyle(e).opacity) < 0.2) === !hit).map(e => e.dataset.name))].sort().join(' ');
		return of(true) + ' | ' + of(false);
	});
	return [...out, [...document.querySelectorAll('tr.hit')].map(r => r.cells[0].textContent).join(' ')];
})()`

// What is pointed at in a chart is highlighted in the others and in the tables.
func TestLinked(t *testing.T) {
	testenv.Long(t)
	f := resulttest.Tune(8, "./prog")
	f.Arms[4].Setting, f.Arms[4].Name = result.NewSetting(trial.Setting{GOGC: "800"}), "GOGC=800"
	b := open(t, pageOf(t, f), 1280, 900)
	eval[int](b, `(document.querySelectorAll('details').forEach(d => { d.open = true; }), 1)`)
	const others = "GOGC=200 GOGC=50 GOGC=800 default"
	want := strings.Repeat("GOGC=400 | "+others+"\n", 5) + "GOGC=400 GOGC=400" // scatter, strip, order, two curves; two tables
	look := func(after, want string) {
		t.Helper()
		if got := strings.Join(eval[[]string](b, lit), "\n"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", after, got, want)
		}
	}
	none := strings.Repeat(" | \n", 5)
	look("at first", none)
	x, y := b.spot("GOGC=400")
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y))
	b.until(`document.querySelectorAll('.hit').length > 0`)
	look("pointer on the scatter", want)
	b.keep("linked-light-1280.png")
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 5, 5))
	b.until(`document.querySelectorAll('.hit').length === 0`)
	look("pointer left", none)

	// A row of a table.
	at := eval[[]float64](b, `(() => { const r = [...document.querySelectorAll('tbody tr')].find(r => r.cells[0].textContent === 'GOGC=400'); r.scrollIntoView({ block: 'center' }); const c = r.getBoundingClientRect(); return [c.x + 20, c.y + c.height / 2]; })()`)
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0], at[1]))
	b.until(`document.querySelectorAll('.hit').length > 0`)
	look("pointer on a row", want)
	b.do(chromedp.KeyEvent("\x1b"))
	look("Escape", none)
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 5, 5))

	// Keys: the rows of the strip plot, in its order; then a button of a legend.
	chart := func(kind string) string {
		return fmt.Sprintf(`document.getElementById([...document.querySelectorAll('script.chart-data')].map(s => JSON.parse(s.textContent)).find(c => c.kind === %q).id)`, kind)
	}
	eval[bool](b, `(`+chart("strip")+`.querySelector(':scope > svg').focus(), true)`)
	b.do(chromedp.KeyEvent("\u0306"), chromedp.KeyEvent("\u0301")) // home, arrow down
	b.until(`document.getElementById('live').textContent.startsWith('GOGC=400, median')`)
	look("keys in the strip plot", want)
	b.do(chromedp.KeyEvent("\x1b"))
	look("Escape after keys", none)
	eval[bool](b, `([...`+chart("order")+`.querySelectorAll('.legend button')].find(x => x.textContent === 'GOGC=400').focus(), true)`)
	look("focus on the legend", want)
	eval[bool](b, `(document.activeElement.blur(), true)`)
	look("focus left", none)
}

// A chart that is drawn anew, as for another width, keeps what is highlighted.
func TestLinkedRedrawn(t *testing.T) {
	testenv.Long(t)
	b := open(t, pageOf(t, resulttest.Tune(8, "./prog")), 1280, 900)
	eval[bool](b, `([...document.querySelectorAll('.legend button')].find(x => x.textContent === 'GOGC=400').focus(), true)`)
	before := eval[int](b, `document.querySelectorAll('svg .hit').length`)
	b.do(chromedp.EmulateViewport(1100, 900))
	b.settled(1100)
	if after := eval[int](b, `document.querySelectorAll('svg .hit').length`); after != before || before == 0 {
		t.Errorf("%d elements are highlighted, %d after the charts were drawn anew", before, after)
	}
}
