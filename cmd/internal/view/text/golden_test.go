package text

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/gccount"
	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/program/gctrace"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/result/diagnose"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
	"github.com/foliomem/folio/cmd/internal/view/document"
)

var update = flag.Bool("update", false, "write the golden files in testdata")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (-update rewrites it); got:\n%s", path, got)
	}
}

// show prints a result.
func show(w io.Writer, of result.Kind, o Options) error { return Render(w, document.Text(of), o) }

func testHost() host.Info {
	return host.Info{
		OS: "linux", Arch: "amd64", Kernel: "6.18.0", CPU: "Test CPU @ 3 GHz", CPUs: 2,
		MemoryBytes: new(uint64(8 << 30)), PageBytes: 4096, HugePageBytes: new(uint64(2 << 20)),
		THPEnabled: new("madvise"), THPDefrag: new("madvise"), THPMaxPtesNone: new(511),
	}
}

// goSample is the i-th of several runs of a Go program.
func goSample(i int) *trial.Sample {
	ms := float64(i) / 1000
	return &trial.Sample{
		Round: i, Sequence: i + 1,
		Wall: 5.125 + ms, User: 7.5 + ms, Sys: 0.5, CPU: 8 + ms,
		PeakRSS: new(uint64(200 << 20)), PeakTreeRSS: new(uint64(201 << 20)),
		MinorFaults: 76_886, MajorFaults: 0, Processes: 1,
		GCCounted: trial.GCComplete, GCCycles: new(120), GCRuntimeCPU: new(2.0), GCPause: new(0.012), GCPauseMax: new(0.0005),
		HeapPeak: new(uint64(96 << 20)), HugePeak: new(uint64(2 << 20)), ExitCode: new(0),
		GC: new(gccount.OfTrace(gctrace.Summary{
			Cycles: 120, CPU: 2 * time.Second, AssistCPU: 200 * time.Millisecond, PauseCPU: 20 * time.Millisecond,
			HeapSum: 120 * 64 << 20, LiveSum: 120 * 32 << 20,
		})),
		Metrics: map[string]float64{"op/s": 1250, "Insert-2 ns/op": 800, "Insert-2 B/op": 64, "Lookup-2 ns/op": 90.5},
	}
}

// plainSample is a short run of a program that is not Go.
func plainSample() *trial.Sample {
	return &trial.Sample{Round: 1, Sequence: 1, Wall: 0.002, User: 0.001, CPU: 0.001, MinorFaults: 90, ExitCode: new(0)}
}

func failedSample(i int) *trial.Sample {
	s := goSample(i)
	s.ExitCode, s.Failure = new(3), "exit code 3"
	return s
}

// readSample is a run whose memory was read near its peak.
func readSample(i int, near float64) *trial.Sample {
	s := goSample(i)
	s.PeakRSS = new(uint64(i) * 200 << 20)
	s.Waterfall = &trial.Waterfall{At: 2 * time.Second, OfPeak: near, Process: &inspect.Process{PID: 77, Name: "pr\x1bog", Waterfall: testWaterfall(),
		Notes: []string{"a note of the reading"}}}
	return s
}

func TestRunText(t *testing.T) {
	many := goSample(1)
	many.PeakTreeRSS, many.Processes = new(uint64(700<<20)), 5
	part := goSample(1)
	part.GCCounted = trial.GCPartial
	var noisy []*trial.Sample
	for i := range 7 {
		noisy = append(noisy, readSample(i+1, 0.998))
	}
	var six []*trial.Sample
	for i := range 6 {
		six = append(six, goSample(i+1))
	}
	for _, tt := range []struct {
		name    string
		samples []*trial.Sample
		metric  *metric.Spec
		server  bool
		notes   []string
	}{
		{name: "one", samples: six[:1]},
		{name: "three", samples: six[:3], notes: []string{"a note from before"}},
		{name: "six", samples: six, metric: opsPerSecond()},
		{name: "some-failed", samples: []*trial.Sample{goSample(1), failedSample(2), goSample(3)}},
		{name: "all-failed", samples: []*trial.Sample{failedSample(1)}},
		{name: "not-go", samples: []*trial.Sample{plainSample()}},
		{name: "processes", samples: []*trial.Sample{many}},
		{name: "server", samples: six[:1], server: true},
		{name: "no-load", samples: []*trial.Sample{{Round: 1, NoLoad: true, PeakRSS: new(uint64(8 << 20)), Failure: "the server did not answer"}}, server: true},
		{name: "part", samples: []*trial.Sample{part}},
		{name: "noise", samples: noisy},
		{name: "peak", samples: []*trial.Sample{readSample(1, 0.998), readSample(2, 0.71)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := runFile(tt.samples)
			f.Metric, f.Notes = result.NewTarget(tt.metric, nil), nil
			if tt.server {
				f.Program.Load = "./load"
			}
			analyze(f)
			if n := len(tt.samples); n > 6 {
				f.Analysis.Noise = &result.Noise{Rounds: n, Detectable: 0.19, Needed: 91}
			}
			document.SetNotes(f, tt.notes)
			var b bytes.Buffer
			if err := show(&b, f, Options{Full: true}); err != nil {
				t.Fatal(err)
			}
			// A saved result shows what the run showed.
			var again bytes.Buffer
			if err := show(&again, savedAgain(t, f), Options{Full: true}); err != nil || again.String() != b.String() {
				t.Errorf("read back, %v:\n%s", err, again.String())
			}
			golden(t, "run-"+tt.name+".txt", b.Bytes())
			briefGolden(t, f, tt.name)
		})
	}
}

