package compare_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/result/diagnose"
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
	. "github.com/foliomem/folio/cmd/internal/view/compare"
	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/cmd/internal/view/gobench"
	"github.com/foliomem/folio/cmd/internal/view/text"
)

var update = flag.Bool("update", false, "write the golden files in testdata")

var created = time.Date(2026, 11, 21, 21, 4, 0, 0, time.UTC)

// ran is a run or tune of arms with so much wall time, ten runs each.
func ran(kind, command, kernel string, arms map[string]float64) *result.File {
	f := &result.File{Header: result.Header{Schema: result.Schema, Kind: kind, Created: created}, Complete: true,
		Host: host.Info{OS: "linux", Arch: "amd64", Kernel: kernel}, Program: result.Program{Command: strings.Fields(command)}}
	for _, gogc := range []string{"", "50", "400"} {
		wall, ok := arms[gogc]
		if !ok {
			continue
		}
		set := trial.Setting{GOGC: gogc}
		a := result.Arm{Name: set.String(), Setting: result.NewSetting(set)}
		for i := range 10 {
			mem := uint64(wall*100)<<20 + uint64(i)<<16
			s := &trial.Sample{Round: i + 1, Wall: wall + float64(i)/1000, CPU: wall, PeakRSS: &mem, PeakTreeRSS: &mem,
				MinorFaults: 1000, GCCounted: trial.GCComplete, GCCycles: new(3), GCRuntimeCPU: new(wall / 8),
				Profile: eighth(wall), GCPause: new(0.01), GCPauseMax: new(0.001)}
			s.Recompute()
			a.Samples = append(a.Samples, s)
		}
		f.Arms = append(f.Arms, a)
	}
	return f
}

