package document

import (
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
	"github.com/foliomem/folio/cmd/internal/view/report"
)

// The table of loads has a row for each arm: percentiles with their intervals, "failed" where
// they fall among failed requests, and late runs marked.
func TestLoadBlock(t *testing.T) {
	if loadBlock(nil) != nil {
		t.Error("a block of nothing")
	}
	l := &result.LoadSummary{Runs: 6, LateRuns: 1}
	l.Intended, l.Succeeded, l.Failed = 6000, 5994, 6
	l.P50 = result.Percentile{Value: new(0.001), Lo: new(0.0009), Hi: new(0.0011)}
	l.P99 = result.Percentile{Value: new(0.002)}
	sum := &result.Summary{Figures: map[string]result.Interval{"cpu_per_request_seconds": {N: 6, Median: 0.0005}}}
	b := loadBlock([]report.Loaded{{Name: "default", Load: l, Summary: sum}, {Name: "GOGC=400", Load: &result.LoadSummary{}, Summary: &result.Summary{}}})
	want := [][]string{
		{"default", "6,000", "6 (0.1%)", "1.000ms [900.0\u00b5s, 1.100ms]", "2.000ms", "failed", "500.0\u00b5s", "6 (1 LATE)"},
		{"GOGC=400", "0", "0", "-", "-", "-", "-", "0"},
	}
	for i, row := range b.Tables[0].Rows {
		for j, c := range row.Cells {
			if c.Text != want[i][j] {
				t.Errorf("row %d, column %d: %q, want %q", i, j, c.Text, want[i][j])
			}
		}
	}
}

// What delays requests has a row for each cause, and a sentence for each setting.
func TestDelaysBlock(t *testing.T) {
	l := &result.LoadSummary{Runs: 6}
	l.P99 = result.Percentile{Value: new(0.041)}
	d := &result.Delays{Runs: 6, Slow: 120, Episodes: 40, State: result.DelayFound, Cause: result.DelayGCCycle, Causes: []result.DelayShare{
		{Cause: result.DelayGCCycle, Slow: 0.83, All: 0.12, Chance: 0.2, Excess: 0.63, Lo: new(0.5), Hi: new(0.7), P: 1.0 / 300, Found: true, Part: 0.83},
		{Cause: "page_faults", Slow: 0.1, All: 0.12, Chance: 0.15, Excess: -0.05, P: 0.7},
	}}
	def := &result.Arm{Name: "default", Load: l, Delays: d}
	if delaysBlock() != nil || delaysBlock(&result.Arm{Name: "default", Load: l}) != nil {
		t.Error("a block of nothing")
	}
	b := delaysBlock(def, &result.Arm{Name: "GOGC=400", Load: l})
	if len(b.Words) != 1 || b.Words[0] != "default: "+report.Delays(def) {
		t.Errorf("%q", b.Words)
	}
	want := [][]string{
		{"default: a GC cycle", "83.0%", "12.0%", "20.0%", "63.0% [50.0%, 70.0%]", "0.0033", "yes"},
		{"default: page faults above usual", "10.0%", "12.0%", "15.0%", "-5.0%", "0.7", "no"},
	}
	for i, row := range b.Tables[0].Rows {
		for j, c := range row.Cells {
			if c.Text != want[i][j] {
				t.Errorf("row %d, column %d: %q, want %q", i, j, c.Text, want[i][j])
			}
		}
	}
}

// Latencies and throttling are lanes of the timeline, on the clock of the others.
func TestTimelineOfLoad(t *testing.T) {
	s := resulttest.Series(4, 1)
	s.Throttled = &result.Rates{BinSeconds: 2, Counts: []float64{0, 1}}
	r := timed{name: "this run", series: s, wall: 4, load: &result.LoadOverTime{Start: new(1.5), Window: 0.5,
		Max: []*float64{new(0.001), nil, new(0.04), new(0.002)}, Slow: []int64{0, 0, 2, 0}}}
	lanes := make(map[string]Lane)
	c := timeline([]timed{r}).Charts[0]
	for _, l := range c.Lanes {
		lanes[l.Label] = l
	}
	l := lanes["latency: the slowest request"]
	if len(l.Series) != 2 || !slices.Equal(l.Series[0].X, []float64{1.5, 3}) || !slices.Equal(l.Series[0].Y, []float64{0.001, 0.002}) ||
		!slices.Equal(l.Series[1].X, []float64{2.5}) || !slices.Equal(l.Series[1].Y, []float64{0.04}) {
		t.Errorf("%+v", l)
	}
	l = lanes["throttled by the CPU quota: seconds a second"]
	if len(l.Series) != 1 || !slices.Equal(l.Series[0].X, []float64{0, 2, 4}) || !slices.Equal(l.Series[0].Y, []float64{0, 0.5, 0}) {
		t.Errorf("%+v", l)
	}
	if !strings.Contains(c.Title, "latency") || !strings.Contains(c.Caption, "window of 500.0ms") {
		t.Errorf("%s: %s", c.Title, c.Caption)
	}
	r.load, s.Throttled = nil, nil
	c = timeline([]timed{r}).Charts[0]
	if len(c.Lanes) != len(lanes)-2 || strings.Contains(c.Title, "latency") {
		t.Errorf("%s: %d lanes without a load, %d with one", c.Title, len(c.Lanes), len(lanes))
	}
}

// Of GC cycles that ended together between two readings only their sum was read: it is drawn for
// none of them. A line that leads through fewer than three readings is left out, and named.
func TestTimelineDrawsReadings(t *testing.T) {
	s := resulttest.Series(4, 1)
	g := &s.GC
	n := g.Len()
	for i := range n {
		if i != 4 {
			g.Assist[i], g.Goal[i] = nil, 0
		}
		if i == 5 {
			g.Live[i] = 0
		}
	}
	g.Assist[4] = new(0.003)
	b := timeline([]timed{{name: "this run", series: s, wall: 4}})
	if want := "Too few readings: heap goal (1 reading), assists (1 reading)."; len(b.Words) != 1 || b.Words[0] != want {
		t.Errorf("%q, want %q", b.Words, want)
	}
	c := b.Charts[0]
	if want := formatf("Known: heap in use %d of %d, live heap %d of %d.", 2*n-2, 2*n, n-1, n); !strings.Contains(c.Caption, want) {
		t.Errorf("%q, want %q", c.Caption, want)
	}
	gaps := make(map[string][]int)
	for _, l := range c.Lanes {
		for _, s := range l.Series {
			gaps[s.Name] = s.Gaps
		}
	}
	if _, ok := gaps["heap goal"]; ok || !slices.Equal(gaps["heap in use"], []int{10}) || !slices.Equal(gaps["live heap"], []int{5}) || gaps["RSS"] != nil {
		t.Errorf("gaps %v", gaps)
	}
	if _, ok := gaps["assists"]; ok {
		t.Error("assists of one cycle are drawn as those of all")
	}
}
