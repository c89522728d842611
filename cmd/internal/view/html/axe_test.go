package html

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
	"github.com/foliomem/folio/internal/test/testenv"
)

// everyPage is a page of each kind, with little and with much in it.
func everyPage(t *testing.T) map[string][]byte {
	const evil = "./</script><img src=x onerror=alert(1)>\u202egnp"
	hostile := resulttest.Search(6, 8)
	hostile.Program.Command = []string{evil}
	for i := range hostile.Arms {
		hostile.Arms[i].Name += evil
	}
	twelve := resulttest.Lab()
	for i := 0; len(twelve.Experiments) < 12; i++ {
		twelve.Experiments = append(twelve.Experiments, twelve.Experiments[i])
	}
	out := map[string][]byte{
		"tune": pageOf(t, resulttest.Tune(8, "./prog")), "search of 20 settings": pageOf(t, resulttest.Search(20, 12)),
		"run": pageOf(t, resulttest.Run(6)), "one run": pageOf(t, resulttest.Run(1)), "ab": pageOf(t, resulttest.AB()),
		"lab": pageOf(t, resulttest.Lab()), "lab of 12": pageOf(t, twelve), "hostile": pageOf(t, hostile),
		"inspect": pageOf(t, resulttest.Inspect(inspect.GoHeap, "prog")), "list": pageOf(t, resulttest.List("prog")), "inspected over time": pageOf(t, resulttest.OverTime("prog", 60)),
		"doctor": pageOf(t, resulttest.Doctor("prog")), "suggest": pageOf(t, resulttest.Suggest("prog")),
		"tunes":    pageOf(t, resulttest.Tune(8, "./prog"), resulttest.Tune(8, "./prog")),
		"runs":     pageOf(t, resulttest.Run(6), resulttest.Run(6), resulttest.Run(1)),
		"several":  pageOf(t, resulttest.Tune(8, "./prog"), resulttest.Run(2), resulttest.Lab(), resulttest.Doctor("prog"), resulttest.Inspect(inspect.GoHeap, "prog"), resulttest.AB()),
		"collapse": pageOf(t, &result.Collapse{Header: result.NewHeader(result.CollapseSchema, result.KindCollapse, "v0")}),
		"sites":    pageOf(t, sites()),
		"charge":   pageOf(t, resulttest.Charge("prog")), "charges": pageOf(t, resulttest.Charge("prog"), resulttest.Charge("prog")),
	}
	for _, name := range []string{"collapse-done", "load-done", "load-failing"} { // as their commands wrote them
		data, err := os.ReadFile("../text/testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		out[name] = pageOf(t, json.RawMessage(data))
	}
	for name, c := range brokenFiles() {
		out[name] = pageOf(t, c.file)
	}
	return out
}

// sites has everything that keeps memory, which no command shows at once.
func sites() *result.Sites {
	line := func(n int64) result.SiteLine {
		return result.SiteLine{Func: "main.(*cache).add", File: "/src/cache.go", Line: n}
	}
	use := result.HeapUse{InUseBytes: 64 << 20, InUseObjects: 1000, AllocBytes: 80 << 20, AllocObjects: 2000}
	f := result.NewSites("v0", result.KindLeaks, 7, []string{"./prog", "-x"}, "go1.26.8")
	f.Heap = &result.HeapSites{HeapUse: use, Rate: 512 << 10, Sites: []result.HeapSite{{SiteLine: line(7), HeapUse: use}, {SiteLine: line(9), HeapUse: use}}}
	f.Growth = &result.HeapGrowth{Before: use, After: use, Sites: []result.GrowthSite{{SiteLine: line(7), Bytes: 1 << 20, Objects: 3}}}
	created := line(20)
	f.Goroutines = &result.GoroutineSites{Total: 12, Runtime: 4, Groups: []result.GoroutineGroup{
		{Count: 8, State: "chan receive", Created: &created, Waits: new(60.0), Stack: []result.SiteLine{line(21), line(22)}}}}
	f.Leaks = &result.Leaks{Seconds: 60, Readings: 60, Enough: true, Parts: new(7), OverTime: resulttest.OverTime("prog", 60).Process.OverTime,
		Growing: []result.Leak{{Kind: "goroutines", Site: &created, State: new("chan receive"), Stack: f.Goroutines.Groups[0].Stack, Slope: 1, Low: 0.5, High: 2, To: 8, Confidence: 1}}}
	return f
}

// axe is the checker of pages, as it comes from the npm registry: .ci/run fetches it.
func axe(t *testing.T) string {
	t.Helper()
	path := os.Getenv("FOLIO_AXE")
	if path == "" {
		testenv.Missing(t, "no axe-core to check pages with: npm pack axe-core, and FOLIO_AXE=path of axe.min.js")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// An axeRule is a rule that elements break, or of which axe cannot tell.
type axeRule struct {
	ID    string
	Help  string
	Nodes []axeNode
}

type axeNode struct {
	Target json.RawMessage
	HTML   string
	Why    string
}

// check runs axe with all rules that are on by default and the size of targets.
const check = `axe.run(document, {
	runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] },
	rules: { 'target-size': { enabled: true } }, resultTypes: ['violations', 'incomplete'],
}).then(r => {
	const rules = list => list.map(v => ({ id: v.id, help: v.help, nodes: v.nodes.map(n => ({
		target: n.target, html: n.html.slice(0, 160), why: (n.any.concat(n.all, n.none)[0] || {}).message || '' })) }));
	return { violations: rules(r.violations), incomplete: rules(r.incomplete) };
})`

// Every page passes axe with all that folds open, light on a screen and dark on a phone, and
// its texts can be read dark on a screen, too. On a phone one page of each kind does, else.
func TestAxe(t *testing.T) {
	testenv.Long(t)
	script := axe(t)
	again := map[string]bool{"search of 20 settings": true, "one run": true, "lab of 12": true, "tunes": true, "runs": true}
	for name := range brokenFiles() {
		again[name] = true
	}
	for name, page := range everyPage(t) {
		t.Run(name, func(t *testing.T) {
			b := open(t, page, 1280, 900)
			eval[int](b, `(document.querySelectorAll('details').forEach(d => { d.open = true; }), document.querySelector('button.show')?.click(), 1)`)
			eval[bool](b, script+`; true`)
			b.theme("light")
			b.passes("light")
			b.theme("dark") // which differs in colors only
			b.readable("dark")
			if again[name] && !testenv.Full() {
				return
			}
			b.do(chromedp.EmulateViewport(390, 900))
			b.settled(390)
			b.passes("dark, on a phone")
		})
	}
}

// passes runs axe. What it cannot tell counts; contrast that it cannot tell, as of texts in
// charts and of those that have to be scrolled to, is worked out by faint.
func (b *tab) passes(when string) {
	b.Helper()
	type found struct{ Violations, Incomplete []axeRule }
	r, err := chromedp.Run(b.ctx, chromedp.Evaluate[found](check, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatal(err)
	}
	for _, v := range r.Violations {
		for _, n := range v.Nodes {
			b.Errorf("%s: %s (%s): %s %s: %s", when, v.ID, v.Help, n.Target, n.HTML, n.Why)
		}
	}
	b.readable(when)
	for _, v := range r.Incomplete {
		if v.ID == "color-contrast" {
			continue
		}
		for _, n := range v.Nodes {
			b.Errorf("%s: cannot tell: %s (%s): %s %s: %s", when, v.ID, v.Help, n.Target, n.HTML, n.Why)
		}
	}
}

// readable looks at the contrast of every text.
func (b *tab) readable(when string) {
	b.Helper()
	for _, text := range eval[[]string](b, faint) {
		b.Errorf("%s: %s", when, text)
	}
}
