package html

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/internal/test/testenv"
)

// chromium is the browser, started by the first test that needs it.
var chromium struct {
	sync.Once
	path string
	ctx  context.Context
	stop []context.CancelFunc
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, stop := range slices.Backward(chromium.stop) {
		stop()
	}
	os.Exit(code)
}

// A tab is a page in the browser. It fails the test when the page says an error,
// breaks its policy, or requests what is not in its file.
type tab struct {
	*testing.T
	ctx  context.Context
	file string

	mu     sync.Mutex
	faults []string
}

// needChromium skips the test with -short or where there is none, and returns once it runs.
func needChromium(t *testing.T) {
	t.Helper()
	testenv.Long(t)
	chromium.Do(func() {
		for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless-shell"} {
			if path, err := exec.LookPath(name); err == nil {
				chromium.path = path
				break
			}
		}
		if chromium.path == "" {
			return
		}
		opts := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(chromium.path), chromedp.NoSandbox,
			chromedp.WSURLReadTimeout(testenv.Patience))
		ctx, stop := chromedp.NewExecAllocator(context.Background(), opts...)
		chromium.stop = append(chromium.stop, stop)
		ctx, stop = chromedp.NewContext(ctx)
		chromium.stop = append(chromium.stop, stop)
		chromium.ctx = ctx
	})
	if chromium.path == "" {
		testenv.Missing(t, "no Chromium to look at pages with: apt-get install chromium")
	}
	if err := chromedp.Do(chromium.ctx); err != nil {
		t.Fatalf("%s: %v", chromium.path, err)
	}
}

// open shows a page in a new tab. Without Chromium the test is skipped.
func open(t *testing.T, page []byte, width, height int64) *tab {
	t.Helper()
	needChromium(t)
	b := &tab{T: t, file: filepath.Join(t.TempDir(), "page.html")}
	if err := os.WriteFile(b.file, page, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, stop := chromedp.NewContext(chromium.ctx, chromedp.WithListener(b.hear))
	t.Cleanup(stop)
	b.ctx, stop = context.WithTimeout(ctx, 2*testenv.Patience)
	t.Cleanup(stop)
	b.do(chromedp.EmulateViewport(width, height), chromedp.Navigate("file://"+b.file))
	b.until(`document.documentElement.dataset.ready === 'yes'`)
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, f := range b.faults {
			t.Error(f)
		}
	})
	return b
}

// hear keeps what a page must not do.
func (b *tab) hear(ev any) {
	fault := ""
	switch ev := ev.(type) {
	case *runtime.EventExceptionThrown:
		fault = "exception: " + ev.ExceptionDetails.Text
		if e := ev.ExceptionDetails.Exception; e != nil {
			fault += " " + e.Description
		}
	case *runtime.EventConsoleAPICalled:
		fault = fmt.Sprintf("the page wrote to the console: %v", ev.Args)
	case *log.EventEntryAdded:
		fault = "the browser complains: " + ev.Entry.Text
	case *network.EventRequestWillBeSent:
		if u := ev.Request.URL; u != "file://"+b.file && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "blob:") {
			fault = "a request leaves the page: " + u
		}
	}
	if fault != "" {
		b.mu.Lock()
		b.faults = append(b.faults, fault)
		b.mu.Unlock()
	}
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// eval returns what a script of the test, not of the page, finds.
func eval[V any](b *tab, script string) V {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[V](script))
	if err != nil {
		b.Fatalf("%s: %v", script, err)
	}
	return v
}

// until waits for a condition in the page.
func (b *tab) until(condition string) {
	b.Helper()
	for end := time.Now().Add(testenv.Patience); !eval[bool](b, condition); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("never true: %s", condition)
		}
	}
}

// spot is where the first chart has the point of a setting that is in the final.
func (b *tab) spot(setting string) (x, y float64) {
	b.Helper()
	at := eval[[]float64](b, fmt.Sprintf(`(() => {
		const points = JSON.parse(document.querySelector('script.chart-data').textContent).series.flatMap(s => s.p || []).filter(p => p.b);
		const chart = document.querySelector('.chart > svg');
		chart.scrollIntoView({ block: 'center' });
		const m = chart.querySelectorAll('.mark.big')[points.findIndex(p => p.n === %q)]?.getBoundingClientRect();
		return m ? [m.x + m.width / 2, m.y + m.height / 2] : [];
	})()`, setting))
	if len(at) != 2 {
		b.Fatalf("the first chart has no point of %s", setting)
	}
	return at[0], at[1]
}

