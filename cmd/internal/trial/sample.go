package trial

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/process/gccount"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

// A Sample is what one trial measured. Figures that were not measured are nil,
// and null in JSON. Times are seconds, sizes are bytes; docs/result.keys.txt
// explains each key.
type Sample struct {
	Round    int `json:"round"`    // from 1; a warm-up round is 0
	Sequence int `json:"sequence"` // order in which the trials of a search ran, from 1

	// NoLoad says that a server was never put under load: Wall to CPU and the faults, which
	// are of that time, were not measured, and are null in JSON; nor was the GC.
	NoLoad bool `json:"no_load,omitempty"`

	// Wall is from before the process was made until it ended; with a load
	// generator, the time that the generator took, its warm-up aside where it is folio's.
	Wall float64 `json:"wall_seconds"`
	// Outlived is for how long processes of the command ran on after it. CPU time, page
	// faults and GC cycles are of that time as well.
	Outlived float64 `json:"-"`
	// User and Sys are CPU time of the process and its descendants.
	User float64 `json:"user_seconds"`
	Sys  float64 `json:"sys_seconds"`
	CPU  float64 `json:"cpu_seconds"` // User + Sys

	// PeakRSS is of the largest process, PeakTreeRSS of all processes together.
	// PeakTreeRSSLooks is how many looks saw a sampled peak to within 5%, counted to 10.
	PeakRSS           *uint64 `json:"peak_rss_bytes"`
	PeakRSSSource     Source  `json:"peak_rss_source,omitempty" redact:"keep"`
	PeakTreeRSS       *uint64 `json:"peak_tree_rss_bytes"`
	PeakTreeRSSSource Source  `json:"peak_tree_rss_source,omitempty" redact:"keep"`
	PeakTreeRSSLooks  int     `json:"peak_tree_rss_looks,omitempty"`

	MinorFaults int64 `json:"minor_faults"`
	MajorFaults int64 `json:"major_faults"`

	// GCCounted says what the figures from here to Growing are, which come from what the
	// runtimes of Go programs count.
	GCCounted GCState  `json:"gc_counted,omitempty" redact:"keep"`
	GCCycles  *int     `json:"gc_cycles"`
	GCPause   *float64 `json:"gc_pause_seconds"`
	// GCPauseMax is the longest of a cycle, its two stops together; nil where more cycles ended
	// between two looks than the runtime keeps.
	GCPauseMax *float64 `json:"gc_pause_max_seconds"`
	// GCRuntimeCPU is the runtime's own count of CPU time. It is not part of CPU: GC
	// workers count from start to end, also while they wait for a CPU, and sweeping
	// and write barriers are not in it. [Sample.GCShare] is the GC's part of CPU.
	GCRuntimeCPU *float64 `json:"gc_runtime_cpu_seconds"`
	// HeapPeak is the largest heap that was seen: at the end of a GC cycle, or at a look.
	HeapPeak *uint64 `json:"heap_peak_bytes"`
	// LivePeak is the largest live heap that a GC cycle found, of a server before the load
	// included.
	LivePeak *uint64 `json:"live_peak_bytes,omitempty"`
	// Growing says of a server that the load ended before a second GC cycle did: its heap had
	// not come to the size that the setting gives it, and its peaks are what they were so far.
	Growing  bool    `json:"still_growing,omitempty"`
	HugePeak *uint64 `json:"huge_peak_bytes"`

	attached bool // it is of a process that ran already
	// GoLibraries are the Go libraries that processes loaded, with their versions of Go: GC
	// figures are of them, too. OnlyLibraries says that no process was a Go program.
	GoLibraries   []string `json:"go_libraries,omitempty" redact:"blank"`
	OnlyLibraries bool     `json:"only_go_libraries,omitempty"`
	// GC has more of it; nil when GCCycles is.
	GC *gccount.Figures `json:"-"`
	// Uncounted says why the runtimes did not tell of all.
	Uncounted error `json:"-"`

	// CollapsedBytes are what folio put on huge pages under THPCollapse, and
	// CollapseSeconds how long the kernel took; nil under other settings.
	CollapsedBytes  *uint64  `json:"collapsed_bytes,omitempty"`
	CollapseSeconds *float64 `json:"collapse_seconds,omitempty"`

	// GCSeconds is the CPU time of garbage collection by sampling, GCShare its part of
	// CPU, and MemoryTax the part of all that managing memory cost, GC included.
	GCSeconds *float64 `json:"gc_cpu_seconds"`
	GCShare   *float64 `json:"gc_cpu_fraction"`
	MemoryTax *float64 `json:"memory_tax_fraction"`
	// Where says where the CPU time went; nil when it was not sampled.
	Profile *profile.Result `json:"profile"`
	// Collected has the samples themselves, for other formats, if they were to be
	// kept; whoever asked for them closes it. Stacks has their call paths, if those were.
	Collected *profile.Collector `json:"-"`
	Stacks    *profile.Stacks    `json:"-"`
	// Unsampled says why they are missing.
	Unsampled error `json:"-"`
	// Profiled says that CPU time was sampled, even if no sample was taken.
	Profiled bool `json:"-"`

	// Load is what the load generator of folio found: the latencies of all requests. Nil
	// without it. LateBefore are the lateness of the generator, the 99th percentile in
	// seconds, of runs that this one repeats: they did not count and were dropped.
	Load       *load.Result `json:"load,omitempty"`
	LateBefore []float64    `json:"late_before_seconds,omitempty"`
	// Requests is what is known of the requests of a process that ran already; nil for nothing.
	Requests *Requests `json:"requests,omitempty"`
	// What follows from Load or Requests; nil without them.
	*Latencies

	// What its cgroup counted; nil without limits.
	*Counts

	// Delays is what the slow requests of the load overlap; nil when it was not asked for.
	Delays *Delays `json:"delays,omitempty"`

	// Series is the memory over time; nil when it was not asked for.
	Series *Series `json:"series,omitempty"`

	// Waterfall is the memory of the largest process near its peak; nil when it was not
	// asked for, or could not be read.
	Waterfall *Waterfall `json:"-"`

	// Processes is how many processes the program was, those that ran one after the
	// other included. Where sampling is off it can be too small, but is 1 only for one.
	Processes int `json:"processes,omitempty"`

	// Heaps is what became of the programs of the tree under THPHeap; nil under other
	// settings, and where only the program itself is changed.
	Heaps []HeapPrograms `json:"heaps,omitempty"`
	// HeapsBelow says that one of them was a program that the command started.
	HeapsBelow bool `json:"-"`
	// Unprivileged are programs that ran without their privileges for that (no_new_privs).
	Unprivileged []string `json:"-"`

	// GoChildren is how many of them were Go programs that the program started, as far
	// as they were seen, and THPHeap left as they are. Nil under other settings, and with Heaps.
	GoChildren *int `json:"go_children,omitempty"`

	// Listening are the TCP addresses that the program listened on: a server.
	Listening []string `json:"listening,omitempty" redact:"drop"`

	ExitCode *int   `json:"exit_code"` // nil when a signal ended the program
	Signal   string `json:"signal,omitempty" redact:"keep"`
	// SignalNumber is that of Signal, where the trial was run, not read.
	SignalNumber int `json:"-"`

	// Metrics are the user's own figures, by name; Go benchmark figures have
	// names such as "Insert-2 ns/op".
	Metrics map[string]float64 `json:"metrics"`
	// LeftOut says which figures of Go benchmarks are not in Metrics, and why.
	LeftOut []string `json:"left_out,omitempty" redact:"keep"`

	// Failure says why the trial does not count; "" when it does.
	Failure string `json:"failure,omitempty" redact:"prose"`
	// Charged says what the cgroup was charged for before an OOM kill; "" if that is not known.
	Charged string `json:"charged_for,omitempty" redact:"keep"`
	// FailureKind is the kind of a failure that is not the program's; "" for others.
	FailureKind FailureKind `json:"failure_kind,omitempty" redact:"keep"`
	// Interrupted says that a signal came for the program, and that it ended after it.
	Interrupted bool `json:"interrupted,omitempty"`
	// OverMemory says that the trial was ended because it passed the memory bound.
	OverMemory bool `json:"over_memory,omitempty"`
	// TimedOut says that the trial was ended because it passed the time bound.
	TimedOut bool `json:"timed_out,omitempty"`

	// Leftovers counts processes that the program left behind and that were ended.
	Leftovers int `json:"leftover_processes,omitempty"`
	// Tail is the end of the program's output, kept to explain a failure.
	Tail string `json:"-"`
	// Unread are settings that Go programs which the program started do not read as they are meant.
	Unread []string `json:"-"`
	// Held is what Go runtimes held when the trial ended, those that exited by themselves left out.
	Held Held `json:"-"`

	set *set // what the sample is compared with; nil: nothing
}

