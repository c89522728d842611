package report

import (
	"fmt"
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
	return rateText(s.Rate) + " requests/s, " + Request(s)
}

// Request says what was requested.
func Request(s *result.LoadSettings) string {
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
