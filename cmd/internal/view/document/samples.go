package document

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// Chart kinds that draw every run: Strip a row for each arm, Order the runs as they were
// made. Both have Runs for their data, and no series.
const (
	Strip = "strip"
	Order = "order"
)

// mostDrawn is how many runs of an arm are drawn at most: more hide each other.
const mostDrawn = 300

// Runs are the runs of arms.
type Runs struct {
	Arms []RunArm `json:"arms"`
	Race int      `json:"race,omitempty"` // rounds up to this one are of a search's race
	// Apart says that the runs of an arm have an order of their own.
	Apart bool `json:"apart,omitempty"`
}

// A RunArm is an arm with its runs. Each of V, At and Round has one entry for each run.
type RunArm struct {
	Name   string    `json:"name"`
	Color  int       `json:"color"`
	Shape  int       `json:"shape"`
	V      []float64 `json:"v"`     // what was measured
	At     []int     `json:"at"`    // its place in the order of all runs, from 1
	Round  []int     `json:"round"` // from 1
	Failed []Failure `json:"failed,omitempty"`
	Lost   int       `json:"lost,omitempty"` // runs without a figure, of which Failed has those that are drawn
	Median *float64  `json:"median,omitempty"`
	Lo     *float64  `json:"lo,omitempty"`
	Hi     *float64  `json:"hi,omitempty"`
	N      int       `json:"n,omitempty"` // runs that the median is of
	// Text and Between are Median, and Lo to Hi, as tables print them.
	Text    string `json:"text,omitempty"`
	Between string `json:"between,omitempty"`

	runs int // of which V has those that are drawn
	race int // runs that are of the race
}

// A Failure is a run without a figure.
type Failure struct {
	At    int    `json:"at"`
	Round int    `json:"round"`
	Why   string `json:"why"`
}

// A ranArm is an arm as results of any kind have it.
type ranArm struct {
	name    string
	samples []*result.Sample
	median  *result.Interval // nil: not known
}

// newRuns collects the runs of arms; nil if fewer than two have a figure.
func newRuns(of target, race int, apart bool, arms []ranArm) *Runs {
	r := &Runs{Race: race, Apart: apart}
	at, n := places(arms), 0
	for i, a := range arms {
		if apart {
			at[i] = places(arms[i : i+1])[0]
		}
		out := RunArm{Name: a.name, Color: []int{2, 1, 3, 4, 5, 6}[i%6], Shape: []int{1, 0, 2, 3, 4, 5, 6}[i%7], V: []float64{}, At: []int{}, Round: []int{}}
		for j, s := range a.samples {
			if s.Round <= race {
				out.race++
			}
			v, ok := of.Value(s)
			if v = of.scale(v); !ok || math.IsNaN(v) || math.IsInf(v, 0) {
				out.Failed = append(out.Failed, Failure{at[i][j], s.Round, cmp.Or(s.Failure, "no figure in its output")})
				continue
			}
			out.V, out.At, out.Round = append(out.V, short(v)), append(out.At, at[i][j]), append(out.Round, s.Round)
		}
		out.runs, out.Lost = len(out.V), len(out.Failed)
		n += out.runs
		out.thin()
		if m := a.median; m != nil && out.runs > 0 {
			median := short(of.scale(m.Median)) // as the runs, so that the only one is its median
			out.N, out.Median, out.Text = m.N, &median, of.text(median/of.scale(1))
			if m.Lo != nil && m.Hi != nil {
				out.Lo, out.Hi = new(of.scale(*m.Lo)), new(of.scale(*m.Hi))
				out.Between = of.text(*m.Lo) + " to " + of.text(*m.Hi)
			}
		}
		r.Arms = append(r.Arms, out)
	}
	if n < 2 {
		return nil
	}
	return r
}

// places returns where each run stands in the order of all: by its number, and by round
// and arm in results that do not number them.
func places(arms []ranArm) [][]int {
	type run struct{ arm, i, round, sequence int }
	var all []run
	seen, numbered := make(map[int]bool), true
	out := make([][]int, len(arms))
	for i, a := range arms {
		out[i] = make([]int, len(a.samples))
		for j, s := range a.samples {
			numbered = numbered && s.Sequence > 0 && !seen[s.Sequence]
			seen[s.Sequence] = true
			all = append(all, run{i, j, s.Round, s.Sequence})
		}
	}
	slices.SortStableFunc(all, func(a, b run) int {
		if numbered {
			return cmp.Compare(a.sequence, b.sequence)
		}
		return cmp.Or(cmp.Compare(a.round, b.round), cmp.Compare(a.arm, b.arm))
	})
	for n, r := range all {
		out[r.arm][r.i] = n + 1
	}
	return out
}

