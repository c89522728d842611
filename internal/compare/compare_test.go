package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/foliomem/folio/internal/diagnose"
	"github.com/foliomem/folio/internal/host"
	"github.com/foliomem/folio/internal/report"
	"github.com/foliomem/folio/internal/trial"
	"github.com/foliomem/folio/internal/where"
)

var update = flag.Bool("update", false, "write the golden files in testdata")

func ptr[T any](v T) *T { return &v }

// result is a run or tune of arms with so much wall time, ten runs each.
func result(kind, command, kernel string, arms map[string]float64) *report.File {
	f := &report.File{Schema: report.Schema, Kind: kind, Complete: true, Host: host.Info{OS: "linux", Arch: "amd64", Kernel: kernel}, Program: report.Program{Command: []string{command}}}
	for _, gogc := range []string{"", "50", "400"} {
		wall, ok := arms[gogc]
		if !ok {
			continue
		}
		set := trial.Setting{GOGC: gogc}
		a := report.Arm{Name: set.String(), Setting: report.NewSetting(set)}
		for i := range 10 {
			mem := uint64(wall*100)<<20 + uint64(i)<<16
			s := &trial.Sample{Round: i + 1, Wall: wall + float64(i)/1000, CPU: wall, PeakRSS: &mem, PeakTreeRSS: &mem, MinorFaults: 1000, GCTrace: trial.TraceComplete, GCCycles: ptr(3), GCTraceCPU: ptr(wall / 8), Where: eighth(wall), GCPause: ptr(0.01), GCPauseMax: ptr(0.001)}
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
		fmt.Fprintf(&b, "BenchmarkInsert-2 \t 1000\t %.1f ns/op\t %.1f op/s\t 48 B/op\t 2 allocs/op\n", 1000*scale+float64(i), 5000/scale+float64(i))
		fmt.Fprintf(&b, "BenchmarkARatherLongNameOfABenchmarkThatGoesOn/size=1048576-2 \t 1000\t %.1f ns/op\n", 2000+float64(i%3))
	}
	return b.Bytes()
}

// eighth is a run of which an eighth is GC.
func eighth(cpu float64) *where.Result {
	return &where.Result{Samples: 100, Classes: []where.ClassShare{{Class: where.GCMark, Seconds: cpu / 8}, {Class: where.Program, Seconds: cpu * 7 / 8}}}
}

func TestGolden(t *testing.T) {
	snapshot := func(resident, huge uint64) *report.InspectFile {
		return &report.InspectFile{Schema: report.InspectSchema, Kind: "process", Process: &report.ProcessJSON{
			ProcessID: report.ProcessID{PID: 7, Name: "server"}, Resident: &resident, Windows: &report.WindowsJSON{HugeSize: huge, Gain: resident - huge, Coverage: float64(huge) / float64(resident)},
		}}
	}
	finding := func(rules ...string) *report.DoctorFile {
		f := &report.DoctorFile{Schema: report.DoctorSchema, Kind: "doctor"}
		for _, r := range rules {
			f.Findings = append(f.Findings, diagnose.Hazard{Rule: r, What: "what of " + r})
		}
		return f
	}
	for _, c := range []struct {
		name     string
		old, new any
		opts     *Options
	}{
		{"run", result("run", "./prog", "6.1", map[string]float64{"": 2}), result("run", "./prog", "6.18", map[string]float64{"400": 1.5}), nil},
		{"builds", result("run", "./old", "6.1", map[string]float64{"": 2}), result("run", "./new", "6.1", map[string]float64{"": 2}), &Options{All: true}},
		{"tune", result("tune", "./prog", "6.1", map[string]float64{"": 2, "50": 3}), result("tune", "./prog", "6.1", map[string]float64{"": 2.1, "50": 3, "400": 1}), nil},
		{"bench", bench(1), bench(0.8), nil},
		{"inspect", snapshot(100<<20, 0), snapshot(101<<20, 64<<20), nil},
		{"doctor", finding("a", "b"), finding("b", "c"), nil},
		{"healthy", finding(), finding(), nil},
	} {
		got, err := Compare(set(t, "old", c.old), set(t, "new", c.new), c.opts)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var b bytes.Buffer
		if err := got.Text(&b, 80); err != nil {
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
	f := result("tune", "./prog", "6.1", map[string]float64{"": 2, "400": 3})
	text, err := f.Bench()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compare(set(t, "a.json", f), set(t, "a.txt", text), &Options{All: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.OnlyOld)+len(c.OnlyNew)+len(c.Differs) > 0 || len(c.Tables) < 5 {
		t.Errorf("they differ: %+v", c)
	}
	for _, table := range c.Tables {
		for _, r := range table.Rows {
			if r.Old.Median != r.New.Median || r.Test.Different {
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
				if v := r.Verdict(table.Higher); v != "" {
					t.Fatalf("%s is %s than itself", r.Name, v)
				}
			}
		}
		if err := c.Text(&bytes.Buffer{}, 80); err != nil {
			t.Fatal(err)
		}
	})
}
