package document

import (
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/report"
	"github.com/foliomem/folio/internal/base/unit"
)

// loadBlock lists what folio's load found of arms; nil for none.
func loadBlock(arms []report.Loaded) *Block {
	if len(arms) == 0 {
		return nil
	}
	labels := []string{"setting", "requests", "failed"}
	for _, p := range report.LoadPercentiles {
		labels = append(labels, p.Name)
	}
	perRequest := figure.ByKey("cpu_per_request_seconds")
	tb := &Table{Caption: report.LoadCaption(arms), Head: cols(append(labels, perRequest.Short, "runs")...), Sort: len(arms) > 1}
	for _, a := range arms {
		row := []Cell{plain(a.Name), num(unit.Number(a.Load.Intended), float64(a.Load.Intended)),
			num(report.FailedRequests(a.Load), float64(a.Load.Failed))}
		for _, p := range report.LoadPercentiles {
			of := p.Of(a.Load)
			c := plain(report.Percentile(a.Load, p.Rank, of))
			if report.NoPercentile(p.Rank, of.Value, a.Load.Intended) == "" {
				c = num(c.Text, *of.Value)
			}
			row = append(row, c)
		}
		c := plain(report.CPUPerRequest(a.Summary))
		if i, ok := a.Summary.Figures[perRequest.Key]; ok {
			c = num(c.Text, i.Median)
		}
		tb.Rows = append(tb.Rows, Row{Cells: append(row, c, num(report.LoadRuns(a.Load), float64(a.Load.Runs)))})
	}
	return &Block{Key: true, Title: "Latency under load", Tables: []*Table{tb}, Words: report.Failures(arms)}
}

// loadSays says whether the latencies of a run count, and how the load was put on.
func loadSays(f *result.File) string {
	l, text := f.Arms[0].Load, ""
	if set := f.Program.Requests; set != nil {
		text = report.Arrivals(*set)
	}
	says := ""
	switch {
	case l.Intended == 0:
		says = "no request was measured"
	case l.Runs == 0 && l.LateRuns > 0:
		says = "LATE: do not use these latencies"
	case l.Runs == 0 && slices.ContainsFunc(f.Arms[0].Samples, func(s *result.Sample) bool { return s.Load != nil && !s.Load.Complete }):
		says = "not complete: of the requests until then"
	case l.Runs == 0:
		says = "of a run that failed: do not use these latencies"
	case l.LateRuns > 0:
		says = formatf("%d LATE, left out", l.LateRuns)
	}
	return strings.Trim(text+"; "+says, "; ")
}

// delaysBlock says what delays the slow requests of arms; nil where nothing is known.
func delaysBlock(arms ...*result.Arm) *Block {
	tb := &Table{Caption: "Slow requests, the slowest 1 in 100, that overlap a cause",
		Head: cols("cause", "of the slow requests", "of all requests", "of the slow ones by chance", "beyond chance", "p", "found")}
	b := &Block{Title: "What delays requests", Tables: []*Table{tb}}
	for _, a := range arms {
		text := report.Delays(a)
		if text == "" {
			continue
		}
		of := ""
		if len(arms) > 1 {
			of = a.Name + ": "
			text = of + text
		}
		b.Words = append(b.Words, text)
		for _, c := range a.Delays.Causes {
			found := "no"
			if c.Found {
				found = "yes"
			}
			tb.Rows = append(tb.Rows, Row{Cells: []Cell{plain(of + c.Cause.Text()), share(c.Slow), share(c.All), share(c.Chance),
				num(report.Excess(c), c.Excess), num(formatf("%.2g", c.P), c.P), plain(found)}})
		}
	}
	if len(tb.Rows) == 0 {
		return nil
	}
	return b
}

func share(v float64) Cell { return num(unit.Percent(v), v) }
