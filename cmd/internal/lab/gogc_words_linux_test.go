package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/gccount"
	"github.com/foliomem/folio/cmd/internal/program/gctrace"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

func TestWidths(t *testing.T) {
	for _, tt := range []struct {
		cpus int
		few  bool
		want []int
	}{
		{1, false, []int{1, 2}}, {2, false, []int{1, 2, 3, 4}}, {1, true, []int{1, 2}}, {2, true, []int{1, 2, 4}},
		{6, false, []int{1, 2, 4, 6, 9, 12}}, {48, true, []int{1, 48, 96}}, {48, false, []int{1, 2, 4, 8, 16, 32, 48, 72, 96}},
	} {
		if got := widths(tt.cpus, tt.few); !slices.Equal(got, tt.want) {
			t.Errorf("%d processors: %v, want %v", tt.cpus, got, tt.want)
		}
	}
}

// Arms differ in what the runtime is told, and in nothing else that is theirs.
func TestGogcArms(t *testing.T) {
	m := machine(t.TempDir())
	arms := gogc.Arms(m, gogc.defaults)
	if want := len(gogcLoads) * (4 + 11 + 1); len(arms) != want {
		t.Errorf("%d arms, want %d", len(arms), want)
	}
	for _, a := range arms {
		if a.Setting == nil || a.Setting.MemLimit != gogc.defaults.Size || a.Group == "" || a.Task.Goroutines == 0 {
			t.Fatalf("%s: %+v", a.Name, a)
		}
		_, value, _ := strings.Cut(a.Name, "-")
		want := value
		switch {
		case strings.HasPrefix(value, "goroutines"):
			want = "100"
		case value == tuned:
			want = ""
		}
		if a.Setting.GOGC != want || (value == tuned) != (a.Task.How == strings.TrimSuffix(a.Name, "-gctune")+"/gctune") {
			t.Errorf("%s: GOGC %q, how %q", a.Name, a.Setting.GOGC, a.Task.How)
		}
		vars := setting(a).Environ([]string{"GOGC=77", "GOMEMLIMIT=1GiB"})
		if !slices.Contains(vars, "GOGC="+want) || slices.Contains(vars, "GOGC=77") {
			t.Errorf("%s runs under %q", a.Name, vars)
		}
	}
}

// rated has the arms of one workload do so many operations, with so much memory.
func rated(rates map[string][2]float64) func(Task) (*trial.Sample, error) {
	return func(t Task) (*trial.Sample, error) {
		s := good(t, 1)
		if t.Trace {
			// The trace counts workers that wait for a CPU: more than all CPU time.
			s.Wall, s.CPU = 1, 2
			s.GC = new(gccount.OfTrace(gctrace.Summary{Cycles: 100, CPU: 6 * time.Second, HeapSum: 400 << 20, LiveSum: 100 << 20}))
			s.Profile = &profile.Result{Samples: 900,
				Classes: []profile.ClassShare{{Class: profile.GCMark, Seconds: 0.2}, {Class: profile.Program, Seconds: 1.8}}}
			if t.Arm == "ecdsa-400" {
				s.GC, s.Profile = new(gccount.OfTrace(gctrace.Summary{})), &profile.Result{Samples: 900, Classes: []profile.ClassShare{{Class: profile.Program, Seconds: 2}}}
			}
			s.Recompute()
		}
		name, ok := strings.CutPrefix(t.Arm, "ecdsa-")
		v, known := rates[name]
		if !ok || !known {
			return s, nil
		}
		at := func(key string, v float64) {
			s.Metrics[fmt.Sprintf("Gogc/size=%d %s", t.Size, key)] = v
		}
		at(opsKey, v[0])
		at("goroutine_ops_per_second", v[0]/float64(t.Goroutines))
		at(rssKey, v[1]*(1<<20))
		if name == "100" || name == "50" {
			at("cycles_per_second", 100)
		}
		return s, nil
	}
}

