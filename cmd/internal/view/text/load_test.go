package text

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/cmd/internal/view/document"
)

// testLoad is the result of a load with n requests, of which some failed, and of which
// half took 0.5 ms, the others up to ten times that.
func testLoad(failed load.Failures) *result.Load {
	f := result.NewLoad("v1", &load.Result{
		Settings: load.Settings{URLs: []string{"http://127.0.0.1:8080/a\x1b[2J", "http://127.0.0.1:8080/b"}, Method: "POST",
			HeaderNames: []string{"Content-Type"}, BodyBytes: 12, HTTP: load.Negotiated, Rate: 2000, Arrivals: load.Constant, Duration: 10,
			Warmup: 2, Timeout: 5, MaxInFlight: 10000},
		Complete: true, Elapsed: 10.004,
		Status: map[string]int64{"2xx": 1000}, Protocols: map[string]int64{"HTTP/1.1": 1000},
		Errors: []load.ErrorText{},
		Latency: load.Latency{P50: new(0.000512255), P90: new(0.002000895), P99: new(0.012353535), P999: new(0.250085375), Max: new(1.250951167),
			SlowestAnswer: new(1.250951167), Histogram: load.Histogram{SignificantFigures: 3,
				Nanoseconds: []int64{512255, 2000895, 12353535, 250085375, 1250951167}, Counts: []int64{500, 400, 95, 4, 1}}},
		Lateness: load.Lateness{P50: new(0.00002), P99: new(0.0001234), Max: new(0.0031), LateStarts: 3, Bound: 0.00123},
	})
	f.Created, f.Host = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), testHost()
	f.Succeeded, f.Failures = 1000, failed
	f.Failed = failed.NotSent + failed.Timeout + failed.Connection + failed.Status + failed.Unanswered
	f.Intended = f.Succeeded + f.Failed
	if f.Failed > 0 {
		f.Latency.P50, f.Latency.P90 = f.Latency.P90, nil
		f.Latency.P99, f.Latency.P999, f.Latency.Max = nil, nil, nil
		f.Errors = []load.ErrorText{{Kind: "connection", Text: "read: connection\nreset by peer"}, {Kind: "status", Text: "503 Service Unavailable"}}
	}
	return f
}

func TestLoadText(t *testing.T) {
	failing := testLoad(load.Failures{NotSent: 7, Timeout: 200, Connection: 3, Status: 40, Unanswered: 2})
	failing.Complete = false
	failing.Status["5xx"], failing.Protocols["HTTP/2.0"] = 40, 40
	failing.Settings.Arrivals, failing.Settings.Seed, failing.Settings.Connections, failing.Settings.Rate = load.Poisson, new(uint64(7)), new(8), 0.5
	late := testLoad(load.Failures{})
	late.Late = true
	late.Lateness.P99, late.Lateness.Max, late.Lateness.Added = new(0.02), new(0.031), new(0.011)
	late.Notes = []string{"a note"}
	nothing := result.NewLoad("v1", &load.Result{Settings: late.Settings, Status: map[string]int64{}, Protocols: map[string]int64{}, Errors: []load.ErrorText{}})
	nothing.Created, nothing.Host = late.Created, late.Host
	nothing.Latency.Histogram = load.Histogram{SignificantFigures: 3, Nanoseconds: []int64{}, Counts: []int64{}}
	files := map[string]*result.Load{"done": testLoad(load.Failures{}), "failing": failing, "late": late, "nothing": nothing}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := files[name]
		var b bytes.Buffer
		if err := show(&b, f, Options{Full: true}); err != nil {
			t.Fatal(err)
		}
		golden(t, "load-"+name+".txt", b.Bytes())
		if err := f.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		data, err := f.JSON()
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "load-"+name+".json", data)
		var again bytes.Buffer
		if err := show(&again, savedAgain(t, f), Options{Full: true}); err != nil || again.String() != b.String() {
			t.Errorf("%s: of the saved result it is\n%s%v", name, &again, err)
		}
		// What reads the last "p99 x" of the text, as tune --metric does, gets the latency's.
		if at := strings.LastIndex(b.String(), "p99  "); name == "late" && !strings.HasPrefix(b.String()[at:], "p99         12.35ms\n") {
			t.Errorf("the last p99 is %q", b.String()[at:])
		}
	}
}

func TestLoadsText(t *testing.T) {
	f := testLoad(load.Failures{})
	m := &result.LoadMerged{Runs: 6, LateRuns: 1, PartialRuns: 2, Counts: f.Counts, Latency: f.Latency,
		Intervals: result.LoadIntervals{P50: &load.Interval{Lo: 0.0004, Hi: 0.0006}, P99: &load.Interval{Lo: 0.011, Hi: 0.0156}}}
	var b bytes.Buffer
	if err := Render(&b, document.Loads(m), Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "loads.txt", b.Bytes())
	b.Reset()
	m.Intervals, m.LateRuns, m.PartialRuns = result.LoadIntervals{}, 0, 0
	if err := Render(&b, document.Loads(m), Options{}); err != nil || strings.Contains(b.String(), "interval") || strings.Contains(b.String(), "left out") {
		t.Errorf("%s%v", &b, err)
	}
}
