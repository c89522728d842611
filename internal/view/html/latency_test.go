package html

import (
	"testing"

	"github.com/foliomem/folio/internal/result"
	"github.com/foliomem/folio/internal/view/report"
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