func TestGogcMeaning(t *testing.T) {
	f := &fake{sample: rated(map[string][2]float64{
		"goroutines-1": {600, 10}, "goroutines-2": {1000, 10}, "goroutines-3": {1000, 10}, "goroutines-4": {900, 10},
		"50": {800, 9}, "100": {1000, 10}, "200": {1100, 20}, "400": {1200, 40}, "800": {1205, 80}, "1600": {1100, 90},
		"3200": {1100, 90}, "6400": {1100, 90}, "12800": {1100, 90}, "20000": {1100, 90}, "off": {1000, 500}, "gctune": {1190, 50},
	})}
	o := f.options(machine(t.TempDir()), gogc)
	o.Rounds = 8
	res, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	out := res.Outcomes[0]
	text := strings.Join(out.Conclusions(), "\n")
	for _, want := range []string{
		// 800 is faster by less than can be told, and takes twice the memory.
		"ECDSA P-256 signing: GOGC=400 is best: 1.20x the default's operations, with 40.00MiB instead of 10.00MiB; gctune, told nothing, reaches 1.19x the default with 50.00MiB (GOGC=1 in the end).",
		"of what one does alone: 2 of them at 83.3%, 3 of them at 55.6%, 4 of them at 37.5%.",
		"GOGC=50, the slowest: GC takes 10.0% of CPU time, by sampling; 100 GCs/s; mean heap 4.000MiB, 1.000MiB live.",
		"GOGC=400, the best: no GC cycle.",
		"By its GC share, GOGC=50 should do 90.0% of the best's work. It does 66.7%: ",
		"decoding JSON: no GOGC gains 2.0% over the default.",
		"Undecided by 8 runs per arm: json-gctune against json-100 (1.00x); ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "300") {
		t.Errorf("gctrace's CPU time is a share in\n%s", text)
	}
	traced := 0
	for _, a := range out.Arms {
		traced += len(a.Traced)
		if len(a.Samples) != 8 {
			t.Errorf("%s has %d samples: a trace must not count", a.Arm.Name, len(a.Samples))
		}
	}
	if traced != 2*fewestRuns || strings.Contains(strings.Join(f.order[len(f.order)-2:], " "), "json") {
		t.Errorf("%d runs were traced, the last %q", traced, f.order[len(f.order)-2:])
	}
}

// A larger heap that does less work is not a fault of the GC's account.
func TestGogcLargeHeapSlow(t *testing.T) {
	f := &fake{sample: rated(map[string][2]float64{"50": {1000, 9}, "100": {1000, 10}, "off": {500, 500}})}
	o := f.options(machine(t.TempDir()), gogc)
	o.Rounds = 8
	f.sample = func(inner func(Task) (*trial.Sample, error)) func(Task) (*trial.Sample, error) {
		return func(t Task) (*trial.Sample, error) {
			s, err := inner(t)
			for _, other := range []string{"200", "400", "800", "1600", "3200", "6400", "12800", "20000", "gctune"} {
				if t.Arm == "ecdsa-"+other {
					s.Metrics[fmt.Sprintf("Gogc/size=%d %s", t.Size, opsKey)] = 900
				}
			}
			return s, err
		}
	}(f.sample)
	res, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(res.Outcomes[0].Conclusions(), "\n")
	if !strings.Contains(text, "GOGC=off collects less and does less work: its larger heap costs page faults and caches more than it saves.") {
		t.Error(text)
	}
}

// A trace that fails takes nothing away.
func TestGogcTraceFails(t *testing.T) {
	inner := rated(map[string][2]float64{"50": {100, 9}})
	f := &fake{sample: func(t Task) (*trial.Sample, error) {
		if t.Trace {
			return bad(1, "out of luck"), nil
		}
		return inner(t)
	}}
	res, err := Run(context.Background(), f.options(machine(t.TempDir()), gogc))
	if err != nil || !res.Outcomes[0].Complete || res.Outcomes[0].Err != nil {
		t.Errorf("%v, %+v", err, res.Outcomes[0])
	}
	if text := strings.Join(res.Outcomes[0].Conclusions(), "\n"); strings.Contains(text, "the slowest") {
		t.Error(text)
	}
}