// Keep says what is kept of the samples of CPU time beside their sums, which takes time
// and memory.
type Keep struct {
	Samples bool // in Sample.Collected
	Stacks  bool // in Sample.Stacks
}

// Span is of what time the figures are, in seconds: rates are by it.
func (s *Sample) Span() float64 { return s.Wall + s.Outlived }

// TakePprof returns the samples of Collected as a profile of pprof, and lets them go.
func (s *Sample) TakePprof() ([]byte, error) {
	var b bytes.Buffer
	err := s.Collected.WritePprof(&b, time.Duration(s.Span()*float64(time.Second)))
	s.Collected.Close()
	s.Collected = nil
	return b.Bytes(), err
}

// OK says that the trial counts.
func (s *Sample) OK() bool { return s.Failure == "" }

// Counts are what the kernel counted of the cgroup of a trial under limits. They are apart:
// most samples have none, and results may have a million.
type Counts struct {
	// Periods of the CPU quota, those in which it ran out, and for how long, all CPUs together.
	CPUPeriods       *uint64  `json:"cpu_periods"`
	ThrottledPeriods *uint64  `json:"throttled_periods"`
	Throttled        *float64 `json:"throttled_seconds"`
	// For how long some task, or all, waited for memory (PSI).
	MemoryStall     *float64 `json:"memory_stall_seconds"`
	MemoryFullStall *float64 `json:"memory_full_stall_seconds"`
	// Pages that came back soon after they were reclaimed.
	FileRefaults *uint64 `json:"file_refaults"`
	AnonRefaults *uint64 `json:"anon_refaults"`
	// Peak memory, page cache and the kernel's own included, and the processes that an OOM
	// killer ended.
	CgroupPeak *uint64 `json:"cgroup_peak_bytes"`
	OOMKills   *uint64 `json:"oom_kills"`
}

