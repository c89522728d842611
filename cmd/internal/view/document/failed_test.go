package document

import (
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial/load"
)

// Where the load generator was late in each run, a lower rate is offered, and once: by a run whether
// it is printed at its end or read from a file, by a search, and for a program that folio builds.
func TestLateAtLowerRate(t *testing.T) {
	const late = "the load generator was late"
	arm := result.Arm{Name: "default", Samples: []*result.Sample{{Failure: late, FailureKind: "late"}}, Load: &result.LoadSummary{LateRuns: 1}}
	for name, c := range map[string]struct {
		kind, err string
		build     *result.Build
		want      string
	}{
		"run, printed": {result.KindRun, "", nil, "folio run --ready http://s/ --rate 210 --load-duration 10s --load-warmup 2s -- ./s x"},
		"run, saved":   {result.KindRun, "no run is valid: " + late, nil, "folio run --ready http://s/ --rate 210 --load-duration 10s --load-warmup 2s -- ./s x"},
		"search":       {result.KindTune, "no run is valid: " + late, nil, "folio tune --ready http://s/ --rate 210 --load-duration 10s --load-warmup 2s -- ./s x"},
		"built":        {result.KindRun, "", &result.Build{Package: "./s"}, "folio run --ready http://s/ --rate 210 --load-duration 10s --load-warmup 2s --build ./s -- x"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &result.File{Header: result.Header{Kind: c.kind}, Error: c.err, Metric: result.NewTarget(nil, nil), Arms: []result.Arm{arm},
				Program: result.Program{Command: []string{"./s", "x"}, Ready: "http://s/", Build: c.build, Requests: &load.Settings{Rate: 300, Method: "GET", HTTP: load.Negotiated, Arrivals: load.Constant, Duration: 10, Warmup: 2,
					Timeout: load.DefaultTimeout.Seconds(), MaxInFlight: load.DefaultMaxInFlight}}}
			var got []string
			for _, a := range kindSection(f).Answers {
				for _, s := range a.Steps {
					if strings.HasPrefix(s.Code, "folio ") {
						got = append(got, s.Code)
					}
				}
			}
			if len(got) != 1 || got[0] != c.want {
				t.Errorf("got %q, want %q alone", got, c.want)
			}
			if f.Program.Requests.Rate != 300 {
				t.Errorf("the result has %v requests a second now", f.Program.Requests.Rate)
			}
		})
	}
}
