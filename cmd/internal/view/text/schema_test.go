package text

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
	"github.com/foliomem/folio/cmd/internal/view/gobench"
)

// testFile has an arm with everything and one with next to nothing.
func testFile() *result.File {
	set := trial.Setting{GOGC: "400", MemLimit: 512 << 20, GOMAXPROCS: 2, THP: trial.THPOff, Env: []string{"A=b c"}}
	var samples []*trial.Sample
	for i := range 6 {
		samples = append(samples, goSample(i+1))
	}
	samples = append(samples, failedSample(7))
	return &result.File{
		Header: result.Header{Schema: result.Schema, Kind: "tune", Folio: "v1.0.0",
			Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}, Complete: true,
		Host: testHost(), Program: result.Program{Command: []string{"./my prog-2", "x"}, GoVersion: new("go1.26.0"),
			Module: new("example.com/prog")},
		Seed: new(uint64(7)), Rounds: 6, ElapsedSeconds: 12.5, Metric: result.NewTarget(opsPerSecond(), nil),
		RaceRounds: 2, Ended: "the time budget is spent",
		Answer: &tune.Answer{State: tune.Inconclusive, UpTo: 0.05, Rounds: 6, Missing: 61, Try: "--budget 7m"},
		Arms: []result.Arm{
			{Name: set.String(), Setting: result.NewSetting(set), Status: "final", Samples: samples, Summary: result.Summarize(samples)},
			{Name: "default", Setting: result.NewSetting(trial.Setting{}), Status: "failed", Reason: "exit code 1",
				Samples: []*trial.Sample{plainSample()}, Summary: result.Summarize([]*trial.Sample{plainSample()})},
		},
		Recommendations: []result.Recommendation{
			{Goal: "fastest", Arm: set.String(), Setting: result.NewSetting(set),
				ShellLine: set.Line([]string{"./my prog-2", "x"}),
				Ratio:     &tune.Estimate{N: 10, Ratio: 1.5, Lo: new(1.4), Hi: new(1.6), P: 0.002, Different: true}},
		},
		Notes: []string{"a note"},
	}
}

func TestJSON(t *testing.T) {
	data, err := testFile().JSON()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "file.json", data)

	// Lists are never null, and nothing that JSON cannot hold gets in.
	data, err = (&result.File{Arms: []result.Arm{{}}}).JSON()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "empty.json", data)
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if result.Finite(v) != nil {
			t.Errorf("%v is not a number of JSON", v)
		}
	}
}

