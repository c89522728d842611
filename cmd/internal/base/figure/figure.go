// Package figure is the table of Folio's figures: what each is called, in which unit it
// is, how it is printed, and which direction is better. Tables, pages, JSON, the Go
// benchmark format, comparisons and docs/results.md all use it.
package figure

import (
	"strings"

	"github.com/foliomem/folio/internal/base/unit"
)

// A Kind is what a figure is of; it decides the format. Its value names the format of a
// chart's axis.
type Kind string

// The kinds of figures.
const (
	Seconds Kind = "seconds"
	Bytes   Kind = "bytes"
	Share   Kind = "percent" // 1 is all
	Count   Kind = "count"
	Rate    Kind = "rate"   // per second
	Number  Kind = "number" // of an unknown unit: the user's own
)

// Format prints a figure of the kind; unit.None for one that is not known.
func (k Kind) Format(v float64) string {
	switch k {
	case Seconds:
		return unit.Seconds(v)
	case Bytes:
		return unit.Bytes(v)
	case Share:
		return unit.Percent(v)
	case Count:
		return unit.Count(v)
	case Rate:
		return unit.Rate(v)
	}
	return unit.Scaled(v)
}

// Better says which direction of a figure is better.
type Better int

const (
	Lower Better = iota
	Higher
	Neither // more is a gain or a loss: it depends
)

// A Figure is one thing that is measured of a run.
type Figure struct {
	Key   string // in JSON
	Unit  string // in the Go benchmark format
	Kind  Kind
	Label string // in lists and tables of one setting
	Short string // where there is little room: headings
	// Pooled says that the figure of several runs is that of their samples together: the
	// time of all runs by the CPU time of all runs. Else it is their median.
	Pooled bool
	// BySamples says that it is known only of runs whose CPU time was sampled.
	BySamples bool
	// OfGC says that it is of the GC: a lower bound where the runtime of some process was
	// not seen.
	OfGC   bool
	Better Better
	// Main says that a first look at two results compares it.
	Main bool
}

// Format prints a value of the figure.
func (f Figure) Format(v float64) string { return f.Kind.Format(v) }

// All are the figures in the order of the samples in JSON.
var All = []Figure{
	{Key: "wall_seconds", Unit: "sec/op", Kind: Seconds, Label: "wall time", Short: "wall time", Main: true},
	{Key: "user_seconds", Unit: "user-sec/op", Kind: Seconds, Label: "user time", Short: "user time"},
	{Key: "sys_seconds", Unit: "sys-sec/op", Kind: Seconds, Label: "system time", Short: "system time"},
	{Key: "cpu_seconds", Unit: "cpu-sec/op", Kind: Seconds, Label: "CPU time", Short: "CPU time", Main: true},
	{Key: "peak_rss_bytes", Unit: "peak-RSS-bytes", Kind: Bytes, Label: "peak RSS, largest process", Short: "peak RSS"},
	{Key: "peak_tree_rss_bytes", Unit: "peak-tree-RSS-bytes", Kind: Bytes, Label: "peak RSS, all processes", Short: "peak RSS", Main: true},
	{Key: "minor_faults", Unit: "minor-faults/op", Kind: Count, Label: "page faults", Short: "page faults", Main: true},
	{Key: "major_faults", Unit: "major-faults/op", Kind: Count, Label: "major page faults", Short: "major faults"},
	{Key: "gc_cycles", Unit: "gc-cycles/op", Kind: Count, Label: "GC cycles", Short: "GC cycles", OfGC: true},
	{Key: "gc_pause_seconds", Unit: "gc-pause-sec/op", Kind: Seconds, Label: "stop-the-world, total", Short: "stop-the-world", OfGC: true},
	{Key: "gc_pause_max_seconds", Unit: "gc-pause-max-sec", Kind: Seconds, Label: "stop-the-world, max of a cycle", Short: "stop-the-world, max", OfGC: true},
	{Key: "gc_runtime_cpu_seconds", Unit: "gc-runtime-cpu-sec/op", Kind: Seconds, Label: "GC CPU by the runtime", Short: "GC (runtime)", OfGC: true},
	{Key: "gc_cpu_seconds", Unit: "gc-cpu-sec/op", Kind: Seconds, Label: "GC CPU time", Short: "GC CPU", Pooled: true, BySamples: true, Main: true},
	{Key: "gc_cpu_fraction", Unit: "gc-cpu-fraction", Kind: Share, Label: "GC share of CPU time", Short: "GC share", Pooled: true, BySamples: true},
	{Key: "memory_tax_fraction", Unit: "memory-tax-fraction", Kind: Share, Label: "memory tax, share of CPU time",
		Short: "memory tax", Pooled: true, BySamples: true, Main: true},
	{Key: "heap_peak_bytes", Unit: "heap-peak-bytes", Kind: Bytes, Label: "heap peak", Short: "heap peak", OfGC: true, Better: Neither},
	{Key: "huge_peak_bytes", Unit: "huge-peak-bytes", Kind: Bytes, Label: "on huge pages at the peak",
		Short: "on huge pages", Better: Neither},
	{Key: "cpu_periods", Unit: "cpu-periods/op", Kind: Count, Label: "CPU quota periods", Short: "periods", Better: Neither},
	{Key: "throttled_periods", Unit: "throttled-periods/op", Kind: Count, Label: "throttled periods", Short: "throttled"},
	{Key: "throttled_seconds", Unit: "throttled-sec/op", Kind: Seconds, Label: "throttled time, all CPUs", Short: "throttled time"},
	{Key: "memory_stall_seconds", Unit: "memory-stall-sec/op", Kind: Seconds, Label: "memory stalls, some tasks", Short: "stalls"},
	{Key: "memory_full_stall_seconds", Unit: "memory-full-stall-sec/op", Kind: Seconds, Label: "memory stalls, all tasks", Short: "full stalls"},
	{Key: "file_refaults", Unit: "file-refaults/op", Kind: Count, Label: "page cache refaults", Short: "cache refaults"},
	{Key: "anon_refaults", Unit: "anon-refaults/op", Kind: Count, Label: "anonymous refaults", Short: "anon refaults"},
	{Key: "cgroup_peak_bytes", Unit: "cgroup-peak-bytes", Kind: Bytes, Label: "peak memory of the cgroup", Short: "cgroup peak"},
	{Key: "oom_kills", Unit: "oom-kills/op", Kind: Count, Label: "OOM kills", Short: "OOM kills"},
	{Key: "p50_seconds", Unit: "p50-sec", Kind: Seconds, Label: "latency, p50", Short: "p50", Pooled: true},
	{Key: "p99_seconds", Unit: "p99-sec", Kind: Seconds, Label: "latency, p99", Short: "p99", Pooled: true, Main: true},
	{Key: "p999_seconds", Unit: "p999-sec", Kind: Seconds, Label: "latency, p99.9", Short: "p99.9", Pooled: true},
	{Key: "cpu_per_request_seconds", Unit: "cpu-sec/request", Kind: Seconds, Label: "CPU time per request", Short: "cpu/request",
		Main: true},
}

