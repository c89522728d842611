// Package resulttest has results for tests of what shows them.
package resulttest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/lab"
	"github.com/foliomem/folio/cmd/internal/process/gccount"
	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/cmd/internal/program/gctrace"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/result/analysis"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
)

var Created = time.Date(2026, 11, 21, 21, 4, 0, 0, time.UTC)

func Host() host.Info {
	return host.Info{
		OS: "linux", Arch: "amd64", Kernel: "6.18.0", CPU: "Test CPU", CPUs: 2, MemoryBytes: new(uint64(8 << 30)), PageBytes: 4096,
		HugePageBytes: new(uint64(2 << 20)), THPEnabled: new("madvise"), THPDefrag: new("madvise"), THPMaxPtesNone: new(511),
	}
}

// Sample is a run that took so long and so much memory.
func Sample(round int, wall float64, mem uint64) *trial.Sample {
	return &trial.Sample{
		Round: round, Sequence: round, Wall: wall, User: wall, Sys: wall / 10, CPU: wall * 1.1, PeakRSS: &mem, PeakTreeRSS: &mem,
		MinorFaults: int64(mem >> 12), GCCounted: trial.GCComplete, GCCycles: new(40), GCRuntimeCPU: new(wall / 5),
		Processes: 1, GCPause: new(0.01), GCPauseMax: new(0.001),
		HeapPeak: new(mem / 2), HugePeak: new(uint64(0)), ExitCode: new(0),
		GC: new(gccount.OfTrace(gctrace.Summary{Cycles: 40, CPU: time.Duration(wall * 2e8), AssistCPU: time.Duration(wall * 2e7),
			HeapSum: 20 * mem, LiveSum: 10 * mem})),
	}
}

func Sampled(s *trial.Sample) *trial.Sample {
	s.Profile = &profile.Result{
		Samples: 5000, Kernel: true,
		Classes: []profile.ClassShare{
			{Class: profile.GCMark, Seconds: s.CPU * 0.2, Fraction: 0.2}, {Class: profile.Allocation, Seconds: s.CPU * 0.15, Fraction: 0.15},
			{Class: profile.PageFaults, Seconds: s.CPU * 0.05, Fraction: 0.05}, {Class: profile.Program, Seconds: s.CPU * 0.6, Fraction: 0.6},
		},
		Sites: []profile.Site{{Func: "main.build", File: "/src/main.go", Line: 23, Seconds: 0.3, Fraction: 0.15,
			Classes: map[profile.Class]float64{profile.Allocation: 1}}},
	}
	s.Recompute()
	return s
}