// thin keeps so many runs as are drawn: from all of the time, with the least and the most, so
// that the drawn range is the measured one.
func (a *RunArm) thin() {
	if keep := spaced(len(a.V)); len(keep) < len(a.V) {
		least, most := slices.Index(a.V, slices.Min(a.V)), slices.Index(a.V, slices.Max(a.V))
		keep = append(keep, least, most)
		slices.Sort(keep)
		keep = slices.Compact(keep)
		for len(keep) > mostDrawn {
			i := slices.IndexFunc(keep, func(k int) bool { return k != least && k != most })
			keep = slices.Delete(keep, i, i+1)
		}
		a.V, a.At, a.Round = pick(a.V, keep), pick(a.At, keep), pick(a.Round, keep)
	}
	a.Failed = pick(a.Failed, spaced(len(a.Failed)))
}

// spaced returns at most mostDrawn of n indices: one of each of so many equal parts, at
// random in it, since every seventh run, say, would show a pattern that the runs do not
// have, or hide theirs. They are the same each time.
func spaced(n int) []int {
	out := make([]int, min(n, mostDrawn))
	random := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range out {
		from, to := i*n/len(out), (i+1)*n/len(out)
		out[i] = from + random.IntN(to-from)
	}
	return out
}

func pick[E any](from []E, at []int) []E {
	out := make([]E, len(at))
	for i, j := range at {
		out[i] = from[j]
	}
	return out
}

// short keeps the digits that a picture can show.
func short(v float64) float64 {
	out, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil {
		return v
	}
	return out
}

// median is what a result has of the metric's median in an arm: Measured, or the figure
// that it is.
func (t target) median(measured *result.Interval, sum *result.Summary) *result.Interval {
	if measured != nil {
		return measured
	}
	i, ok := sum.Metrics[t.spec.Name]
	switch t.spec.Name {
	case result.MetricWall:
		i, ok = sum.Figures["wall_seconds"]
	case result.MetricCPU:
		i, ok = sum.Figures["cpu_seconds"]
	}
	if !ok {
		return nil
	}
	return &i
}

// draw returns a block with every run of some arms; nil for none.
func (r *Runs) draw(of target, one string) *Block {
	if r == nil {
		return nil
	}
	x := of.axis()
	if x.Scale = Linear; r.wide() {
		x.Scale = Log
	}
	several := len(r.Arms) > 1
	strip := &Chart{Kind: Strip, Title: "Every run: " + of.label(), X: x, Partly: true, Link: several, Runs: r,
		Caption: "One dot per run, as measured, not adjusted for drift. Line: median; band: its 95% interval."}
	order := &Chart{Kind: Order, Title: "Every run, in order: " + of.label(), X: Axis{Label: "run", Format: Count}, Y: x,
		Partly: true, Link: several, From: strip, Height: 320, Caption: "Drift that all settings share comes from the machine."}
	switch {
	case r.Apart:
		order.Caption = "Each file has an order of its own: its runs were made at another time than those of the others. Drift along a line comes from the machine."
	case several:
		order.Caption += " Bands: rounds, or groups of rounds if there are many."
	}
	if r.Race > 0 {
		strip.Caption += " Hollow: race; median and interval are of the final."
		order.Caption += " Hollow: race."
	}
	if slices.ContainsFunc(r.Arms, func(a RunArm) bool { return len(a.Failed) > 0 }) {
		order.Caption += " Crosses at the bottom: runs without this figure, usually failed ones."
	}
	if most := slices.MaxFunc(r.Arms, func(a, b RunArm) int { return cmp.Compare(a.runs, b.runs) }); most.runs > len(most.V) {
		text := formatf(" %d of %s runs drawn", len(most.V), unit.Count(float64(most.runs)))
		switch {
		case slices.ContainsFunc(r.Arms, func(a RunArm) bool { return a.runs != most.runs }):
			text = formatf(" %d of up to %s runs of a %s drawn", len(most.V), unit.Count(float64(most.runs)), one)
		case several:
			text += " of each " + one
		}
		strip.Caption += text + ", chosen at random, with the minimum and the maximum."
		order.Caption += text + "."
	}
	return &Block{Title: "Every run", Charts: []*Chart{strip, order}, Tables: []*Table{r.table(of, one)}, Fold: true}
}

