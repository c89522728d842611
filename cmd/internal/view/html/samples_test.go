package html

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
	"github.com/foliomem/folio/internal/test/testenv"
)

// searchFile is a search over so many settings, with a race of 3 rounds and a final of
// so many, its runs numbered in their order; the last setting but one has failed runs.
func searchFile(settings, rounds int) *result.File {
	f := tuneFile(0, "./prog", "-n", "5")
	f.RaceRounds, f.Rounds, f.Arms, f.Recommendations = 3, 3+rounds, nil, nil
	next := 0
	walls := make([]float64, settings)
	for i := range settings {
		set := trial.Setting{}
		if i > 0 {
			set.GOGC = itoa(50 * (i + 1))
		}
		walls[i] = 2 - float64(i%12)*0.07
		f.Arms = append(f.Arms, result.Arm{Name: set.String(), Setting: result.NewSetting(set), Status: string(tune.Finalist)})
	}
	for round := range 3 + rounds {
		for k := range settings {
			i := (k*7 + round*3) % settings // another order in each round
			a := &f.Arms[i]
			if round >= 3 && i >= (settings+1)/2 {
				continue // left early
			}
			next++
			drift := 1 + 0.1*float64(round)/float64(3+rounds)
			s := sample(round+1, walls[i]*drift*(1+float64(next*37%19-9)/150), uint64(100+12*i)<<20+uint64(next%7)<<18)
			s.Sequence = next
			if i == settings-2 && round == 1 {
				s.Failure = "exit code 3"
			}
			a.Samples = append(a.Samples, s)
		}
	}
	for i := range f.Arms {
		a := &f.Arms[i]
		final := slices.DeleteFunc(slices.Clone(a.Samples), func(s *trial.Sample) bool { return s.Round <= 3 })
		mem := float64(100+12*i) * (1 << 20)
		if len(final) == 0 {
			final = a.Samples
			a.Status, a.Left = string(tune.Early), &tune.Left{Rounds: 3, AtLeast: 1.1, SlowerThan: "GOGC=400", About: walls[i]}
		} else {
			ratio := walls[i] / walls[0]
			a.Final = &tune.Final{Rank: i + 1, N: rounds, Adjusted: walls[i], Memory: new(mem), Front: true}
			if i > 0 {
				a.Final.Ratio = &tune.Estimate{N: rounds, Ratio: ratio, Lo: new(ratio * 0.99), Hi: new(ratio * 1.01), P: 0.01, Different: true}
				a.Final.MemoryRatio = &tune.Estimate{N: rounds, Ratio: mem / (100 << 20), Lo: new(mem / (100 << 20) * 0.99), Hi: new(mem / (100 << 20) * 1.01), P: 0.01, Different: true}
			}
		}
		a.Summary, a.Measured = result.Summarize(final), f.Metric.Measured(final)
	}
	return f
}

// at returns the runs of an arm by their place.
func at(a *RunArm) map[int]float64 {
	out := make(map[int]float64)
	for i, n := range a.At {
		out[n] = a.V[i]
	}
	return out
}

// Every run of a search is there, at its place, whether it is of the race, of the final
// or failed; the arms are in the order of the table.
func TestRuns(t *testing.T) {
	f := searchFile(6, 8)
	b := newTuned(f).everyRun()
	strip, order, tb := b.Charts[0], b.Charts[1], b.Tables[0]
	r := strip.Runs
	if strip.Kind != Strip || order.Kind != Order || order.From != strip || order.Runs != nil || r.Race != 3 || !strip.Link || !order.Link {
		t.Fatalf("%+v, %+v", strip, order)
	}
	var names []string
	for i := range r.Arms {
		names = append(names, r.Arms[i].Name)
	}
	if got, want := strings.Join(names, " "), "default GOGC=100 GOGC=150 GOGC=200 GOGC=250 GOGC=300"; got != want {
		t.Errorf("arms %s, want %s", got, want)
	}
	for i, a := range f.Arms {
		got := at(&r.Arms[i])
		for _, s := range a.Samples {
			v, ok := got[s.Sequence]
			if ok != s.OK() || ok && math.Abs(v-s.Wall) > 1e-5*s.Wall {
				t.Errorf("%s, run %d: %v, %t, want %v", a.Name, s.Sequence, v, ok, s.Wall)
			}
		}
	}
	lost := r.Arms[4]
	if lost.Lost != 1 || len(lost.V) != 2 || len(lost.Failed) != 1 || lost.Failed[0].Round != 2 || lost.Failed[0].Why != "exit code 3" {
		t.Errorf("an arm with a failed run: %+v", lost)
	}
	if a := r.Arms[0]; a.N != 8 || *a.Median != f.Arms[0].Measured.Median || *a.Lo != *f.Arms[0].Measured.Lo || a.race != 3 {
		t.Errorf("the default: %+v", a)
	}
	if got := cellsOf(tb.Rows[4]); got != "GOGC=250 1.723s  1.670s 1.777s 3 3 1 exit code 3" {
		t.Errorf("the row of a failed run: %s", got)
	}
	if got := cellsOf(tb.Rows[0]); !strings.HasSuffix(got, " 11 3  ") {
		t.Errorf("the row of the default: %s", got)
	}
	for _, want := range []string{"Hollow: runs of the race", "Strip plot"} {
		if !strings.Contains(strip.Caption, want) {
			t.Errorf("the caption does not say %q", want)
		}
	}
	if !strings.Contains(order.Caption, "Crosses at the foot") {
		t.Errorf("caption of the order: %s", order.Caption)
	}
}