func (b *tab) theme(name string) {
	b.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
	if err != nil {
		b.Fatal(err)
	}
}

func pages(t *testing.T) map[string][]byte {
	return map[string][]byte{
		"tune": pageOf(t, resulttest.Tune(8, "./prog", "-n", "5")), "run": pageOf(t, resulttest.Run(6)), "lab": pageOf(t, resulttest.Lab()),
		"search": pageOf(t, resulttest.Search(20, 12)), "ab": pageOf(t, resulttest.AB()),
		"inspect": pageOf(t, resulttest.OverTime("./prog", 60), resulttest.Inspect(inspect.GoHeap, "./prog"), resulttest.List("./prog"), resulttest.Doctor("./prog"), resulttest.Suggest("./prog")),
		"both":    pageOf(t, resulttest.Tune(8, "./prog"), resulttest.Tune(6, "./other")),
		"hostile": pageOf(t, resulttest.Tune(6, "./</script><img src=x onerror=alert(1)>", "\u202egnp")),
	}
}

// Every chart is drawn with all of its points; nothing is wider than a phone;
// light and dark differ; the pictures are kept where FOLIO_SCREENSHOTS says.
func TestCharts(t *testing.T) {
	testenv.Long(t)
	for name, page := range pages(t) {
		t.Run(name, func(t *testing.T) {
			b := open(t, page, 1280, 900)
			for _, width := range []int64{1280, 390} {
				b.do(chromedp.EmulateViewport(width, 900))
				b.keepFolded(name, width)
				b.settled(width)
				if got := eval[[]string](b, missingPoints); len(got) > 0 {
					t.Errorf("at width %d: %q", width, got)
				}
				if n := eval[int](b, `document.documentElement.scrollWidth`); n > int(width) {
					t.Errorf("at width %d the page is %d wide: %v", width, n, eval[[]string](b, widest))
				}
				colors := make(map[string]bool)
				for _, theme := range []string{"light", "dark"} {
					b.theme(theme)
					colors[eval[string](b, `getComputedStyle(document.documentElement).backgroundColor`)] = true
					b.keep(fmt.Sprintf("%s-%s-%d.png", name, theme, width))
				}
				if len(colors) != 2 {
					t.Errorf("light and dark are the same: %v", colors)
				}
			}
		})
	}
}

// keepFolded keeps a picture of a page as it opens, and then opens what is folded away.
func (b *tab) keepFolded(name string, width int64) {
	b.Helper()
	b.until(fmt.Sprintf(`innerWidth === %d`, width))
	if eval[int](b, `document.querySelectorAll('details:not([open])').length`) > 0 {
		b.keep(fmt.Sprintf("%s-folded-%d.png", name, width))
	}
	eval[int](b, `(document.querySelectorAll('details').forEach(d => { d.open = true; }), 1)`)
}

// missingPoints lists the charts that do not show what their data has.
const missingPoints = `[...document.querySelectorAll('script.chart-data')].flatMap(s => {
	const c = JSON.parse(s.textContent), own = ['time', 'calls'].includes(c.kind);
	const svg = document.querySelector('#' + s.dataset.for + (own ? ' svg[role=img]' : ' > svg'));
	if (!svg) return ['no chart ' + c.title];
	let want = 0;
	for (const x of c.series) for (const p of x.p) if (x.ticks || !x.bare) want += c.kind === 'bars' && c.x.scale === 'log' && p.x <= 0 ? 0 : 1;
	const drawn = own && svg.querySelectorAll('.line, .stick, .call').length;
	if (own && !drawn) return ['nothing in ' + c.title];
	const got = svg.querySelectorAll('.mark, .moment').length, lines = svg.querySelectorAll('path.line').length;
	const out = [], dots = [...svg.querySelectorAll('.dots, .failure')].map(e => e.getAttribute('d').split('M').length - 1).reduce((a, b) => a + b, 0);
	const runs = c.runs || [...document.querySelectorAll('script.chart-data')].map(o => JSON.parse(o.textContent)).find(o => o.id === c.from)?.runs;
	const all = runs ? runs.arms.map(a => a.v.length + (c.kind === 'order' ? (a.failed || []).length : 0)).reduce((a, b) => a + b, 0) : 0;
	if (dots !== all) out.push(c.title + ': ' + dots + ' runs, want ' + all);
	if (!own && got !== want) out.push(c.title + ': ' + got + ' points, want ' + want);
	if (c.kind === 'xy' && lines !== c.series.filter(x => x.line).length) out.push(c.title + ': ' + lines + ' lines');
	for (const e of svg.querySelectorAll('[d], [transform], [x], [width]')) for (const a of e.attributes) if (/NaN|undefined|Infinity/.test(a.value)) out.push(c.title + ': ' + a.name + '=' + a.value);
	return out;
})`