// wide says that values differ too much for a linear axis.
func (r *Runs) wide() bool {
	least, most := math.Inf(1), 0.0
	for _, a := range r.Arms {
		for _, v := range a.V {
			least, most = min(least, v), max(most, v)
		}
	}
	return least > 0 && most > 4*least
}

// table is what the charts are without a script.
func (r *Runs) table(of target, one string) *Table {
	text := func(v float64) string { return of.text(v / of.scale(1)) }
	tb := &Table{Caption: "Runs as measured", Sort: len(r.Arms) > 1,
		Head: append(cols(one, "median", "95% interval", "min", "max", "runs", "of the race", "failed"), Column{Label: "why"})}
	if r.Race > 0 {
		tb.Caption += ". Median and interval: of the final, if the setting was in it"
	}
	for _, a := range r.Arms {
		row := Row{Cells: []Cell{code(a.Name), plain("-"), plain(""), plain("-"), plain("-"), num(itoa(a.runs+a.Lost), float64(a.runs+a.Lost)),
			plain(""), plain(""), plain("")}}
		if a.Median != nil {
			row.Cells[1] = num(a.Text, *a.Median)
		}
		row.Cells[2] = plain(a.Between)
		if len(a.V) > 0 {
			least, most := slices.Min(a.V), slices.Max(a.V)
			row.Cells[3], row.Cells[4] = num(text(least), least), num(text(most), most)
		}
		if a.race > 0 {
			row.Cells[6] = num(itoa(a.race), float64(a.race))
		}
		if a.Lost > 0 {
			row.Cells[7], row.Cells[8] = num(itoa(a.Lost), float64(a.Lost)), plain(a.Failed[0].Why)
		}
		tb.Rows = append(tb.Rows, row)
	}
	tb.dropEmpty()
	return tb
}

// everyRun draws every run of a search, in the order of its table.
func (t *tuned) everyRun() *Block {
	var arms []ranArm
	add := func(a *tunedArm) {
		arms = append(arms, ranArm{a.Name, a.Samples, t.of.median(a.Measured, &a.Summary)})
	}
	for _, a := range t.ranked() {
		add(a)
	}
	for i := range t.arms {
		if t.arms[i].Final == nil {
			add(&t.arms[i])
		}
	}
	return newRuns(t.of, t.file.RaceRounds, false, arms).draw(t.of, "setting")
}

// everyRun draws the runs of one arm; nil for one run.
func everyRun(f *result.File) *Block {
	of, a := targetOf(f), &f.Arms[0]
	return newRuns(of, 0, false, []ranArm{{cmp.Or(a.Name, "default"), a.Samples, of.median(a.Measured, &a.Summary)}}).draw(of, "setting")
}

// abRuns draws the runs of a comparison.
func abRuns(f *result.AB) *Block {
	of := target{f.Metric, f.Metric.Spec()}
	var arms []ranArm
	for i := range f.Arms {
		a := &f.Arms[i]
		m := of.median(nil, &a.Summary)
		if m == nil {
			m = f.Metric.Measured(a.Samples)
		}
		arms = append(arms, ranArm{a.Name, a.Samples, m})
	}
	return newRuns(of, 0, false, arms).draw(of, "program")
}

// runsBeside draws the runs of several results, each in its own order; nil where each is one run.
func runsBeside(results []*result.Result) *Block {
	of := targetOf(results[0].Program())
	var arms []ranArm
	for _, r := range results {
		a := &r.Program().Arms[0]
		arms = append(arms, ranArm{r.Name, a.Samples, of.median(a.Measured, &a.Summary)})
	}
	if !slices.ContainsFunc(arms, func(a ranArm) bool { return len(a.samples) > 1 }) {
		return nil
	}
	return newRuns(of, 0, true, arms).draw(of, "file")
}