func cellsOf(r Row) string {
	var out []string
	for _, c := range r.Cells {
		out = append(out, c.Text)
	}
	return strings.Join(out, " ")
}

// Of many runs so many are drawn as can be seen, the same each time, among them the
// extremes, and the caption says so.
func TestManyRuns(t *testing.T) {
	f := tuneFile(2000, "./prog")
	f.Arms[2].Samples[1234].Wall, f.Arms[2].Samples[1235].Wall = 0.5, 9
	f.Arms[3].Samples[1235].Wall, f.Arms[3].Samples[1234].Wall = 0.5, 9
	b, again := newTuned(f).everyRun(), newTuned(f).everyRun()
	if !reflect.DeepEqual(b, again) {
		t.Error("two pages of one result differ")
	}
	r := b.Charts[0].Runs
	for _, a := range r.Arms {
		if len(a.V) != 300 || len(a.At) != 300 || len(a.Round) != 300 || a.runs != 2000 || !slices.IsSorted(a.At) {
			t.Errorf("%s: %d of %d runs", a.Name, len(a.V), a.runs)
		}
	}
	for _, name := range []string{"GOGC=200", "GOGC=400"} {
		i := slices.IndexFunc(r.Arms, func(a RunArm) bool { return a.Name == name })
		if v := r.Arms[i].V; slices.Min(v) != 0.5 || slices.Max(v) != 9 {
			t.Errorf("%s: drawn from %v to %v", name, slices.Min(v), slices.Max(v))
		}
	}
	if c := b.Charts[0]; !strings.Contains(c.Caption, "300 of 2,000 runs drawn of each setting") || c.X.Scale != Log {
		t.Errorf("%s: %s", c.X.Scale, c.Caption)
	}
}

// Runs of results that do not number them are in the order of their rounds.
func TestPlaces(t *testing.T) {
	s := func(round, sequence int) *trial.Sample { return &trial.Sample{Round: round, Sequence: sequence} }
	arms := []ranArm{{samples: []*trial.Sample{s(1, 0), s(2, 0), s(3, 0)}}, {samples: []*trial.Sample{s(1, 0), s(3, 0)}}}
	if got := fmt.Sprint(places(arms)); got != "[[1 3 4] [2 5]]" {
		t.Errorf("by round: %s", got)
	}
	arms = []ranArm{{samples: []*trial.Sample{s(1, 2), s(2, 7)}}, {samples: []*trial.Sample{s(1, 1), s(2, 9)}}}
	if got := fmt.Sprint(places(arms)); got != "[[2 3] [1 4]]" {
		t.Errorf("by number: %s", got)
	}
}

// One run, or none with a figure, is not a picture; programs that are compared, and runs
// of several files, have one.
func TestWhoHasRuns(t *testing.T) {
	failed := runFile(3)
	fails(&failed.Arms[0], 0)
	for name, f := range map[string]*result.File{"one run": runFile(1), "failed runs": failed} {
		if b := everyRun(f); b != nil {
			t.Errorf("%s: %+v", name, b)
		}
	}
	if b := everyRun(runFile(2)); b == nil || b.Charts[0].Link || *b.Charts[0].Runs.Arms[0].Median != 2.005 {
		t.Errorf("two runs: %+v", b)
	}
	b := abRuns(abFile())
	if r := b.Charts[0].Runs; len(r.Arms) != 2 || r.Arms[1].Name != "HEAD" || len(r.Arms[1].V) != 10 || *r.Arms[1].Median != 0.5 || r.Arms[1].N != 10 {
		t.Errorf("a comparison: %+v", r)
	}
}

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
	b := open(t, pageOf(t, searchFile(6, 8)), 1280, 900)
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
	f := tuneFile(8, "./prog")
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
	b := open(t, pageOf(t, tuneFile(8, "./prog")), 1280, 900)
	eval[bool](b, `([...document.querySelectorAll('.legend button')].find(x => x.textContent === 'GOGC=400').focus(), true)`)
	before := eval[int](b, `document.querySelectorAll('svg .hit').length`)
	b.do(chromedp.EmulateViewport(1100, 900))
	b.settled(1100)
	if after := eval[int](b, `document.querySelectorAll('svg .hit').length`); after != before || before == 0 {
		t.Errorf("%d elements are highlighted, %d after the charts were drawn anew", before, after)
	}
}
