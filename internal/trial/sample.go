package trial

import (
	"github.com/foliomem/folio/internal/gctrace"
	"github.com/foliomem/folio/internal/where"
)

// A Sample is what one trial measured. Figures that were not measured are nil,
// and null in JSON. Times are seconds, sizes are bytes; docs/results.md
// explains each key.
type Sample struct {
	Round    int `json:"round"`    // from 1; a warm-up round is 0
	Sequence int `json:"sequence"` // order in which the trials of a search ran, from 1

	// Wall is from before the process was made until it ended; with a load
	// generator, the time that the generator took.
	Wall float64 `json:"wall_seconds"`
	// User and Sys are processor time of the process and its descendants.
	User float64 `json:"user_seconds"`
	Sys  float64 `json:"sys_seconds"`
	CPU  float64 `json:"cpu_seconds"` // User + Sys

	// PeakRSS is of the largest process, PeakTreeRSS of all processes together.
	// PeakTreeRSSLooks is how many looks saw a sampled peak to within 5%, counted to 10.
	PeakRSS           *uint64 `json:"peak_rss_bytes"`
	PeakRSSSource     Source  `json:"peak_rss_source,omitempty"`
	PeakTreeRSS       *uint64 `json:"peak_tree_rss_bytes"`
	PeakTreeRSSSource Source  `json:"peak_tree_rss_source,omitempty"`
	PeakTreeRSSLooks  int     `json:"peak_tree_rss_looks,omitempty"`

	MinorFaults int64 `json:"minor_faults"`
	MajorFaults int64 `json:"major_faults"`

	GCCycles   *int     `json:"gc_cycles"`
	GCCPU      *float64 `json:"gc_cpu_seconds"`
	GCFraction *float64 `json:"gc_cpu_fraction"` // of CPU
	GCPause    *float64 `json:"gc_pause_seconds"`
	GCPauseMax *float64 `json:"gc_pause_max_seconds"`
	HeapPeak   *uint64  `json:"heap_peak_bytes"`
	HugePeak   *uint64  `json:"huge_peak_bytes"`
	// GC has more of what the trace told; nil when GCCycles is.
	GC *gctrace.Summary `json:"-"`

	// CollapsedBytes are what folio put on huge pages under THPCollapse, and
	// CollapseSeconds how long the kernel took; nil under other settings.
	CollapsedBytes  *uint64  `json:"collapsed_bytes,omitempty"`
	CollapseSeconds *float64 `json:"collapse_seconds,omitempty"`

	// MemoryTax is the part of CPU that managing memory cost, by sampling.
	MemoryTax *float64 `json:"memory_tax_fraction"`
	// Where says where the processor time went; nil when it was not sampled.
	Where *where.Result `json:"where"`
	// Profile has the samples themselves, for other formats, if they were to be
	// kept; whoever asked for them closes it.
	Profile *where.Collector `json:"-"`
	// Unsampled says why they are missing.
	Unsampled error `json:"-"`

	// Series is the memory over time; nil when it was not asked for.
	Series *Series `json:"series,omitempty"`

	ExitCode *int   `json:"exit_code"` // nil when a signal ended the program
	Signal   string `json:"signal,omitempty"`

	// Metrics are the user's own figures, by name; Go benchmark figures have
	// names such as "Insert-2 ns/op".
	Metrics map[string]float64 `json:"metrics"`

	// Failure says why the trial does not count; "" when it does.
	Failure string `json:"failure,omitempty"`
	// OverMemory says that the trial was ended because it passed the memory bound.
	OverMemory bool `json:"over_memory,omitempty"`
	// Overdue says that the trial was ended because it passed the time bound.
	Overdue bool `json:"overdue,omitempty"`

	// Leftovers counts processes that the program left behind and that were ended.
	Leftovers int `json:"leftover_processes,omitempty"`
	// Tail is the end of the program's output, kept to explain a failure.
	Tail string `json:"-"`

	set *set // what the sample is compared with; nil: nothing
}

// OK says that the trial counts.
func (s *Sample) OK() bool { return s.Failure == "" }

// setWhere sets where the time went, unless there was nothing to sample.
func (s *Sample) setWhere(r *where.Result) {
	if r == nil || r.Samples == 0 {
		return
	}
	s.Where = r
	tax := r.MemoryTaxFraction
	s.MemoryTax = &tax
}

// Where returns where the time of those samples that count went, all together;
// nil when none was sampled.
func Where(samples []*Sample) *where.Result {
	var all []*where.Result
	for _, s := range samples {
		if s.Where != nil && s.OK() {
			all = append(all, s.Where)
		}
	}
	return where.Mean(all)
}

// Memory returns the figure that Folio compares memory by: the peak of the whole
// tree, which is what a container is billed and killed for, else that of the largest
// process. Samples of one search, or put together by [Together], all return the same.
func (s *Sample) Memory() (float64, bool) {
	if s.MemoryOfTree() {
		return value(s.PeakTreeRSS)
	}
	return value(s.PeakRSS)
}

