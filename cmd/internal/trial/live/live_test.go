package live

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/memlimit"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
)

const exposition = `# HELP http_seconds Requests.
# TYPE http_seconds histogram
http_seconds_bucket{code="200",le="0.1"} 90
http_seconds_bucket{code="200",le="1"} 100
http_seconds_bucket{code="200",le="+Inf"} 100
http_seconds_sum{code="200"} 9
http_seconds_count{code="200"} 100
http_seconds_bucket{code="503",le="0.1"} 0
http_seconds_bucket{code="503",le="1"} 3
http_seconds_bucket{code="503",le="+Inf"} 10
http_seconds_sum{code="503"} 70
http_seconds_count{code="503"} 10
# TYPE requests_total counter
requests_total{grpc_code="OK"} 7
requests_total{grpc_code="Unavailable"} 2
requests_total{grpc_code="NotFound"} 1
# TYPE inflight gauge
inflight 3
`

func TestParse(t *testing.T) {
	h, err := parse(strings.NewReader(exposition), "http_seconds")
	if err != nil || h.count != 110 || h.errors != 10 || !slices.Equal(h.buckets, []bucket{{0.1, 90}, {1, 103}, {math.Inf(1), 110}}) {
		t.Errorf("%+v, %v", h, err)
	}
	c, err := parse(strings.NewReader(exposition), "requests_total")
	if err != nil || c.count != 10 || c.errors != 2 || c.buckets != nil {
		t.Errorf("%+v, %v", c, err)
	}
	for text, want := range map[string]string{"inflight": "inflight is a gauge: want a counter, histogram or summary", "none": "there is no metric none"} {
		if _, err := parse(strings.NewReader(exposition), text); err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := parse(strings.NewReader("<html>\n"), "x"); err == nil || !strings.HasPrefix(err.Error(), "not the text format of Prometheus: ") {
		t.Errorf("a page: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(exposition)
	f.Add("# TYPE http_seconds histogram\nhttp_seconds_bucket{le=\"NaN\"} 1\nhttp_seconds_count 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parse(strings.NewReader(text), "http_seconds")
		if err != nil {
			return
		}
		if a.count < 0 || math.IsNaN(a.count) {
			t.Errorf("%+v", a)
		}
		_ = a.since(totals{})
		_ = longer(0.5, a.buckets)
	})
}

func TestQuantiles(t *testing.T) {
	before := totals{count: 10, buckets: []bucket{{0.1, 10}, {1, 10}, {math.Inf(1), 10}}}
	now := totals{count: 110, errors: 5, buckets: []bucket{{0.1, 60}, {1, 110}, {math.Inf(1), 110}}}
	r := now.since(before)
	if r.Count != 100 || r.Errors != 5 || r.P50 == nil || *r.P50 != 0.1 || r.P99 == nil || math.Abs(*r.P99-0.982) > 1e-9 {
		t.Errorf("%+v, p50 %v, p99 %v", r, *r.P50, *r.P99)
	}
	if n := longer(0.1, now.between(before)); n != 50 {
		t.Errorf("%v took longer than 100 ms", n)
	}
	if n := longer(0.55, now.between(before)); math.Abs(n-25) > 1e-9 {
		t.Errorf("%v took longer than 550 ms", n)
	}
	// Of requests above the last bound no percentile is known.
	now.buckets[1].count = 60
	if r := now.since(before); r.P99 != nil {
		t.Errorf("p99 %v", *r.P99)
	}
	// A histogram that began anew, or has other bounds, tells nothing.
	if r := before.since(now); r.P50 != nil {
		t.Errorf("p50 %v", *r.P50)
	}
	if r := now.since(totals{buckets: []bucket{{2, 0}, {3, 0}, {4, 0}}}); r.P50 != nil {
		t.Errorf("p50 %v", *r.P50)
	}
}

func TestParseMetric(t *testing.T) {
	for _, tt := range []struct {
		text     string
		counted  bool
		endpoint string
		figure   string
		err      string
	}{
		{"", false, "", "", ""},
		{"cpu/GiB", false, "", "cpu/GiB", ""},
		{"http://127.0.0.1:9/metrics#http_seconds", false, "http://127.0.0.1:9/metrics#http_seconds", "", ""},
		{"http://127.0.0.1:9/metrics?a=b#http_seconds_count", false, "http://127.0.0.1:9/metrics?a=b#http_seconds", "", ""},
		{"p99=http://127.0.0.1:9/m#x", false, "http://127.0.0.1:9/m#x", "p99", ""},
		{"p99", true, "", "p99", ""},
		{"p99", false, "", "", "p99: want cpu/GiB, URL#NAME"},
		{"wall", false, "", "", "wall: want cpu/GiB"},
		{"http://#x", false, "", "", "http://: not a URL"},
		{"http://a/#", false, "", "", ": not the name of a metric"},
	} {
		o := Options{}
		if tt.counted {
			o.Load = new(load.Options)
		}
		spec, err := o.ParseMetric(tt.text)
		endpoint, figure := "", ""
		if o.Endpoint != nil {
			endpoint = o.Endpoint.String()
		}
		if spec != nil {
			figure = spec.Name
		}
		if tt.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), "--metric "+tt.err) {
				t.Errorf("%q: error %v", tt.text, err)
			}
			continue
		}
		if err != nil || endpoint != tt.endpoint || figure != tt.figure {
			t.Errorf("%q: %q, %q, %v", tt.text, endpoint, figure, err)
		}
	}
}