// Tune is a search over settings of GOGC, each of so many rounds: more GOGC
// is faster and takes more memory, up to 400. The command is the caller's.
func Tune(rounds int, command ...string) *result.File {
	f := &result.File{
		Header: result.Header{Schema: result.Schema, Kind: "tune", Folio: "v0.0.0", Created: Created}, Complete: true, Host: Host(),
		Program: result.Program{Command: command, GoVersion: new("go1.26.0")}, Seed: new(uint64(1)), Rounds: rounds, ElapsedSeconds: 60,
		Metric: &result.Target{Name: metric.Wall}, Notes: []string{"a note"}, Ended: "conclusive", Answer: &tune.Answer{State: tune.Conclusive},
	}
	estimate := func(ratio float64) *tune.Estimate {
		return &tune.Estimate{N: rounds, Ratio: ratio, Lo: new(ratio * 0.98), Hi: new(ratio * 1.02), P: 0.002, Different: true}
	}
	for i, gogc := range []string{"", "50", "200", "400", "800"} {
		set := trial.Setting{GOGC: gogc}
		if i == 4 {
			set = trial.Setting{GOGC: trial.Off, MemLimit: 512 << 20}
		}
		a := result.Arm{Name: set.String(), Setting: result.NewSetting(set), Status: string(tune.Racing)}
		for r := range rounds {
			wall := []float64{2, 2.6, 1.5, 1.2, 1.25}[i] * (1 + float64(r%7)/200)
			a.Samples = append(a.Samples, Sample(r+1, wall, uint64([]int{100, 70, 150, 220, 512}[i])<<20+uint64(r%5)<<18))
		}
		if rounds > 0 {
			Sampled(a.Samples[0])
		}
		mem := float64([]int{100, 70, 150, 220, 512}[i] << 20)
		switch wall := []float64{2, 2.6, 1.5, 1.2, 1.25}[i]; {
		case i == 1:
			a.Status, a.Left = string(tune.Early), &tune.Left{Rounds: rounds, AtLeast: 1.25, SlowerThan: "default", About: wall}
		case rounds > 0:
			a.Status = string(tune.Finalist)
			a.Final = &tune.Final{Rank: []int{4, 0, 3, 1, 2}[i], N: rounds, Adjusted: wall, Memory: new(mem), Front: i != 4, Tied: i > 2, Undecided: i == 2}
			if i > 0 {
				a.Final.Ratio, a.Final.MemoryRatio = estimate(wall/2), estimate(mem/(100<<20))
			}
		}
		a.Summary, a.Measured, a.Profile = result.Summarize(a.Samples), f.Metric.Measured(a.Samples), trial.Profile(a.Samples)
		f.Arms = append(f.Arms, a)
	}
	if rounds > 0 {
		for i, k := range []float64{1, 2.2} {
			a := &f.Arms[[]int{0, 3}[i]]
			a.Samples[0].Series, a.Tree = Series(a.Samples[0].Wall, k), Tree(a.Profile.CPU())
		}
	}
	best, less := f.Arms[3], f.Arms[2]
	f.Recommendations = []result.Recommendation{
		{Goal: tune.Fastest, Arm: best.Name, Setting: best.Setting, ShellLine: best.Setting.Trial().Line(command),
			Ratio: estimate(0.6), Memory: estimate(2.2), Tied: []string{f.Arms[4].Name}, Least: true, Undecided: []string{less.Name},
			Saves: &result.Saving{Arm: less.Name, Ratio: &tune.Estimate{N: 8, Ratio: 1.04, Lo: new(0.99), Hi: new(1.09), P: 0.1}, Memory: estimate(0.68)}},
		{Goal: tune.Compromise, Arm: less.Name, Setting: less.Setting, ShellLine: less.Setting.Trial().Line(command),
			Ratio: estimate(0.75), Memory: estimate(1.5), Tied: []string{}},
	}
	return f
}

// Series is what a run of so many seconds was doing over time.
func Series(seconds, scale float64) *trial.Series {
	s := &trial.Series{Faults: &trial.Rates{BinSeconds: seconds / 10}}
	for i := range 50 {
		at := seconds * float64(i) / 50
		s.RSS.Seconds, s.RSS.Bytes = append(s.RSS.Seconds, at), append(s.RSS.Bytes, uint64(scale*float64(2+i))<<20)
		if i%5 != 0 {
			continue
		}
		g := &s.GC
		g.Seconds, g.Clock, g.Pause = append(g.Seconds, at), append(g.Clock, 0.01), append(g.Pause, 0.0001*float64(1+i%3))
		g.Start, g.End = append(g.Start, uint64(1+i)<<20), append(g.End, uint64(1+i)<<20)
		g.Live, g.Goal = append(g.Live, uint64(1+i/2)<<20), append(g.Goal, uint64(2+i)<<20)
		g.Assist, g.Background = append(g.Assist, new(0.001*float64(i%4))), append(g.Background, new(0.004))
		s.Faults.Counts = append(s.Faults.Counts, float64(100*i))
	}
	s.RSS.Stride, s.GC.Stride = 1, 1
	return s
}