// MarshalJSON writes the keys of Counts also where there are none: what is not known is null.
func (s Sample) MarshalJSON() ([]byte, error) {
	type plain Sample
	if s.Counts == nil {
		s.Counts = &Counts{}
	}
	if !s.NoLoad {
		return json.Marshal(plain(s))
	}
	return json.Marshal(struct { // these keys hide those of plain
		plain
		Wall        *float64 `json:"wall_seconds"`
		User        *float64 `json:"user_seconds"`
		Sys         *float64 `json:"sys_seconds"`
		CPU         *float64 `json:"cpu_seconds"`
		MinorFaults *int64   `json:"minor_faults"`
		MajorFaults *int64   `json:"major_faults"`
	}{plain: plain(s)})
}

// forgetLoad makes unknown what is of the time under load.
func (s *Sample) forgetLoad() {
	s.NoLoad = true
	s.Wall, s.User, s.Sys, s.CPU, s.MinorFaults, s.MajorFaults = 0, 0, 0, 0, 0, 0
	s.Stacks = nil
	s.setWhere(nil)
	s.setGC(gcTotals{})
}

// counted returns what the cgroup counted: all unknown where there was none.
func (s *Sample) counted() Counts {
	if s.Counts == nil {
		return Counts{}
	}
	return *s.Counts
}

// OutOfMemory says that an OOM killer ended a process of the trial.
func (s *Sample) OutOfMemory() bool {
	kills, ok := value(s.counted().OOMKills)
	return ok && kills > 0
}

// GCState says what is known of the GC cycles of a program.
type GCState string

const (
	// GCComplete: every Go process was read to its end. The figures are exact.
	GCComplete GCState = "complete"
	// GCPartial: some process was not. The figures are lower bounds, nil where nothing was
	// read.
	GCPartial GCState = "partial"
)

// straySamples is the GC share up to which samples do not prove that a GC cycle ran:
// one of thousands can fall into what allocations and cycles share. It prints as 0.0%.
const straySamples = 0.0005

// gcSampled says that samples show GC work. Of a program too short for shares one sample is a
// large one, and may be of the start of the runtime.
func (s *Sample) gcSampled() bool {
	if s.GCShare == nil || *s.GCShare < straySamples {
		return false
	}
	return s.Profile == nil || s.Profile.Samples >= profile.Fewest || *s.GCShare*float64(s.Profile.Samples) > 1.5
}

// setGC sets what the runtimes counted. Samples must have been set before: where they
// show GC work, no cycle is not zero cycles.
func (s *Sample) setGC(t gcTotals) {
	s.GCCounted, s.GC, s.GCCycles, s.GCRuntimeCPU, s.GCPause, s.GCPauseMax, s.HeapPeak, s.LivePeak, s.Uncounted = "", nil, nil, nil, nil, nil, nil, nil, t.err
	s.GoLibraries = slices.Sorted(slices.Values(t.libraries))
	s.OnlyLibraries = len(t.libraries) > 0 && !t.program
	n := int(t.Cycles)
	switch {
	case !t.known && t.err == nil:
		return // no Go program
	case n == 0 && t.err == nil && s.gcSampled():
		s.Uncounted = errors.New("a GC cycle began, and none ended")
	}
	s.GCCounted = GCComplete
	if s.Uncounted != nil {
		s.GCCounted = GCPartial
	}
	if t.HeapPeak > 0 {
		s.HeapPeak = &t.HeapPeak
	}
	if t.LivePeak > 0 {
		s.LivePeak = &t.LivePeak
	}
	if n == 0 && s.Uncounted != nil {
		return
	}
	cpu, pause := t.CPU.Total().Seconds(), t.PauseTotal.Seconds()
	s.GCCycles, s.GCRuntimeCPU, s.GCPause, s.GC = &n, &cpu, &pause, &t.Figures
	if t.LostPauses == 0 {
		longest := t.PauseMax.Seconds()
		s.GCPauseMax = &longest
	}
}