// Every figure has its key in samples and in summaries, null when unknown; those of a load
// are in samples that have one.
func TestJSONFigures(t *testing.T) {
	data, err := testFile().JSON()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Arms []struct {
			Samples []map[string]any
			Summary map[string]any
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	ofLoad := map[string]bool{"p50_seconds": true, "p99_seconds": true, "p999_seconds": true, "cpu_per_request_seconds": true}
	for i, arm := range doc.Arms {
		for _, f := range trial.Figures {
			in, ok := arm.Samples[0][f.Key]
			if _, loaded := arm.Samples[0]["load"]; !ok && !ofLoad[f.Key] || ok && ofLoad[f.Key] && !loaded {
				t.Errorf("arm %d: samples have no %s", i, f.Key)
			}
			sum, ok := arm.Summary[f.Key]
			if !ok || (sum == nil) != (in == nil) {
				t.Errorf("arm %d: %s is %v in the sample, %v in the summary", i, f.Key, in, sum)
			}
		}
	}
}

func TestSummarize(t *testing.T) {
	s := result.Summarize(nil)
	if len(s.Figures) != 0 || len(s.Metrics) != 0 || s.Collector != nil {
		t.Errorf("of nothing: %+v", s)
	}
	s = result.Summarize([]*trial.Sample{goSample(1), failedSample(500), goSample(3)})
	wall := s.Figures["wall_seconds"]
	if wall.N != 2 || wall.Lo != nil || wall.Hi != nil || wall.Median < 5.126 || wall.Median > 5.128 {
		t.Errorf("wall: %+v", wall)
	}
	if m := s.Metrics["op/s"]; m.N != 2 || m.Median != 1250 {
		t.Errorf("metric: %+v", m)
	}
	if len(s.Collector) == 0 || !strings.Contains(s.Collector[0], "mean heap 64.00MiB") {
		t.Errorf("collector: %q", s.Collector)
	}
	// A file has its sentences when it is read again.
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var again result.Summary
	if err := json.Unmarshal(data, &again); err != nil || !slices.Equal(again.Collector, s.Collector) {
		t.Errorf("read again: %q, %v", again.Collector, err)
	}
	if s := result.Summarize([]*trial.Sample{failedSample(1)}); len(s.Collector) == 0 {
		t.Error("a failed run has no sentences, and its sheet has")
	}
}

func TestNewTarget(t *testing.T) {
	if result.NewTarget(nil, nil) != nil {
		t.Error("no metric is not a target")
	}
	keys := []string{"Insert-2 ns/op"}
	if got := result.NewTarget(&metric.Spec{Name: metric.Bench}, keys); len(got.Benchmarks) != 1 || got.Higher || got.Pattern != "" {
		t.Errorf("benchmarks: %+v", got)
	}
	if got := result.NewTarget(&metric.Spec{Name: metric.Wall}, keys); got.Benchmarks != nil {
		t.Errorf("wall: %+v", got)
	}
	if got := result.NewTarget(opsPerSecond(), nil); !got.Higher || got.Pattern != `([0-9.]+) op/s` {
		t.Errorf("own: %+v", got)
	}
}

// readBench parses the format as benchstat does.
func readBench(t *testing.T, data []byte) []*benchfmt.Result {
	t.Helper()
	r := benchfmt.NewReader(bytes.NewReader(data), "test")
	var out []*benchfmt.Result
	for r.Scan() {
		res, ok := r.Result().(*benchfmt.Result)
		if !ok {
			t.Fatalf("%v", r.Result())
		}
		out = append(out, res.Clone())
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBench(t *testing.T) {
	f := testFile()
	data, err := gobench.Text(gobench.Run(f))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "bench.txt", data)
	results := readBench(t, data)
	// Per sample the program itself and its two benchmarks; failed ones are left out.
	if want := 6*3 + 1; len(results) != want {
		t.Fatalf("%d results, want %d", len(results), want)
	}
	first := results[0]
	if first.Name.String() != "My_prog_2" {
		t.Errorf("name %s", first.Name)
	}
	for _, fig := range trial.Figures {
		want, known := fig.Get(f.Arms[0].Samples[0])
		got, ok := first.Value(fig.Unit)
		if ok != known || got != want {
			t.Errorf("%s: %v %v, want %v %v", fig.Unit, got, ok, want, known)
		}
	}
	if v, ok := first.Value("op/s"); !ok || v != 1250 {
		t.Errorf("own metric: %v %v", v, ok)
	}
	if v, ok := results[1].Value("sec/op"); results[1].Name.String() != "Insert-2" || !ok || math.Abs(v-800e-9) > 1e-18 {
		t.Errorf("benchmark %s: %v %v", results[1].Name, v, ok)
	}
	for key, want := range map[string]string{
		"goos": "linux", "goarch": "amd64", "kernel": "6.18.0", "cpu": "Test CPU @ 3 GHz", "thp-enabled": "madvise", "thp-defrag": "madvise",
		"go": "go1.26.0", "gogc": "400", "gomemlimit": "512MiB", "gomaxprocs": "2", "thp": "off",
	} {
		if got := first.GetConfig(key); got != want {
			t.Errorf("key %s is %q, want %q", key, got, want)
		}
	}
	last := results[len(results)-1]
	for _, key := range []string{"gogc", "gomemlimit", "gomaxprocs"} {
		if got := last.GetConfig(key); got != "default" {
			t.Errorf("key %s of the default is %q", key, got)
		}
	}
	if _, ok := last.Value("gc-cycles/op"); ok {
		t.Error("what was not measured is in the file")
	}
}

// Units must be words, or benchstat reads something else.
func TestBenchUnits(t *testing.T) {
	seen := make(map[string]bool)
	for _, fig := range trial.Figures {
		if fig.Unit == "" || strings.ContainsAny(fig.Unit, " \t\n") || seen[fig.Unit] {
			t.Errorf("%s: unit %q", fig.Key, fig.Unit)
		}
		seen[fig.Unit] = true
	}
}

func TestBenchNames(t *testing.T) {
	for _, tt := range []struct{ command, want string }{
		{"./prog", "Prog"},
		{"/usr/bin/go", "Go"},
		{"json-server", "Json_server"},
		{"worker-8", "Worker_8"}, // -8 would mean GOMAXPROCS
		{"a b=c/d e", "D_e"},
		{"2048", "2048"},
		{"été", "Été"},
		{"", "Program"},
		{"x\ny", "X_y"},
	} {
		command := []string{tt.command}
		if tt.command == "" {
			command = nil
		}
		f := &result.File{Program: result.Program{Command: command},
			Arms: []result.Arm{{Setting: result.NewSetting(trial.Setting{}), Samples: []*trial.Sample{plainSample()}}}}
		data, err := gobench.Text(gobench.Run(f))
		if err != nil {
			t.Fatal(err)
		}
		if rs := readBench(t, data); len(rs) != 1 || rs[0].Name.String() != tt.want {
			t.Errorf("%q: read back as %v", tt.command, rs)
		}
	}
}