func set(t *testing.T, name string, v any) *Set {
	t.Helper()
	data, ok := v.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Read(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bench is the output of go test -bench, with ns/op and op/s.
func bench(scale float64) []byte {
	var b bytes.Buffer
	b.WriteString("goos: linux\ngoarch: amd64\npkg: example.com/x\nUnit op/s better=higher\n")
	for i := range 6 {
		fmt.Fprintf(&b, "BenchmarkInsert-2 \t 1000\t %.1f ns/op\t %.1f op/s\t 48 B/op\t 2 allocs/op\n",
			1000*scale+float64(i), 5000/scale+float64(i))
		fmt.Fprintf(&b, "BenchmarkARatherLongNameOfABenchmarkThatGoesOn/size=1048576-2 \t 1000\t %.1f ns/op\n", 2000+float64(i%3))
	}
	return b.Bytes()
}

// charged is a charge whose tmpfs is gone and whose heap has grown.
func charged() *result.Charge {
	f := resulttest.Charge("app")
	f.Parts = slices.DeleteFunc(f.Parts, func(p result.ChargePart) bool { return p.Kind == "shared_unmapped" })
	f.Part("go_live").Bytes += 60 << 20
	f.Charged -= 180 << 20
	f.Apart = f.Apart[:1]
	return f
}

// eighth is a run of which an eighth is GC.
func eighth(cpu float64) *profile.Result {
	return &profile.Result{Samples: 100, Classes: []profile.ClassShare{{Class: profile.GCMark, Seconds: cpu / 8},
		{Class: profile.Program, Seconds: cpu * 7 / 8}}}
}

func TestGolden(t *testing.T) {
	snapshot := func(resident, huge uint64) *result.Inspect {
		return &result.Inspect{Header: result.Header{Schema: result.InspectSchema, Kind: "process"}, Process: &result.Process{
			ProcessID: result.ProcessID{PID: 7, Name: "server"}, Resident: &resident,
			Windows: &result.Windows{HugeSize: huge, Gain: resident - huge, Coverage: float64(huge) / float64(resident)},
		}}
	}
	finding := func(rules ...string) *result.Doctor {
		f := &result.Doctor{Header: result.Header{Schema: result.DoctorSchema, Kind: "doctor"}}
		for _, r := range rules {
			f.Findings = append(f.Findings, diagnose.Finding{Rule: r, What: "what of " + r})
		}
		return f
	}
	for _, c := range []struct {
		name     string
		old, new any
		opts     *Options
	}{
		{"run", ran("run", "./prog", "6.1", map[string]float64{"": 2}), ran("run", "./prog", "6.18", map[string]float64{"400": 1.5}), nil},
		{"builds", ran("run", "./old", "6.1", map[string]float64{"": 2}),
			ran("run", "./new", "6.1", map[string]float64{"": 2}), &Options{All: true}},
		{"tune", ran("tune", "./prog", "6.1", map[string]float64{"": 2, "50": 3}),
			ran("tune", "./prog", "6.1", map[string]float64{"": 2.1, "50": 3, "400": 1}), nil},
		{"bench", bench(1), bench(0.8), nil},
		{"inspect", snapshot(100<<20, 0), snapshot(101<<20, 64<<20), nil},
		{"doctor", finding("a", "b"), finding("b", "c"), nil},
		{"healthy", finding(), finding(), nil},
		{"charge", resulttest.Charge("app"), charged(), nil},
	} {
		got, err := Compare(set(t, "old", c.old), set(t, "new", c.new), c.opts)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var b bytes.Buffer
		if err := said(&b, got, 80); err != nil {
			t.Fatal(err)
		}
		for _, l := range strings.Split(b.String(), "\n") {
			if n := utf8.RuneCountInString(l); n > 100 {
				t.Errorf("%s: a line of %d columns: %s", c.name, n, l)
			}
		}
		path := filepath.Join("testdata", c.name+".txt")
		if *update {
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), want) {
			t.Errorf("%s differs (-update rewrites it); got:\n%s", path, b.String())
		}
	}
}

// A result and the benchmark file that was written of it are the same.
func TestBenchOfResult(t *testing.T) {
	f := ran("tune", "./prog", "6.1", map[string]float64{"": 2, "400": 3})
	text, err := gobench.Text(gobench.Run(f))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compare(set(t, "a.json", f), set(t, "a.txt", text), &Options{All: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.OnlyOld)+len(c.OnlyNew)+len(c.Differs)+len(c.OnlyNewSays) > 0 || len(c.Tables) < 5 {
		t.Errorf("they differ: %+v", c)
	}
	for _, table := range c.Tables {
		for _, r := range table.Rows {
			if math.Abs(r.Old.Median-r.New.Median) > 1e-12 || r.Test.Different {
				t.Errorf("%s of %s: %v and %v", table.Unit, r.Name, r.Old.Median, r.New.Median)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	a := set(t, "a", bench(1))
	lab := set(t, "b", []byte("BenchmarkOther 1 5 ns/op\nBenchmarkMore 1 5 ns/op\n"))
	if _, err := Compare(a, lab, nil); !errors.Is(err, ErrNothing) {
		t.Errorf("got %v", err)
	}
	for data, fault := range map[string]string{
		"":                                  "x: neither a result of folio nor Go benchmark results",
		"hello\n":                           "x: neither a result of folio nor Go benchmark results",
		"{":                                 "x: not a result of folio: it ends too early",
		`{"schema":"folio/1","kind":"run"}`: "x: no measurement in it counts",
	} {
		if _, err := Read("x", []byte(data)); err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("%q: %v, want %q", data, err, fault)
		}
	}
}

// changed returns a run after a change.
func changed(change func(*result.File)) *result.File {
	f := ran("run", "./churn -n 60", "6.1", map[string]float64{"": 2})
	f.Folio, f.Program.GoVersion, f.Program.Version, f.Program.BuildID = "v1.0.0", new("go1.26.0"), "v0.1.0", "abc"
	f.Host.Name, f.Host.CPU, f.Host.CPUs, f.Host.THPEnabled = "a", "A", 2, new("madvise")
	if change != nil {
		change(f)
	}
	return f
}

// What differs between two results stands above their figures, each thing by itself;
// and of results that were not interleaved nothing is said to be better or worse.
func TestDiffersFirst(t *testing.T) {
	for _, c := range []struct {
		what, want string
		change     func(*result.File)
	}{
		{"arguments", "-n 60 -> -n 300", func(f *result.File) { f.Program.Command[2] = "300" }},
		{"command", "./churn -> ./other", func(f *result.File) { f.Program.Command[0] = "./other" }},
		{"input", "none -> a.txt", func(f *result.File) { f.Program.Input = "a.txt" }},
		{"limits", "none -> 512MiB, 1 CPU", func(f *result.File) {
			f.Program.Limits = &result.Limits{Memory: new(uint64(512 << 20)), CPUs: new(1.0)}
		}},
		{"load", "none -> hey", func(f *result.File) { f.Program.Load = "hey" }},
		{"setting", "default -> GOGC=400", func(f *result.File) { f.Arms[0].Setting.GOGC = new("400") }},
		{"env", "none -> A=1", func(f *result.File) { f.Arms[0].Setting.Env = []string{"A=1"} }},
		{"go", "go1.26.0 -> go1.25.0", func(f *result.File) { f.Program.GoVersion = new("go1.25.0") }},
		{"version", "v0.1.0 -> v0.2.0", func(f *result.File) { f.Program.Version = "v0.2.0" }},
		{"build", "abc -> def", func(f *result.File) { f.Program.BuildID = "def" }},
		{"system", "linux/amd64 -> linux/arm64", func(f *result.File) { f.Host.Arch = "arm64" }},
		{"host", "a -> b", func(f *result.File) { f.Host.Name = "b" }},
		{"kernel", "6.1 -> 6.18", func(f *result.File) { f.Host.Kernel = "6.18" }},
		{"cpu", "A -> B", func(f *result.File) { f.Host.CPU = "B" }},
		{"CPUs", "2 -> 4", func(f *result.File) { f.Host.CPUs = 4 }},
		{"cgroup limit", "none -> 1.000GiB", func(f *result.File) { f.Host.CgroupLimitBytes = new(uint64(1 << 30)) }},
		{"THP", "madvise -> always", func(f *result.File) { f.Host.THPEnabled = new("always") }},
		{"folio", "v1.0.0 -> v2.0.0", func(f *result.File) { f.Folio = "v2.0.0" }},
		{"measured", "2026-11-21 21:04 UTC (earlier) -> 2026-11-21 21:14 UTC (10 minutes later)",
			func(f *result.File) { f.Created = created.Add(10 * time.Minute) }},
		{"measured", "2026-11-21 21:04 UTC (later) -> 2026-11-20 20:04 UTC (25 hours earlier)",
			func(f *result.File) { f.Created = created.Add(-25 * time.Hour) }},
	} {
		slow := func(f *result.File) {
			c.change(f)
			for _, s := range f.Arms[0].Samples {
				s.Wall *= 3
			}
		}
		got, err := Compare(set(t, "a.json", changed(nil)), set(t, "b.json", changed(slow)), nil)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := said(&b, got, 0); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(b.String()), " ")
		line := fmt.Sprintf(" What else differs what a.json b.json %s %s", c.what, strings.Replace(c.want, " -> ", " ", 1))
		// That they were measured one after the other is no news.
		if at := strings.Index(text, line); at < 0 || (at > strings.Index(text, ", time: from")) != (c.what == "measured") {
			t.Errorf("%q is not above the figures:\n%s", line, text)
		}
		if !strings.Contains(text, " 0.000 10, 10 ") {
			t.Errorf("%s: the test is missing:\n%s", c.what, text)
		}
		if strings.Contains(text, "better  ") || strings.Contains(text, "worse") {
			t.Errorf("%s: there is a verdict:\n%s", c.what, text)
		}
	}
	same, err := Compare(set(t, "a.json", changed(nil)), set(t, "b.json", changed(nil)), nil)
	if err != nil || len(same.Differs)+len(same.OnlyOldSays)+len(same.OnlyNewSays) > 0 {
		t.Errorf("what is the same differs: %+v, %v", same, err)
	}
}

// Of two redacted results nothing is called the same that neither states.
func TestRedactedSets(t *testing.T) {
	redact := func(change func(*result.File)) *Set {
		f := changed(change)
		f, err := result.Redacted(f)
		if err != nil {
			t.Fatal(err)
		}
		return set(t, "a.json", f)
	}
	c, err := Compare(redact(nil), redact(func(f *result.File) { f.Program.Command[2], f.Host.Name = "300", "b" }), nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := said(&b, c, 0); err != nil {
		t.Fatal(err)
	}
	if len(c.Differs) > 0 || !strings.Contains(b.String(), ": Left out of both (--redact), and so not compared: arguments, host.\n") {
		t.Errorf("differs %v:\n%s", c.Differs, b.String())
	}
	metric := func(pattern string) func(*result.File) {
		return func(f *result.File) { f.Metric = &result.Target{Name: "x", Pattern: pattern} }
	}
	if _, err := Compare(redact(metric("(a)")), set(t, "b.json", changed(metric("(a)"))), nil); err != nil {
		t.Errorf("a pattern that is left out is another one: %v", err)
	}
}

// Different kinds and metrics are refused in a line that names both files.
func TestRefused(t *testing.T) {
	metric := func(m *result.Target) func(*result.File) {
		return func(f *result.File) { f.Metric = m }
	}
	kind := func(kind string) func(*result.File) { return func(f *result.File) { f.Kind = kind } }
	for _, c := range []struct {
		a, b func(*result.File)
		want string
	}{
		{metric(&result.Target{Name: "wall"}), metric(&result.Target{Name: "cpu"}),
			"a.json has the metric wall and b.json the metric cpu: these do not compare; measure both with the same --metric"},
		{metric(&result.Target{Name: "x", Pattern: "(a)"}), metric(&result.Target{Name: "x", Pattern: "(b)"}),
			"the metric x=(a) and b.json the metric x=(b)"},
		{metric(&result.Target{Name: "x", Pattern: "(a)"}),
			metric(&result.Target{Name: "x", Pattern: "(a)", Higher: true}), "the metric x=(a) (higher is better)"},
		{kind("run"), kind("attach"), "a.json is a run and b.json is a window of a running process (--attach): these do not compare; measure both in the same way"},
		{kind("run"), kind("tune"), "a.json is a run and b.json is a search"},
		{metric(nil), metric(&result.Target{Name: "wall"}), ""},
		{kind("attach"), kind("attach"), ""},
	} {
		_, err := Compare(set(t, "a.json", changed(c.a)), set(t, "b.json", changed(c.b)), nil)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "\n")) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if _, err := Compare(set(t, "a.json", changed(nil)), set(t, "b.txt", bench(1)), nil); !errors.Is(err, ErrNothing) {
		t.Errorf("a run and benchmarks: %v", err)
	}
}

// The length of a window of a running process is not a figure; what was counted in it is
// compared by the second.
func TestWindows(t *testing.T) {
	window := func(seconds float64, faults int64) *result.File {
		return changed(func(f *result.File) {
			f.Kind = result.KindAttach
			f.Arms[0].Samples = f.Arms[0].Samples[:1]
			s := f.Arms[0].Samples[0]
			s.Wall, s.CPU, s.MinorFaults, s.GCCycles, s.GCPause, s.GCPauseMax, s.Profile = seconds, seconds/2, faults, nil, nil, nil, nil
			s.Recompute()
		})
	}
	c, err := Compare(set(t, "a.json", window(10, 1000)), set(t, "b.json", window(30, 6000)), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, table := range c.Tables {
		r := table.Rows[0]
		if !r.Once {
			t.Errorf("%s has a test", table.Unit)
		}
		got[table.Unit] = fmt.Sprintf("%g %g %s", r.Old.Median, r.New.Median, r.Delta())
	}
	if want := map[string]string{"cpu-sec/second": "0.5 0.5 same", "minor-faults/second": "100 200 +100%",
		"peak-tree-RSS-bytes": "2.097152e+08 2.097152e+08 same"}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The row that stands for a comparison is of the metric, not of wall time.
func TestHeadline(t *testing.T) {
	for _, c := range []struct {
		metric     *result.Target
		unit, name string
	}{
		{nil, "sec/op", "Churn"}, {&result.Target{Name: "wall"}, "sec/op", "Churn"}, {&result.Target{Name: "cpu"}, "cpu-sec/op", "Churn"},
		{&result.Target{Name: "x", Pattern: "(a)"}, "x", "Churn"},
		{&result.Target{Name: "ns/op", Benchmarks: []string{"Insert-2 ns/op"}}, "sec/op", "Insert-2"},
	} {
		f := changed(func(f *result.File) {
			f.Metric = c.metric
			for _, s := range f.Arms[0].Samples {
				s.Metrics = map[string]float64{"x": 1, "Insert-2 ns/op": 5}
			}
		})
		got, err := Compare(set(t, "a", f), set(t, "b", f), nil)
		if err != nil {
			t.Fatal(err)
		}
		if table, row, ok := got.Headline(); !ok || table.Unit != c.unit || row.Name != c.name {
			t.Errorf("%v: %s of %s, want %s of %s", c.metric, table.Unit, row.Name, c.unit, c.name)
		}
	}
}

// What goes to a file or a pipe is never shortened.
func TestWholeNames(t *testing.T) {
	c, err := Compare(set(t, "a", bench(1)), set(t, "b", bench(2)), nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := said(&b, c, 0); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\n  ARatherLongNameOfABenchmarkThatGoesOn/size=1048576-2  ") || strings.Contains(b.String(), "...") {
		t.Errorf("a name is shortened:\n%s", b.String())
	}
}

// said prints a comparison.
func said(w io.Writer, c *Comparison, width int) error {
	return text.Render(w, document.NewComparison(c), text.Options{Full: true, Width: width})
}

func FuzzRead(f *testing.F) {
	f.Add(bench(1))
	f.Add([]byte(`{"schema":"folio/1","kind":"run","arms":[{"samples":[{"wall_seconds":1}]}]}`))
	f.Add([]byte(`{"schema":"folio-doctor/1","findings":[{"rule":"a"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Read("x", data)
		if err != nil {
			return
		}
		c, err := Compare(s, s, &Options{All: true})
		if err != nil {
			t.Fatalf("a result does not compare with itself: %v", err)
		}
		for _, table := range c.Tables {
			for _, r := range table.Rows {
				if !r.Once && r.Test.Different {
					t.Fatalf("%s differs from itself", r.Name)
				}
			}
		}
		if len(c.Differs) > 0 {
			t.Fatalf("it differs from itself in %v", c.Differs)
		}
		if err := said(io.Discard, c, 80); err != nil {
			t.Fatal(err)
		}
	})
}

// A pooled figure is the one that the report of each result shows, and the difference is
// that of the figures shown.
func TestPooledAsReported(t *testing.T) {
	unequal := func(gc float64) *result.File {
		f := ran("run", "./prog", "6.1", map[string]float64{"": 2})
		for i, s := range f.Arms[0].Samples {
			s.CPU = 1
			if i == 0 {
				s.CPU = 9
			}
			s.Profile = &profile.Result{Samples: 100, Classes: []profile.ClassShare{{Class: profile.GCMark, Seconds: gc * s.CPU * s.CPU / 9},
				{Class: profile.Program, Seconds: s.CPU - gc*s.CPU*s.CPU/9}}}
			s.Recompute()
		}
		return f
	}
	before, after := unequal(0.2), unequal(0.4)
	c, err := Compare(set(t, "old", before), set(t, "new", after), &Options{All: true})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, table := range c.Tables {
		for _, fig := range result.Figures {
			if fig.Unit != table.Unit || !fig.BySamples {
				continue
			}
			seen++
			a, b := result.Summarize(before.Arms[0].Samples), result.Summarize(after.Arms[0].Samples)
			was, _ := a.Center(fig.Key)
			is, _ := b.Center(fig.Key)
			if r := table.Rows[0]; r.Old.Median != was || r.New.Median != is || r.Test.Ratio != is/was || r.Old.HasInterval || r.Old.Warnings != nil {
				t.Errorf("%s: %+v and %+v, the reports say %v and %v", fig.Key, r.Old, r.New, was, is)
			}
		}
	}
	if seen != 3 {
		t.Errorf("%d figures by sampling", seen)
	}
}
