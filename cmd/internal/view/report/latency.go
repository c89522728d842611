package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// Requests says what load folio put on a server; "" for none.
func Requests(s *result.LoadSettings) string {
	if s == nil {
		return ""
	}
	return rateText(s.Rate) + " requests/s, " + requestText(s)
}

// requestText says what was requested.
func requestText(s *result.LoadSettings) string {
	verb := s.Method
	if s.GRPC != "" {
		verb = "gRPC"
	}
	return verb + " " + strings.Join(s.URLs, " ")
}

// A Loaded is an arm under load: its name, and what the load found.
type Loaded struct {
	Name     string
	Load     *result.LoadSummary
	Summary  *result.Summary
	Settings *result.LoadSettings // nil: not known
}

// Failures say of each arm how many requests failed, and how; nil where none did.
func Failures(arms []Loaded) (out []string) {
	for _, a := range arms {
		if a.Load.Failed > 0 {
			out = append(out, a.Name+": "+a.Load.FailedText(a.Settings, a.Load.Errors))
		}
	}
	return out
}

// LoadedArms returns the arms of a run or a search that folio put a load on, as the table
// of settings lists them.
func LoadedArms(f *result.File, all bool) (out []Loaded) {
	for _, a := range ranked(f) {
		if a.Load != nil && (all || !compared(f) || a.Final != nil) {
			out = append(out, Loaded{a.Name, a.Load, &a.Summary, f.Program.Requests})
		}
	}
	return out
}

// LoadedAB returns the arms of a comparison that folio put a load on.
func LoadedAB(f *result.AB) (out []Loaded) {
	for i := range f.Arms {
		if a := &f.Arms[i]; a.Load != nil {
			out = append(out, Loaded{a.Name, a.Load, &a.Summary, a.Program.Requests})
		}
	}
	return out
}

// LoadPercentiles are the columns of a table of loads.
var LoadPercentiles = []struct {
	Name string
	Of   func(*result.LoadSummary) result.Percentile
}{
	{"p50", func(l *result.LoadSummary) result.Percentile { return l.P50 }},
	{"p99", func(l *result.LoadSummary) result.Percentile { return l.P99 }},
	{"p99.9", func(l *result.LoadSummary) result.Percentile { return l.P999 }},
}

// Percentile prints a percentile with its interval; one that falls among failed requests is
// "failed".
func Percentile(l *result.LoadSummary, p result.Percentile) string {
	switch {
	case l.Intended == 0:
		return none
	case p.Value == nil:
		return "failed"
	}
	text := unit.Seconds(*p.Value)
	if p.Lo != nil && p.Hi != nil {
		text += fmt.Sprintf(intervalFrom+"%s, %s]", unit.Seconds(*p.Lo), unit.Seconds(*p.Hi))
	}
	return text
}

// FailedRequests prints how many requests failed.
func FailedRequests(l *result.LoadSummary) string {
	if l.Failed == 0 || l.Intended == 0 {
		return "0"
	}
	return fmt.Sprintf("%s (%s)", unit.Number(l.Failed), unit.Percent(float64(l.Failed)/float64(l.Intended)))
}

// LoadRuns prints how many runs a load is of.
func LoadRuns(l *result.LoadSummary) string {
	text := fmt.Sprint(l.Runs)
	if l.LateRuns > 0 {
		text += fmt.Sprintf(" (%d LATE)", l.LateRuns)
	}
	return text
}

// CPUPerRequest prints what a request cost the server.
func CPUPerRequest(s *result.Summary) string {
	f := figure.ByKey("cpu_per_request_seconds")
	i, ok := s.Figures[f.Key]
	if !ok {
		return none
	}
	text := f.Format(i.Median)
	if i.Lo != nil && i.Hi != nil {
		text += fmt.Sprintf(intervalFrom+"%s, %s]", f.Format(*i.Lo), f.Format(*i.Hi))
	}
	return text
}

// LoadCaption stands above a table of loads, with intervals or without.
const (
	LoadCaption  = loadCaption + ", with 95% intervals"
	loadCaption  = "Latency from the intended start and CPU time per request, as measured"
	intervalFrom = " ["
)

// loadTable lists what a load found of arms. Where there is no room for it in so many
// columns, 0 for any, it is without intervals, and then without p50 and runs. It is nil for
// no arms.
func loadTable(arms []Loaded, columns int) (t *table, caption string) {
	if len(arms) == 0 {
		return nil, ""
	}
	plain := func(cell string) string {
		cell, _, _ = strings.Cut(cell, intervalFrom)
		return cell
	}
	if t = loadRows(arms, func(cell string) string { return cell }); columns <= 0 || t.width() <= columns {
		return t, LoadCaption
	}
	if t = loadRows(arms, plain); t.width() > columns {
		t = loadRows(arms, plain, "p50", "runs")
	}
	return t, loadCaption
}

// loadRows makes the table, but for some columns.
func loadRows(arms []Loaded, cell func(string) string, without ...string) *table {
	t := &table{left: map[int]bool{0: true}}
	perRequest := figure.ByKey("cpu_per_request_seconds").Short
	head := []string{"", "requests", "failed"}
	for _, p := range LoadPercentiles {
		head = append(head, p.Name)
	}
	head = append(head, perRequest, "runs")
	add := func(row []string) {
		var out []string
		for i, c := range row {
			if !slices.Contains(without, head[i]) {
				out = append(out, c)
			}
		}
		t.add(out...)
	}
	add(head)
	for _, a := range arms {
		row := []string{a.Name, unit.Number(a.Load.Intended), FailedRequests(a.Load)}
		for _, p := range LoadPercentiles {
			row = append(row, cell(Percentile(a.Load, p.Of(a.Load))))
		}
		add(append(row, cell(CPUPerRequest(a.Summary)), LoadRuns(a.Load)))
	}
	return t
}

// interrupted says that a run was ended under load: its last requests are not known.
func interrupted(f *result.File) bool {
	return slices.ContainsFunc(f.Arms[0].Samples, func(s *result.Sample) bool { return s.Load != nil && !s.Load.Complete })
}

// loadLines says what the load of a run found.
func loadLines(f *result.File) []string {
	l := f.Arms[0].Load
	if l == nil {
		return nil
	}
	var out []string
	if s := f.Program.Requests; s != nil {
		out = append(out, arrivalsText(*s))
	}
	switch {
	case l.Intended == 0:
		return append(out, "no request was measured")
	case l.Runs == 0 && l.LateRuns > 0:
		out = append(out, "LATE: do not count these latencies")
	case l.Runs == 0 && !interrupted(f):
		out = append(out, "of a run that failed: do not count these latencies")
	case l.Runs == 0:
		out = append(out, "not complete: of the requests until then")
	case l.LateRuns > 0:
		out = append(out, unit.Plural(l.Runs, "run")+fmt.Sprintf("; %d LATE, left out", l.LateRuns))
	}
	out = append(append(out, countsText(l.Counts)), failuresText(l.Failures.Kinds(f.Program.Requests, l.Errors))...)
	for _, p := range LoadPercentiles {
		out = append(out, p.Name+" "+Percentile(l, p.Of(l)))
	}
	if text := Delays(&f.Arms[0]); text != "" {
		out = append(out, text)
	}
	return out
}