// Tree is CPU time by call path, of so many seconds: the classes are those of sampled.
func Tree(cpu float64) *profile.Tree {
	t := &profile.Tree{Runs: 1, Unit: profile.UnitSeconds}
	node := func(name, file string, line, parent int, class profile.Class, seconds float64) int {
		t.Functions = append(t.Functions, profile.Function{Name: name, File: file})
		t.Parents, t.Calls, t.Lines = append(t.Parents, parent), append(t.Calls, len(t.Functions)-1), append(t.Lines, line)
		if seconds > 0 {
			t.Self.Nodes, t.Self.Classes = append(t.Self.Nodes, len(t.Parents)-1), append(t.Self.Classes, class)
			t.Self.Values = append(t.Self.Values, seconds)
		}
		return len(t.Parents) - 1
	}
	main := node("main.main", "/src/main.go", 12, -1, profile.Program, cpu*0.1)
	build := node("example.com/some/module.(*Tree[go.shape.int]).build", "/src/main.go", 23, main, profile.Program, cpu*0.5)
	again := node("example.com/some/module.(*Tree[go.shape.int]).build", "/src/main.go", 23, build, "", 0)
	alloc := node("runtime.mallocgc", "/go/src/runtime/malloc.go", 1100, again, profile.Allocation, cpu*0.15)
	node("runtime.gcAssistAlloc", "/go/src/runtime/mgcmark.go", 500, alloc, profile.PageFaults, cpu*0.05)
	worker := node("runtime.gcBgMarkWorker", "/go/src/runtime/mgc.go", 1400, -1, "", 0)
	node("runtime.scanobject", "/go/src/runtime/mgcmark.go", 1300, worker, profile.GCMark, cpu*0.2)
	// What each spent with all that it called, of which some is memory tax: the second build
	// is the first one's own call.
	for _, v := range [][2]float64{{0.8, 0.2}, {0.7, 0.2}, {0.7, 0.2}, {0.2, 0.2}, {0.05, 0.05}, {0.2, 0.2}, {0.2, 0.2}} {
		t.Totals = append(t.Totals, profile.Total{Value: cpu * v[0], Memory: cpu * v[1]})
	}
	return t
}

// Run is a run with its memory over time.
func Run(runs int) *result.File {
	f := &result.File{
		Header: result.Header{Schema: result.Schema, Kind: "run", Folio: "v0.0.0", Created: Created}, Complete: true, Host: Host(),
		Program: result.Program{Command: []string{"./prog", "-n", "5"}, GoVersion: new("go1.26.0")}, Rounds: runs,
	}
	a := result.Arm{Name: "default", Setting: result.NewSetting(trial.Setting{})}
	for i := range runs {
		a.Samples = append(a.Samples, Sampled(Sample(i+1, 2+float64(i)/100, 100<<20)))
	}
	a.Samples[0].Series, a.Tree = Series(2, 1), Tree(2)
	a.Samples[0].Waterfall = &trial.Waterfall{At: time.Second, OfPeak: 0.97, Process: &inspect.Process{PID: 77, Name: "prog", Waterfall: &waterfall.Waterfall{
		RSS: 97 << 20, Parts: []waterfall.Part{{Kind: waterfall.Live, Bytes: 90 << 20, How: waterfall.Computed}, {Kind: waterfall.Text, Bytes: 7 << 20, How: waterfall.Read}}}}}
	a.Waterfall = result.PeakWaterfall(a.Samples)
	f.Arms = []result.Arm{a}
	analysis.Run(f, nil)
	return f
}