var byKey, byUnit = func() (k, u map[string]Figure) {
	k, u = make(map[string]Figure), make(map[string]Figure)
	for _, f := range All {
		k[f.Key], u[f.Unit] = f, f
	}
	return
}()

// ByKey returns the figure with a key. The keys are fixed: an unknown one is a mistake in
// the program.
func ByKey(key string) Figure {
	f, ok := byKey[key]
	if !ok {
		panic("figure: no figure " + key)
	}
	return f
}

// OfUnit returns the figure with a unit of the Go benchmark format, also where it was
// made a rate ("minor-faults/second"); ok is false for units that are not Folio's own.
func OfUnit(name string) (f Figure, ok bool) {
	f, ok = byUnit[name]
	if base, rate := strings.CutSuffix(name, "/second"); rate && !ok {
		f, ok = byUnit[base+"/op"]
	}
	return f, ok
}

// KindOf returns the kind of a figure that an experiment made, by the end of its key.
func KindOf(key string) Kind {
	for _, x := range []struct {
		suffix string
		kind   Kind
	}{{"_per_second", Rate}, {"_seconds", Seconds}, {"_bytes", Bytes}, {"_fraction", Share}} {
		if strings.HasSuffix(key, x.suffix) {
			return x.kind
		}
	}
	return Count
}

// KindOfUnit returns the kind of what a unit of the Go benchmark format is of, in the
// basic units that x/perf's benchunit makes of all: seconds and bytes.
func KindOfUnit(name string) Kind {
	base, per, _ := strings.Cut(name, "/")
	switch {
	case per == "s":
		return Number // a throughput, in what the benchmark counts
	case base == "sec" || strings.HasSuffix(base, "-sec"):
		return Seconds
	case strings.HasSuffix(base, "-fraction"):
		return Share
	case base == "B" || strings.HasSuffix(base, "-B") || base == "bytes" || strings.HasSuffix(base, "-bytes"):
		return Bytes
	case base == "faults":
		return Count
	}
	for _, counted := range []string{"-faults", "-cycles", "-periods", "-refaults", "-kills"} {
		if strings.HasSuffix(base, counted) {
			return Count
		}
	}
	return Number
}