// MemoryOfTree says that [Sample.Memory] is the peak of the whole tree.
func (s *Sample) MemoryOfTree() bool { return s.treeKnown() && !(s.set != nil && s.set.largest) }

// MostMemory returns the largest peak that is known: the bound that the sample keeps
// within may be no less.
func (s *Sample) MostMemory() (float64, bool) {
	tree, ok := value(s.PeakTreeRSS)
	one, ok2 := value(s.PeakRSS)
	return max(tree, one), ok || ok2
}

// treeKnown says that the peak of the tree is one to compare by: no luck of sampling.
func (s *Sample) treeKnown() bool {
	return s.PeakTreeRSS != nil && (s.PeakTreeRSSSource != Sampled || s.PeakTreeRSSLooks >= trustedLooks)
}

// A set is samples that are compared. The peak of the tree counts if it is known well
// of every one; else that of the largest process does, which the kernel knows exactly.
type set struct{ largest bool }

func (t *set) add(s *Sample) {
	s.set = t
	if s.OK() && !s.treeKnown() {
		t.largest = true
	}
}

// Together makes samples comparable by their memory.
func Together(samples ...*Sample) {
	t := &set{}
	for _, s := range samples {
		t.add(s)
	}
}

// A Figure is one column of a sample: its JSON key, the unit it has in the Go
// benchmark format, and how to read it.
type Figure struct {
	Key  string
	Unit string
	Get  func(*Sample) (float64, bool)
}

// Figures lists the numeric figures of a sample in the order of the schema.
// Tables, JSON summaries and benchmark files are all made from it.
var Figures = []Figure{
	{"wall_seconds", "sec/op", func(s *Sample) (float64, bool) { return s.Wall, true }},
	{"user_seconds", "user-sec/op", func(s *Sample) (float64, bool) { return s.User, true }},
	{"sys_seconds", "sys-sec/op", func(s *Sample) (float64, bool) { return s.Sys, true }},
	{"cpu_seconds", "cpu-sec/op", func(s *Sample) (float64, bool) { return s.CPU, true }},
	{"peak_rss_bytes", "peak-RSS-bytes", func(s *Sample) (float64, bool) { return value(s.PeakRSS) }},
	{"peak_tree_rss_bytes", "peak-tree-RSS-bytes", func(s *Sample) (float64, bool) { return value(s.PeakTreeRSS) }},
	{"minor_faults", "minor-faults/op", func(s *Sample) (float64, bool) { return float64(s.MinorFaults), true }},
	{"major_faults", "major-faults/op", func(s *Sample) (float64, bool) { return float64(s.MajorFaults), true }},
	{"gc_cycles", "gc-cycles/op", func(s *Sample) (float64, bool) { return value(s.GCCycles) }},
	{"gc_cpu_seconds", "gc-cpu-sec/op", func(s *Sample) (float64, bool) { return value(s.GCCPU) }},
	{"gc_cpu_fraction", "gc-cpu-fraction", func(s *Sample) (float64, bool) { return value(s.GCFraction) }},
	{"gc_pause_seconds", "gc-pause-sec/op", func(s *Sample) (float64, bool) { return value(s.GCPause) }},
	{"gc_pause_max_seconds", "gc-pause-max-sec", func(s *Sample) (float64, bool) { return value(s.GCPauseMax) }},
	{"memory_tax_fraction", "memory-tax-fraction", func(s *Sample) (float64, bool) { return value(s.MemoryTax) }},
	{"heap_peak_bytes", "heap-peak-bytes", func(s *Sample) (float64, bool) { return value(s.HeapPeak) }},
	{"huge_peak_bytes", "huge-peak-bytes", func(s *Sample) (float64, bool) { return value(s.HugePeak) }},
}

// FigureOf returns the figure with a key. The keys are fixed; an unknown one is
// a mistake in the program.
func FigureOf(key string) Figure {
	for _, f := range Figures {
		if f.Key == key {
			return f
		}
	}
	panic("trial: no figure " + key)
}

// AnySampled says that the figure with a key is, in some sample that counts, a peak
// that was seen by looking now and then. It may have been more.
func AnySampled(key string, samples []*Sample) bool {
	for _, s := range samples {
		if s.OK() && (key == "peak_rss_bytes" && s.PeakRSSSource == Sampled || key == "peak_tree_rss_bytes" && s.PeakTreeRSSSource == Sampled) {
			return true
		}
	}
	return false
}

// Values returns a figure of all samples that count and have it.
func (f Figure) Values(samples []*Sample) []float64 {
	var out []float64
	for _, s := range samples {
		if !s.OK() {
			continue
		}
		if v, ok := f.Get(s); ok {
			out = append(out, v)
		}
	}
	return out
}

func value[T int | uint64 | float64](p *T) (float64, bool) {
	if p == nil {
		return 0, false
	}
	return float64(*p), true
}