func opsPerSecond() *metric.Spec {
	return &metric.Spec{Name: "op/s", Pattern: regexp.MustCompile(`([0-9.]+) op/s`), Higher: true}
}

// A fake program of whole numbers, so that its report is the same everywhere.
// It has 50 MiB live, allocates 4,000, and dies of GOGC=25 if fragile.
type fake struct {
	perCycle int // µs
	drift    int // µs: each trial takes so much longer than the one before
	fragile  bool
	bench    bool
	trials   int
	now      time.Time
}

func (f *fake) Run(_ context.Context, set trial.Setting, req trial.Request) (*trial.Sample, error) {
	heap := 100
	if n, err := strconv.Atoi(set.GOGC); err == nil {
		heap = 50 * (100 + n) / 100
	} else if set.GOGC == trial.Off {
		heap = 4050
	}
	if set.MemLimit > 0 {
		heap = min(heap, int(set.MemLimit>>20))
	}
	heap = max(min(heap, 4050), 55)
	cycles := 4000 / (heap - 50)
	f.trials++
	faults := heap * 256
	if set.THP == trial.THPHeap {
		faults /= 512
	}
	micros := 1_000_000 + cycles*f.perCycle + (f.trials*7919%11-5)*1000 + f.trials*f.drift
	if f.perCycle > 0 {
		micros += heap*20 + faults*5/16
	}
	wall := float64(micros) / 1e6
	f.now = f.now.Add(time.Duration(micros) * time.Microsecond)
	gc := float64(cycles*f.perCycle) / 1e6
	out := &trial.Sample{
		Wall: wall, User: wall, CPU: wall, PeakRSS: new(uint64(heap+10) << 20), PeakTreeRSS: new(uint64(heap+10) << 20),
		MinorFaults: int64(faults), GCCounted: trial.GCComplete, GCCycles: &cycles, GCRuntimeCPU: &gc,
		HeapPeak: new(uint64(heap) << 20), HugePeak: new(uint64(0)), ExitCode: new(0),
	}
	if f.bench {
		out.Metrics = map[string]float64{"Insert-2 ns/op": float64(micros), "Lookup-2 ns/op": 90}
	}
	if f.fragile && set.GOGC == "25" {
		out.ExitCode, out.Failure = new(1), "exit code 1"
	}
	return out, nil
}

func search(t *testing.T, f *fake, o tune.Options) (*tune.Result, error) {
	t.Helper()
	f.now = time.Unix(0, 0)
	o.SafeMemory, o.Budget, o.Seed, o.Now = 4<<30, time.Hour, 7, func() time.Time { return f.now }
	res, err := tune.Search(t.Context(), f, o)
	if res == nil {
		t.Fatal(err)
	}
	return res, err
}

// tuneFile is the result file of a search.
func tuneFile(res *tune.Result) *result.File {
	program := result.Program{Command: []string{"./prog", "a b"}}
	if res.Package != "" {
		program.Build = &result.Build{Package: res.Package}
	}
	f := &result.File{Header: result.Header{Kind: result.KindTune}, Host: testHost(), Complete: true, Program: program, Notes: res.Notes}
	f.SetTune(res)
	return f
}

// runFile is the result of a run, not analyzed yet.
func runFile(samples []*trial.Sample) *result.File {
	return &result.File{Header: result.Header{Schema: result.Schema, Kind: result.KindRun}, Host: testHost(), Complete: true,
		Program: result.Program{Command: []string{"./prog", "a b"}},
		Arms:    []result.Arm{{Name: "default", Setting: result.NewSetting(trial.Setting{}), Samples: samples}}}
}

// analyze does what package analysis does, which imports this one.
func analyze(f *result.File) {
	arm := &f.Arms[0]
	samples := result.Usable(arm.Samples)
	arm.Summary, arm.Waterfall = result.Summarize(samples), result.PeakWaterfall(samples)
	sheet := diagnose.NewRunFacts(f.Host, trial.Setting{}, f.Program.Command, samples)
	sheet.Server, sheet.Failed = f.Program.Load != "", trial.AllFailed(arm.Samples)
	f.Analysis = sheet.Analyze()
}