// Lab has experiments of each kind of chart.
func Lab() *result.Lab {
	f := &result.Lab{Header: result.Header{Schema: result.Schema, Kind: "lab", Folio: "v0.0.0", Created: Created},
		Complete: true, Host: Host(), Seed: new(uint64(1))}
	interval := func(v float64) result.Interval {
		return result.Interval{N: 6, Median: v, Lo: new(v * 0.9), Hi: new(v * 1.2), Confidence: 0.95}
	}
	curve := func(name string, sizes []uint64, arms []string, figures ...result.LabFigure) {
		e := result.LabExperiment{Name: name, Question: "what of " + name + "?", Source: "somebody",
			Figure: figures[0].Key, Figures: figures, Complete: true,
			Parameters:  result.LabParameters{SizeBytes: sizes[len(sizes)-1], Rounds: 6},
			Conclusions: []string{"It costs " + name + ".", "  More of it."}}
		experiment, err := lab.Lookup(name)
		if err != nil {
			panic(err)
		}
		e.Charts = experiment.Drawn()
		for i, arm := range arms {
			a := result.LabArm{Name: arm, About: "about " + arm, Ran: true}
			a.Setting.Pages = arm
			if name == "gogc" {
				a.Work, a.Varies = "ecdsa", lab.VariesGOGC
				if value := strings.TrimPrefix(arm, "ecdsa-"); strings.HasPrefix(value, "goroutines-") {
					a.Varies, a.Goroutines = lab.VariesGoroutines, i+1
				} else {
					set := result.NewSetting(trial.Setting{GOGC: value})
					a.Setting.Runtime = &set
				}
			}
			for j, size := range sizes {
				p := result.LabPoint{SizeBytes: size, Figures: map[string]result.Interval{}}
				for k, fig := range figures {
					v := float64((i+1)*(j+1)*(k+1)) * 1e-8
					if fig.Key == "ops_per_second" || fig.Key == "faults" || fig.Key == "rss_bytes" ||
						fig.Key == "peak_rss_bytes" || fig.Key == "resident_bytes" {
						v *= 1e12
					}
					p.Figures[fig.Key] = interval(v)
				}
				a.Points = append(a.Points, p)
			}
			a.Samples = []*trial.Sample{Sample(1, 1, 1<<20)}
			e.Arms = append(e.Arms, a)
		}
		e.Arms = append(e.Arms, result.LabArm{Name: "not-here", NotRun: new("it needs --allow-system"),
			Samples: []*trial.Sample{}, Points: []result.LabPoint{}})
		f.Experiments = append(f.Experiments, e)
	}
	fig := func(keys ...string) (out []result.LabFigure) {
		for _, k := range keys {
			out = append(out, result.LabFigure{Key: k, Label: k})
		}
		return out
	}
	sizes := []uint64{1 << 20, 64 << 20, 4 << 30}
	curve("pages", sizes, []string{"base", "thp"}, fig("latency_seconds", "throughput_seconds", "huge_fraction")...)
	curve("faults", sizes, []string{"base", "thp"}, fig("page_seconds", "total_seconds", "faults")...)
	curve("madvise", sizes, []string{"base-free"}, fig("cycle_seconds", "other_seconds")...)
	curve("fork", sizes[:1], []string{"base", "thp"}, fig("p50_seconds", "p99_seconds", "fork_seconds")...)
	curve("bloat", sizes[:1], []string{"base"}, fig("resident_bytes", "release_seconds")...)
	curve("gogc", sizes[:1], []string{"ecdsa-goroutines-1", "ecdsa-goroutines-2", "ecdsa-100", "ecdsa-400",
		"ecdsa-off"}, fig("ops_per_second", "rss_bytes")...)
	curve("arenas-trees", sizes[:1], []string{"new", "folio"},
		fig("wall_seconds", "user_seconds", "system_seconds", "peak_rss_bytes", "faults")...)
	curve("assist", sizes[:1], []string{"stock", "gc-noassist"}, fig("p99_seconds", "p999_seconds", "p50_seconds",
		"heap_peak_bytes", "peak_rss_bytes", "cpu_seconds", "assist_seconds")...)
	return f
}

func Encode(t testing.TB, file any) []byte {
	t.Helper()
	data, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Read passes a file through JSON, as a page gets it.
func Read(t testing.TB, name string, file any) *result.Result {
	t.Helper()
	r, err := result.Read(name, Encode(t, file))
	if err != nil {
		t.Fatal(err)
	}
	return r
}