// fewCycles says that too few GC cycles ended for the heap to have come to the size that the
// setting gives it: the first may begin with what the start left.
func (s *Sample) fewCycles() bool {
	return s.GCCounted == GCComplete && s.GCCycles != nil && *s.GCCycles < 2
}

// Growing says of the samples that count that the heap was still growing in each.
func Growing(samples []*Sample) bool {
	n := 0
	for _, s := range samples {
		if s.OK() && !s.Growing {
			return false
		}
		if s.OK() {
			n++
		}
	}
	return n > 0
}

// setWhere sets where the time went, unless there was nothing to sample.
func (s *Sample) setWhere(r *profile.Result) {
	s.Profile, s.GCSeconds, s.GCShare, s.MemoryTax = nil, nil, nil, nil
	if r == nil || r.Samples == 0 {
		return
	}
	s.Profile = r
	if r.GCFraction == nil || r.MemoryTaxFraction == nil {
		return // too much time is in code without names
	}
	seconds, gc, tax := *r.GCFraction*r.CPU(), *r.GCFraction, *r.MemoryTaxFraction
	s.GCSeconds, s.GCShare, s.MemoryTax = &seconds, &gc, &tax
}

// Recompute makes a sample that was read from a file agree with itself: figures that
// derive from others are derived again, and those that are known together or not at
// all are forgotten where some are missing.
func (s *Sample) Recompute() {
	if s.counted() == (Counts{}) {
		s.Counts = nil
	}
	if s.NoLoad {
		s.forgetLoad()
	}
	s.setLatencies()
	if s.Profile != nil {
		s.Profile.Recompute()
	}
	s.setWhere(s.Profile)
	if s.GCCounted != GCComplete && s.GCCounted != "" {
		s.GCCounted = GCPartial
	}
	unknown := s.GCCounted == "" || s.GCCycles == nil || s.GCRuntimeCPU == nil || s.GCPause == nil ||
		s.GCPauseMax != nil && *s.GCPauseMax > *s.GCPause
	if unknown || *s.GCCycles < 1 && (s.GCCounted == GCPartial || s.gcSampled()) {
		s.GCCycles, s.GCRuntimeCPU, s.GCPause, s.GCPauseMax = nil, nil, nil, nil
	}
	s.Growing = s.Growing && s.fewCycles()
}

// Profile returns where the time of those samples that count went, all together; nil
// when none was sampled. Its shares are those of the runs that were sampled, and its
// seconds these shares of the CPU time of all runs, their median: runs that were not
// sampled may differ, and no part is more than the whole that is shown beside it.
func Profile(samples []*Sample) *profile.Result {
	mean, by := profiled(samples)
	if mean == nil || by == 1 {
		return mean
	}
	return mean.Scale(by)
}

// profiled returns the mean of the samples that count and were sampled, and by what its
// seconds are to be multiplied.
func profiled(samples []*Sample) (mean *profile.Result, by float64) {
	var all []*profile.Result
	var cpu []float64
	for _, s := range samples {
		if !s.OK() || s.NoLoad {
			continue
		}
		cpu = append(cpu, s.CPU)
		if s.Profile != nil {
			all = append(all, s.Profile)
		}
	}
	mean, by = profile.Mean(all), 1
	if len(all) == 0 || len(cpu) == 1 {
		return mean, by
	}
	if f := stat.Median(cpu) / mean.CPU(); f > 0 && !math.IsInf(f, 0) {
		by = f
	}
	return mean, by
}

// Tree returns where the time of those samples that count went, by call path, in the
// seconds of [Profile]; nil where that was not kept.
func Tree(samples []*Sample) *profile.Tree {
	all := profile.NewStacks()
	for _, s := range samples {
		if s.OK() {
			all.Merge(s.Stacks)
		}
	}
	t := all.Tree()
	if _, by := profiled(samples); t != nil && by != 1 {
		return t.Scale(by)
	}
	return t
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