// What bounds memory decides which settings are tried, and each that is not has a reason.
func TestSettings(t *testing.T) {
	const mib = 1 << 20
	plain := space{percent: 100, live: 100 * mib, peak: 250 * mib, cycle: time.Second, block: 10 * time.Second, budget: 15 * time.Minute}
	for _, tt := range []struct {
		name   string
		change func(*space)
		only   string
		not    map[string]string
	}{
		{"no limit", func(*space) {}, "GOGC=200, GOGC=400, GOGC=800", map[string]string{"GOGC=off with GOMEMLIMIT": "no memory limit is known"}},
		{"a full machine", func(s *space) { s.room, s.why = 600*mib, "90% of the machine" }, "GOGC=200, GOGC=400",
			map[string]string{"GOGC=800": "would take about 950.0MiB, more than 90% of the machine"}},
		{"a container", func(s *space) { s.fit, s.room, s.why = &memlimit.Fit{Most: 400 * mib}, 460*mib, "90% of its limit" },
			"GOGC=200 GOMEMLIMIT=400MiB, GOGC=off GOMEMLIMIT=400MiB", map[string]string{"GOGC=400 GOMEMLIMIT=400MiB": "would take about 550.0MiB"}},
		{"a limit of its own", func(s *space) { s.limit, s.room = 400*mib, 460*mib }, "GOGC=200, GOGC=off", nil},
		{"a limit that leaves nothing", func(s *space) { s.limit = 150 * mib }, "GOGC=200, GOGC=400, GOGC=800",
			map[string]string{"GOGC=off": "GOMEMLIMIT 150MiB leaves less than GOGC=100 does"}},
		{"GOGC=400", func(s *space) { s.percent = 400 }, "GOGC=800", map[string]string{"GOGC=200": "GOGC is 400 already", "GOGC=400": "GOGC is 400 already"}},
		{"rare cycles", func(s *space) { s.cycle = 12 * time.Second }, "GOGC=200", map[string]string{"GOGC=400": "its GC cycles would be about 50s apart: give --budget 20m or more"}},
		{"very rare cycles", func(s *space) { s.cycle = 40 * time.Second }, "", map[string]string{"GOGC=400": "its GC cycles would be about 3m apart: too far for blocks to be compared within an hour, and so few cycles leave little to gain"}},
	} {
		sp := plain
		tt.change(&sp)
		only, not := sp.settings()
		var names []string
		for _, s := range only {
			names = append(names, s.String())
		}
		if got := strings.Join(names, ", "); got != tt.only {
			t.Errorf("%s: %s; want %s", tt.name, got, tt.only)
		}
		for setting, reason := range tt.not {
			if !slices.ContainsFunc(not, func(n Not) bool { return n.Setting == setting && strings.HasPrefix(n.Reason, reason) }) {
				t.Errorf("%s: %s is not left out for %q: %+v", tt.name, setting, reason, not)
			}
		}
	}
}