const widest = `[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.scroll')).slice(0, 5).map(e => e.tagName + '.' + e.className)`

// keep writes a screenshot of the whole page for somebody to look at.
func (b *tab) keep(name string) {
	dir := os.Getenv("FOLIO_SCREENSHOTS")
	if dir == "" {
		return
	}
	data, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), data, 0o644)
	}
	if err != nil {
		b.Error(err)
	}
}

// A pointer over a point shows the setting and its figures; a click copies the
// line with the setting.
func TestHoverAndCopy(t *testing.T) {
	b := open(t, pageOf(t, resulttest.Tune(8, "./prog")), 1280, 900)
	x, y := b.spot("GOGC=400")
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y))
	b.until(`!document.getElementById('tip').hidden`)
	text := eval[string](b, `document.getElementById('tip').innerText`)
	for _, want := range []string{"GOGC: GOGC=400", "wall", "peak RSS", "faults", "GC cycles", "runs"} {
		if !strings.Contains(text, want) {
			t.Errorf("beside the point: %q, want %s", text, want)
		}
	}
	b.keep("hover-light-1280.png")
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x+1, y))
	b.do(chromedp.MouseClickXY(x, y))
	b.until(`document.documentElement.dataset.copied === 'GOGC=400 ./prog'`)
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 5, 5))
	b.until(`document.getElementById('tip').hidden`)

	eval[bool](b, `delete document.documentElement.dataset.copied`)
	b.do(chromedp.Click(chromedp.CSS(`button.copy`)))
	b.until(`document.documentElement.dataset.copied === 'GOGC=400 ./prog'`)
}

// All that a pointer does, keys do.
func TestKeys(t *testing.T) {
	b := open(t, pageOf(t, resulttest.Tune(8, "./prog")), 1280, 900)
	eval[bool](b, `(document.querySelector('.chart > svg').focus(), true)`)
	points := eval[int](b, `JSON.parse(document.querySelector('script.chart-data').textContent).series.reduce((n, s) => n + (s.mute ? 0 : s.p.length), 0)`)
	seen := make(map[string]bool)
	for range points {
		b.do(chromedp.KeyEvent("\u0303")) // arrow right
		seen[eval[string](b, `document.getElementById('live').textContent`)] = true
	}
	if len(seen) != points {
		t.Errorf("%d of %d points were reached with the keys: %v", len(seen), points, seen)
	}
	b.do(chromedp.KeyEvent("\r"))
	b.until(`(document.documentElement.dataset.copied || '').endsWith('./prog')`)

	// a heading, sorted by Enter
	eval[bool](b, `(document.querySelector('table.sortable th:nth-child(2) button').focus(), true)`)
	b.do(chromedp.KeyEvent("\r"))
	b.until(`document.querySelector('table.sortable th:nth-child(2)').getAttribute('aria-sort') === 'ascending'`)
}

// Headings sort, up and down, by number; what is not known comes last.
func TestSort(t *testing.T) {
	f := resulttest.Tune(8, "./prog")
	f.Arms[2].Final.Memory, f.Arms[2].Final.MemoryRatio = nil, nil
	b := open(t, pageOf(t, f), 1280, 900)
	column := `[...document.querySelectorAll('table.sortable tbody')][0].rows, r => r.cells[4].dataset.v ? Number(r.cells[4].dataset.v) / (1 << 20) | 0 : null`
	rows := func() []*float64 { return eval[[]*float64](b, `Array.from(`+column+`)`) }
	text := func(v []*float64) string {
		var out []string
		for _, x := range v {
			if x == nil {
				out = append(out, "-")
			} else {
				out = append(out, fmt.Sprint(*x))
			}
		}
		return strings.Join(out, " ")
	}
	click := chromedp.Click(chromedp.CSS(`table.sortable th:nth-child(5) button`))
	b.do(click)
	if got := text(rows()); got != "100 220 512 -" {
		t.Errorf("peak memory, ascending: %s", got)
	}
	b.do(click)
	if got := text(rows()); got != "512 220 100 -" {
		t.Errorf("peak memory, descending: %s", got)
	}
	// The order is in the address.
	again := b.again(t, pageOf(t, f))
	if got := text(eval[[]*float64](again, `Array.from(`+column+`)`)); got != "512 220 100 -" {
		t.Errorf("from the address: %s", got)
	}
}

