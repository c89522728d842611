package report

import (
	"fmt"
	"math"
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
	Rank float64
	Of   func(*result.LoadSummary) result.Percentile
}{
	{"p50", 0.5, func(l *result.LoadSummary) result.Percentile { return l.P50 }},
	{"p99", 0.99, func(l *result.LoadSummary) result.Percentile { return l.P99 }},
	{"p99.9", 0.999, func(l *result.LoadSummary) result.Percentile { return l.P999 }},
}

// NoPercentile says why there is none of a rank: too few requests for one to be beyond it,
// or it falls among failed ones. "" where there is one.
func NoPercentile(rank float64, value *float64, requests int64) string {
	switch {
	case requests == 0:
		return none
	case float64(requests) < math.Round(1/(1-rank)):
		return "too few requests"
	case value == nil:
		return "failed"
	}
	return ""
}

// Percentile prints a percentile of a rank with its interval.
func Percentile(l *result.LoadSummary, rank float64, p result.Percentile) string {
	if why := NoPercentile(rank, p.Value, l.Intended); why != "" {
		return why
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

// intervalFrom stands before an interval.
const intervalFrom = " ["

// LoadCaption stands above a table of loads.
func LoadCaption(arms []Loaded) string {
	const text = "Latency from the intended start and CPU time per request, as measured"
	for _, a := range arms {
		for _, p := range LoadPercentiles {
			if p.Of(a.Load).Lo != nil {
				return text + ", with 95% intervals"
			}
		}
	}
	return text
}