// A process whose GC takes next to nothing is told so, as soon as it is known, and no other.
func TestHopeless(t *testing.T) {
	for _, tt := range []struct {
		share       Share
		known, hope bool
	}{
		{Share{Windows: 6, Cycles: 10, GC: 0.002, Hi: 0.004}, true, false},
		{Share{Windows: 6, Cycles: 1, GC: 0.006, Hi: 0.006}, false, true}, // the next cycle may be about to come
		{Share{Windows: 6, Cycles: 0}, false, false},
		{Share{Windows: 6, Cycles: 10, GC: 0.002, Hi: 0.02}, false, true},
		{Share{Windows: 6, Cycles: 10, GC: 0.2, Hi: 0.3}, true, true},
		{Share{Windows: 6, Cycles: 2, GC: 0.2, Hi: 0.3}, false, true},
	} {
		if known, hope := tt.share.known(), tt.share.hopeless() == ""; known != tt.known || hope != tt.hope {
			t.Errorf("%+v: known %v, hope %v", tt.share, known, hope)
		}
	}
	s := Share{Windows: 6, Seconds: 30, Cycles: 9, GC: 0.0027, Lo: 0.001, Hi: 0.003}
	if got := s.hopeless(); got != "the GC takes at most 0.3% of CPU time (0.1% to 0.3% in 6 windows of 5.000s), and no setting can save more" {
		t.Error(got)
	}
}

// However long a search is, its timeline is bounded, has its largest memory, and its counters end
// where they ended.
func TestTimeline(t *testing.T) {
	var line Timeline
	largest := uint64(0)
	const n = 7*mostPoints + 13
	for i := range n {
		g := &goruntime.GC{TotalAlloc: 1000 + uint64(i), Live: 5, Allocated: uint64(i % 17)}
		r := reading{rss: uint64(i * 7919 % 10007), cpu: time.Duration(i+3) * time.Second, gc: g}
		if i%5 == 1 {
			r.requests = &totals{count: float64(100 + i)}
		}
		largest = max(largest, r.rss)
		line.add(time.Duration(i)*time.Second, r)
	}
	last := len(line.Seconds) - 1
	if !line.Valid() || last >= mostPoints || line.Stride != 8 || slices.Max(line.RSS) != largest || slices.Max(line.Heap) != 16 {
		t.Errorf("%d points, stride %d, largest %d (want %d)", last+1, line.Stride, slices.Max(line.RSS), largest)
	}
	if line.Allocated[last] != n-1 || line.CPU[last] != n-1 || line.Seconds[last] != n-1 || line.Requests[last] != float64(7011-1) {
		t.Errorf("it ends with %d, %v, %v, %v", line.Allocated[last], line.CPU[last], line.Seconds[last], line.Requests[last])
	}
	line.CPU = line.CPU[1:]
	if line.Valid() {
		t.Error("lists of different lengths are valid")
	}
}

// Errors and latencies break a guardrail if they surely do, and by enough requests.
func TestOverRequests(t *testing.T) {
	percent, err := tune.ParseMaxErrors("1%")
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{opts: Options{MaxErrors: percent, MaxP99: 100 * time.Millisecond}}
	at := func(n, failed, slow float64) totals {
		return totals{count: n, errors: failed, buckets: []bucket{{0.1, n - slow}, {1, n}, {math.Inf(1), n}}}
	}
	for _, tt := range []struct {
		now  totals
		want string
	}{
		{at(99, 99, 0), ""},
		{at(1000, 5, 0), ""},
		{at(1000, 11, 0), ""}, // it may be chance
		{at(1000, 50, 0), "50 of 1000 requests failed, more than --max-errors 1%"},
		{at(1000, 0, 12), ""},
		{at(1000, 0, 50), "p99 820.0ms, more than --max-p99 100ms"},
	} {
		if got := p.overRequests(totals{buckets: []bucket{{0.1, 0}, {1, 0}, {math.Inf(1), 0}}}, tt.now); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.now, got, tt.want)
		}
	}
}