// The legend hides a series, and shows it again.
func TestLegend(t *testing.T) {
	b := open(t, pageOf(t, resulttest.Tune(8, "./prog")), 1280, 900)
	marks := `document.querySelector('.chart > svg').querySelectorAll('.mark').length`
	before := eval[int](b, marks)
	button := chromedp.Click(chromedp.CSS(`.chart .legend li:nth-child(2) button`))
	b.do(button)
	if n := eval[int](b, marks); n >= before || n == 0 {
		t.Errorf("%d points, %d with a series hidden", before, n)
	}
	b.do(button)
	if n := eval[int](b, marks); n != before {
		t.Errorf("%d points, %d with the series shown again", before, n)
	}
}

// The samples can be looked at, a page at a time, and taken out as they were.
func TestSamples(t *testing.T) {
	testenv.Long(t)
	f := resulttest.Tune(60, "./prog")
	r := resulttest.Read(t, "tune.json", f)
	page, err := Render(document.New(r))
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, page, 1280, 900)
	b.do(chromedp.Click(chromedp.CSS(`button.show`)))
	b.until(`document.querySelectorAll('.raw tbody tr').length === 100`)
	if text := eval[string](b, `document.querySelector('.pager span').textContent`); !strings.Contains(text, "1 to 100 of 300") {
		t.Errorf("the samples are %q", text)
	}
	b.do(chromedp.Click(chromedp.CSS(`.pager button:last-of-type`)))
	b.until(`document.querySelector('.pager span').textContent.includes('101 to 200 of 300')`)

	dir := t.TempDir()
	if _, err := chromedp.CallBrowser(b.ctx, browser.SetDownloadBehavior,
		browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir}); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Click(chromedp.CSS(`button.download`)))
	path := filepath.Join(dir, "tune.json")
	for end := time.Now().Add(testenv.Patience); ; time.Sleep(20 * time.Millisecond) {
		got, err := os.ReadFile(path)
		if err == nil && string(got) == string(r.JSON) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("what was taken out (%v) is not the result: %.200s", err, got)
		}
	}
}

// A page of 10,000 samples opens and shows them; how fast is said with -v.
func TestManySamples(t *testing.T) {
	b := open(t, largePage(t), 1280, 900)
	t.Logf("ready after %.0f ms", eval[float64](b, `performance.getEntriesByType('navigation')[0].loadEventEnd`))
	if got := eval[[]string](b, missingPoints); len(got) > 0 {
		t.Errorf("%q", got)
	}
	b.do(chromedp.Click(chromedp.CSS(`button.show`)))
	b.until(`!!document.querySelector('.pager span')?.textContent.includes('1 to 100 of 10000')`)
}

// How long a large page and one of each kind take to be ready on a processor that is six
// times as slow is said with -v: wanted is a second.
func TestLoadTime(t *testing.T) {
	testenv.FullOnly(t)
	for name, page := range pages(t) {
		b := open(t, page, 1280, 900)
		if _, err := chromedp.Call(b.ctx, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: 6}); err != nil {
			t.Fatal(err)
		}
		b.do(chromedp.Navigate("file://" + b.file))
		b.until(`document.documentElement.dataset.ready === 'yes' && performance.getEntriesByType('navigation')[0].loadEventEnd > 0`)
		if len(page) > 1<<20 {
			t.Errorf("%s: %d bytes", name, len(page))
		}
		t.Logf("%s: %d KiB, ready after %.0f ms at a sixth of the speed", name, len(page)>>10,
			eval[float64](b, `performance.getEntriesByType('navigation')[0].loadEventEnd`))
	}
}

// Without script, all words and figures are there.
func TestNoScript(t *testing.T) {
	text := string(scripts.ReplaceAll(pageOf(t, resulttest.Tune(8, "./prog")), nil))
	for _, want := range []string{"Set GOGC=400.", "GOGC=400 ./prog", "The chart needs the script of this page",
		"GOGC=off GOMEMLIMIT=512MiB"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// On paper there are no buttons.
func TestPrint(t *testing.T) {
	b := open(t, pageOf(t, resulttest.Tune(8, "./prog")), 1280, 900)
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}); err != nil {
		t.Fatal(err)
	}
	if n := eval[int](b, `[...document.querySelectorAll('.copy, .raw, .hint')].filter(e => e.checkVisibility()).length`); n > 0 {
		t.Errorf("%d things that only a screen has would be printed", n)
	}
}
