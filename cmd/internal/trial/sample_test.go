package trial

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestUnknownFiguresAreNull(t *testing.T) {
	data, err := json.Marshal(&Sample{})
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"peak_rss_bytes", "peak_tree_rss_bytes", "gc_cycles", "gc_runtime_cpu_seconds", "gc_cpu_seconds", "gc_cpu_fraction", "gc_pause_seconds",
		"gc_pause_max_seconds", "heap_peak_bytes", "huge_peak_bytes", "exit_code", "metrics", "memory_tax_fraction", "profile",
		"cpu_periods", "throttled_periods", "throttled_seconds", "memory_stall_seconds", "memory_full_stall_seconds", "file_refaults",
		"anon_refaults", "cgroup_peak_bytes", "oom_kills",
	} {
		if v, ok := m[key]; !ok || v != nil {
			t.Errorf("%s is %v (present: %v), want null", key, v, ok)
		}
	}
	if _, ok := m["Tail"]; ok || strings.Contains(string(data), "tail") {
		t.Errorf("the output's tail is in the results: %s", data)
	}
}

// Of a server without load nothing that is of the time under load is known, and a file of
// it says the same.
func TestNoLoadIsNull(t *testing.T) {
	s := &Sample{NoLoad: true, PeakRSS: new(uint64(5)), MinorFaults: 3, Wall: 4}
	s.setGC(gcTotals{known: true})
	s.forgetLoad()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var again Sample
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	again.Recompute()
	for _, x := range []*Sample{s, &again} {
		for _, f := range Figures {
			if v, ok := f.Get(x); ok != (f.Key == "peak_rss_bytes") {
				t.Errorf("%s: %v, %t", f.Key, v, ok)
			}
		}
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"wall_seconds", "user_seconds", "sys_seconds", "cpu_seconds", "minor_faults", "major_faults", "gc_cycles"} {
		if v, ok := m[key]; !ok || v != nil {
			t.Errorf("%s is %v (present: %t), want null", key, v, ok)
		}
	}
}

// Every number of a sample is a column, under the key that JSON has for it.
func TestFiguresCoverTheSample(t *testing.T) {
	s := Sample{
		Wall: 1, User: 2, Sys: 3, CPU: 4, PeakRSS: new(uint64(5)), PeakTreeRSS: new(uint64(6)), MinorFaults: 7, MajorFaults: 8,
		GCCycles: new(9), GCPause: new(10.0), GCPauseMax: new(11.0), GCRuntimeCPU: new(12.0),
		GCSeconds: new(13.0), GCShare: new(14.0), MemoryTax: new(15.0), HeapPeak: new(uint64(16)), HugePeak: new(uint64(17)),
		Counts: &Counts{CPUPeriods: new(uint64(18)), ThrottledPeriods: new(uint64(19)), Throttled: new(20.0), MemoryStall: new(21.0),
			MemoryFullStall: new(22.0), FileRefaults: new(uint64(23)), AnonRefaults: new(uint64(24)), CgroupPeak: new(uint64(25)),
			OOMKills: new(uint64(26))},
		Latencies: &Latencies{P50: new(27.0), P99: new(28.0), P999: new(29.0), CPUPerRequest: new(30.0)},
	}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	units := make(map[string]bool)
	for i, f := range Figures {
		v, ok := f.Get(&s)
		if !ok || v != float64(i+1) || m[f.Key] != v {
			t.Errorf("%s is %v (%v); JSON has %v", f.Key, v, ok, m[f.Key])
		}
		if units[f.Unit] || f.Unit == "" || strings.Contains(f.Unit, " ") {
			t.Errorf("%s: bad unit %q", f.Key, f.Unit)
		}
		units[f.Unit] = true
		if got := FigureOf(f.Key); got.Key != f.Key {
			t.Errorf("FigureOf(%s) is %s", f.Key, got.Key)
		}
	}
	notFigures := []string{"round", "sequence", "exit_code", "metrics", "profile"}
	for key := range m {
		if !slices.Contains(notFigures, key) && !slices.ContainsFunc(Figures, func(f Figure) bool { return f.Key == key }) {
			t.Errorf("%s is in JSON, but is not a figure", key)
		}
	}
}

func TestFigureOfUnknownKey(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	FigureOf("no_such_figure")
}

func TestFigureValues(t *testing.T) {
	samples := []*Sample{
		{Wall: 1, GCCycles: new(10)}, {Wall: 2, Failure: "exit code 1", GCCycles: new(20)}, {Wall: 3}, {Wall: 4, GCCycles: new(0)},
	}
	if got := FigureOf("wall_seconds").Values(samples); !slices.Equal(got, []float64{1, 3, 4}) {
		t.Errorf("wall %v: a failed trial must not count", got)
	}
	if got := FigureOf("gc_cycles").Values(samples); !slices.Equal(got, []float64{10, 0}) {
		t.Errorf("cycles %v: unknown is not zero", got)
	}
}

func TestSampleMemory(t *testing.T) {
	for _, c := range []struct {
		s    Sample
		want float64
		ok   bool
	}{
		{Sample{}, 0, false},
		{Sample{PeakRSS: new(uint64(5))}, 5, true},
		{Sample{PeakRSS: new(uint64(5)), PeakTreeRSS: new(uint64(9))}, 9, true},
	} {
		if got, ok := c.s.Memory(); got != c.want || ok != c.ok {
			t.Errorf("%v, %v; want %v, %v", got, ok, c.want, c.ok)
		}
	}
}