// savedAgain passes a result through JSON.
func savedAgain[T any](t *testing.T, f *T) *T {
	t.Helper()
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	out := new(T)
	if err := json.Unmarshal(data, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func tuneText(t *testing.T, res *tune.Result, all bool) []byte {
	t.Helper()
	f := tuneFile(res)
	document.SetNotes(f, nil)
	var b bytes.Buffer
	for _, width := range []int{60, 100, 0} {
		b.Reset()
		if err := show(&b, f, Options{Full: all, Width: width}); err != nil {
			t.Fatal(err)
		}
		// A saved result shows what the search showed.
		var again bytes.Buffer
		if err := show(&again, savedAgain(t, f), Options{Full: all, Width: width}); err != nil || again.String() != b.String() {
			t.Errorf("%d columns, read back, %v:\n%s\nnot\n%s", width, err, again.String(), b.String())
		}
	}
	return b.Bytes()
}

func TestTuneText(t *testing.T) {
	for _, tt := range []struct {
		name string
		fake fake
		opts tune.Options
		fail string
		all  bool
	}{
		{name: "gain", fake: fake{perCycle: 20_000, fragile: true}, opts: tune.Options{Limits: tune.Limits{RSS: 300 << 20}, Try: []trial.Setting{{GOMAXPROCS: 1}}}},
		{name: "all", fake: fake{perCycle: 20_000, fragile: true}, all: true},
		{name: "few-rounds", fake: fake{perCycle: 20_000}, opts: tune.Options{MaxRounds: 2, Metric: &metric.Spec{Name: metric.CPU}}},
		{name: "nothing", fake: fake{}, opts: tune.Options{MaxRounds: 4}},
		{name: "built", fake: fake{perCycle: 20_000}, opts: tune.Options{Heap: true, Package: "./cmd/prog"}},
		{name: "benchmarks", fake: fake{perCycle: 20_000, bench: true}},
		{name: "unfit", fake: fake{perCycle: 20_000}, opts: tune.Options{Limits: tune.Limits{RSS: 20 << 20}, MaxRounds: 6},
			fail: "every measured setting exceeds it in some run"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, err := search(t, &tt.fake, tt.opts)
			if tt.fail == "" && err != nil || tt.fail != "" && (err == nil || !strings.Contains(err.Error(), tt.fail)) {
				t.Fatalf("error %v, want %q", err, tt.fail)
			}
			text := tuneText(t, res, tt.all)
			golden(t, "tune-"+tt.name+".txt", text)
			numberedOnce(t, string(text))
			for _, r := range res.Answer.Recommended {
				line := tuneFile(res).Program.Line(r.Arm.Setting)
				if has := strings.Contains(string(text), "\n  "+line+"\n"); has != (r.Arm != res.Arms[0]) {
					t.Errorf("the line of %s is in the text: %v: %s", r.Goal, has, line)
				}
			}
		})
	}
}

// numberedOnce checks that notes count from 1 and that none comes twice.
func numberedOnce(t *testing.T, text string) {
	t.Helper()
	seen := make(map[string]bool)
	for _, l := range strings.Split(text, "\n") {
		rest, ok := strings.CutPrefix(l, "note ")
		if !ok {
			continue
		}
		n, note, _ := strings.Cut(rest, ": ")
		if n != fmt.Sprint(len(seen)+1) || seen[note] {
			t.Errorf("note %s, after %d others: %s", n, len(seen), note)
		}
		seen[note] = true
	}
}

// A search of which nothing counts has no answer, and says so.
func TestTuneTextNothingCounts(t *testing.T) {
	res, err := search(t, &fake{}, tune.Options{MaxRounds: 1, Metric: opsPerSecond()})
	if err != nil {
		t.Fatal(err)
	}
	text := tuneText(t, res, false)
	if !strings.Contains(string(text), "\n\nNothing was compared: ") {
		t.Errorf("text:\n%s", text)
	}
}

// What cannot be printed is an error, wherever it happens.
func TestTextErrors(t *testing.T) {
	res, err := search(t, &fake{perCycle: 20_000, bench: true}, tune.Options{Limits: tune.Limits{RSS: 300 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	samples := []*trial.Sample{goSample(1)}
	texts := map[string]func(w *limited) error{
		"tune": func(w *limited) error {
			return show(w, tuneFile(res), Options{Full: true})
		},
		"run": func(w *limited) error {
			f := runFile(samples)
			analyze(f)
			return show(w, f, Options{Full: true})
		},
	}
	for name, text := range texts {
		whole := &limited{left: 1 << 20}
		if err := text(whole); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for n := 0; n < 1<<20-whole.left; n += 29 {
			if err := text(&limited{left: n}); !errors.Is(err, errFull) {
				t.Fatalf("%s: error %v with room for %d bytes", name, err, n)
			}
		}
	}
}

var errFull = errors.New("full")

// limited takes so many bytes.
type limited struct{ left int }

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		n := l.left
		l.left = 0
		return n, errFull
	}
	l.left -= len(p)
	return len(p), nil
}
