package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
	"github.com/foliomem/folio/internal/base/unit"
)

// RunFacts are what the rules look at: medians of the samples of one setting, and
// where the time of all of them went. Nil fields were not measured.
type RunFacts struct {
	Host    host.Info
	Setting trial.Setting
	Command []string
	Flags   []string // what further folio commands need to run the program as it was run
	Server  bool     // figures are of the time under load
	Go      bool     // it is known to be a Go program: by its runtime, or because the caller says so
	Wrapped bool     // the command is not a Go program, but starts or becomes one: a script
	// OnlyLibraries says that no Go program ran, but programs with Go libraries.
	OnlyLibraries bool
	PID           int // of a process that ran already, and was watched for a while; else 0

	Failed         bool // in every run, which explains figures that are missing
	NoLoad         bool // a server that was never put under load: the rest is not known
	User, Sys, CPU float64
	Span           float64 // of what time these are, in seconds: see [trial.Sample.Span]
	Outlived       bool    // processes outlived the command, by more than a hundredth of Span
	Faults         float64
	RSS            *float64 // of all processes together
	Huge           *float64
	Processes      int      // the most that a run had; 0 if that is not known
	Listening      []string // TCP addresses
	Stopped        bool     // a signal or folio ended it, not its work
	ExitCode       int      // of a program that failed; else 0

	// What the Go runtimes counted. Where AtLeast is set some of it was not
	// seen, and the figures are lower bounds.
	Cycles          *float64
	AtLeast         bool
	RuntimeCPU      *float64
	Pause, PauseMax *float64
	HeapPeak        *float64
	Digest          []string // see [Digest]

	// Counted is how many GC cycles the runtime of the largest process had counted near its
	// peak, since its start and in one run; 0 if that is not known.
	Counted int
	Runs    int // that are taken into account

	Profile *profile.Result // of all samples together; nil: not sampled, or too few
	// Sampled is the number of samples in SampledCPU seconds of CPU time, even if too few for
	// Profile; Unsampled says why CPU time was not sampled although that was asked for.
	Sampled    uint64
	SampledCPU float64
	Unsampled  error

	// MayHeap says why THPHeap is not possible here; nil: that is not known. It is asked only
	// for advice.
	MayHeap func() error

	Delayed Delayed  // of a server under a load by folio
	OOM     OOMKills // what an OOM killer ended, of all runs
}

// NewRunFacts takes the medians of samples.
func NewRunFacts(h host.Info, set trial.Setting, command []string, samples []*trial.Sample) RunFacts {
	median := func(key string) *float64 {
		v := trial.FigureOf(key).Values(samples)
		if len(v) == 0 {
			return nil
		}
		m := stat.Median(v)
		return &m
	}
	known := func(key string) float64 {
		if m := median(key); m != nil {
			return *m
		}
		return 0
	}
	s := RunFacts{
		Host: h, Setting: set, Command: command,
		User: known("user_seconds"), Sys: known("sys_seconds"), CPU: known("cpu_seconds"),
		Faults: known("minor_faults"),
		RSS:    median("peak_tree_rss_bytes"), Huge: median("huge_peak_bytes"),
		Cycles: median("gc_cycles"), RuntimeCPU: median("gc_runtime_cpu_seconds"),
		Pause: median("gc_pause_seconds"), PauseMax: median("gc_pause_max_seconds"), HeapPeak: median("heap_peak_bytes"),
	}
	if s.RSS == nil {
		s.RSS = median("peak_rss_bytes")
	}
	s.NoLoad = len(samples) > 0 && median("wall_seconds") == nil
	if w := trial.Profile(samples); w != nil && w.Samples >= profile.Fewest {
		s.Profile = w
	}
	s.OnlyLibraries = slices.ContainsFunc(samples, func(s *trial.Sample) bool { return s.OnlyLibraries })
	s.lookAt(samples)
	s.Counted = trial.PeakWaterfall(samples).Cycles()
	s.Go = slices.ContainsFunc(samples, func(x *trial.Sample) bool { return x.GCCounted != "" })
	s.Digest = DigestOf(samples)
	return s
}

// lookAt takes what is not a median.
func (s *RunFacts) lookAt(samples []*trial.Sample) {
	var wall, span []float64
	for _, x := range samples {
		if !x.OK() {
			continue
		}
		if x.Profiled || x.Profile != nil {
			s.SampledCPU += x.CPU
		}
		if x.Profile != nil {
			s.Sampled += x.Profile.Samples
		}
		if x.Unsampled != nil {
			s.Unsampled = x.Unsampled
		}
		if !x.NoLoad {
			wall, span = append(wall, x.Wall), append(span, x.Span())
		}
		s.Runs++
		s.AtLeast = s.AtLeast || partlySeen(x)
		s.Processes = max(s.Processes, x.Processes)
		s.Stopped = s.Stopped || x.Signal != "" || x.TimedOut || x.Interrupted
		if len(x.Listening) > 0 {
			s.Listening = x.Listening
		}
		if x.ExitCode != nil && *x.ExitCode != 0 {
			s.ExitCode = *x.ExitCode
		}
	}
	if len(span) > 0 {
		s.Span = stat.Median(span)
		s.Outlived = s.Span > 1.01*stat.Median(wall)
	}
	if s.Cycles == nil || *s.Cycles == 0 && s.AtLeast {
		// None was seen, which is not zero.
		s.Cycles, s.RuntimeCPU, s.Pause, s.PauseMax, s.AtLeast = nil, nil, nil, nil, false
	}
}

// gcShare is the GC's share of CPU time; ok is false where it was not sampled, or too
// much time is in code without names.
func (s *RunFacts) gcShare() (share float64, ok bool) {
	if !s.Profile.Shares() {
		return 0, false
	}
	return *s.Profile.GCFraction, true
}

// runtimeShare is what the runtime says of the GC's CPU time, as a share of CPU time. It is
// an estimate, and can be more than 1: see [trial.Sample.GCRuntimeCPU].
func (s *RunFacts) runtimeShare() (share float64, ok bool) {
	if s.RuntimeCPU == nil || s.CPU <= 0 {
		return 0, false
	}
	return *s.RuntimeCPU / s.CPU, true
}

func (s *RunFacts) sysShare() float64 {
	if s.CPU <= 0 {
		return 0
	}
	return s.Sys / s.CPU
}

// Time says in sentences where the program's time went.
func (s *RunFacts) Time() []string {
	switch {
	case s.NoLoad:
		return nil
	case s.CPU <= 0:
		return nil
	}
	out := append(s.gc(), s.Digest...)
	if s.Profile != nil {
		return append(append(out, s.tax()...), s.busy()...)
	}
	line := fmt.Sprintf("User time %s, system time %s (%s)", unit.Seconds(s.User), unit.Seconds(s.Sys), unit.Percent(s.sysShare()))
	if s.Faults >= 1 {
		line += fmt.Sprintf("; %s page faults", unit.Count(s.Faults))
	}
	return append(append(out, line+"."), s.busy()...)
}

// gc says what is known of garbage collection: its share by samples, its cycles and
// pauses by the trace.
func (s *RunFacts) gc() []string {
	share, sampled := s.gcShare()
	var parts []string
	if sampled && (share > 0 || s.Cycles == nil || *s.Cycles > 0) {
		parts = append(parts, fmt.Sprintf("%s of CPU time (%s)", unit.Percent(share), unit.Seconds(share*s.Profile.CPU())))
	}
	counted := s.counted()
	switch {
	case counted != "":
		parts = append(parts, counted)
	case s.Cycles != nil:
		parts = append(parts, s.cycles())
	}
	if s.Pause != nil && *s.Cycles > 0 {
		least := ""
		if s.AtLeast {
			least = "at least "
		}
		text := fmt.Sprintf("stop-the-world %s%s total", least, unit.Seconds(*s.Pause))
		if s.PauseMax != nil {
			text += fmt.Sprintf(", %s max", unit.Seconds(*s.PauseMax))
		}
		parts = append(parts, text)
	}
	switch {
	case counted != "" && s.Cycles == nil:
	case s.Cycles == nil && !sampled:
		return []string{"GC: unknown."}
	case s.Cycles == nil:
		parts = append(parts, "cycles unknown")
	}
	out := []string{"GC: " + strings.Join(parts, "; ") + "."}
	// More than all CPU time: workers waited for a CPU, and the figure says nothing.
	if trace, ok := s.runtimeShare(); ok && trace < 1 && !sampled && *s.Cycles > 0 {
		text := fmt.Sprintf("GC CPU by the runtime: %s, an estimate of %s of CPU time. It%s", unit.Seconds(*s.RuntimeCPU), unit.Percent(trace), runtimeCounts)
		if s.Profile == nil { // else samples were of no use
			text += "; sampling (--sample-rate) measures the GC share"
		}
		out = append(out, text+".")
	}
	return out
}

// runtimeCounts says what the runtime's own figure is.
const runtimeCounts = " includes GC workers waiting for a CPU, and leaves out sweeping and write barriers"

// counted says how many GC cycles one process had, where the trace shows fewer and may have
// missed some; else "". Under load the trace is of less than its life.
func (s *RunFacts) counted() string {
	if s.Counted == 0 || s.Server || s.Cycles != nil && (!s.AtLeast || *s.Cycles >= float64(s.Counted)) {
		return ""
	}
	text := "at least " + cycles(float64(s.Counted))
	if s.Runs > 1 {
		text += " in one run"
	}
	return text + ", as the runtime of the largest process counted"
}

// cycles is how many GC cycles there were, as far as that is known.
func (s *RunFacts) cycles() string {
	text := cycles(*s.Cycles)
	if s.AtLeast {
		text = "at least " + text
	}
	return text
}

// busy says how many CPUs the program used.
func (s *RunFacts) busy() []string {
	if s.Span <= 0 {
		return nil
	}
	line := fmt.Sprintf("%.1f of %d CPUs busy on average", s.CPU/s.Span, s.Host.CPUs)
	if s.Outlived {
		line += fmt.Sprintf(", in the %s until the last process that it left behind had ended", unit.Seconds(s.Span))
	}
	if s.Server {
		line += ", under load"
	}
	return []string{line + "."}
}

// nameless says why the shares of a profile are unknown.
func nameless(p *profile.Result) string {
	return fmt.Sprintf("%s of CPU time is in code without names", unit.Percent(p.Share(profile.Unnamed).Fraction))
}

// splitKernel says that samples tell page faults from other work of the kernel.
func (s *RunFacts) splitKernel() bool { return s.Profile != nil && s.Profile.Kernel }

// tax says what managing memory cost in all.
func (s *RunFacts) tax() []string {
	var out []string
	if s.Profile.Shares() {
		tax := *s.Profile.MemoryTaxFraction
		line := fmt.Sprintf("Memory tax (*): %s of CPU time (%s)", unit.Percent(tax), unit.Seconds(tax*s.Profile.CPU()))
		if !s.Profile.Kernel {
			line += ", without page faults, which are in the kernel time"
		}
		out = append(out, line+".")
	}
	if n := s.Profile.TLBMisses; n != nil {
		out = append(out, fmt.Sprintf("TLB: %s loads walked the page tables, %s per second of CPU time. That time is in the figures of the code that did it.", unit.Count(float64(*n)), unit.Rate(float64(*n)/s.CPU)))
	}
	return out
}

// Unknown says why the memory tax is unknown, and what to do; "" if it is known, or if the program
// failed, which is said elsewhere.
func (s *RunFacts) Unknown() string {
	const unknown = "Memory tax unknown: "
	switch {
	case s.Failed && s.Profile == nil && s.Unsampled == nil && (s.NoLoad || s.SampledCPU > 0 || s.CPU <= 0):
		return ""
	case s.NoLoad:
		return unknown + "the server was never put under load."
	case s.Profile.Shares():
		return ""
	case s.Profile != nil:
		return unknown + nameless(s.Profile) + "."
	case s.Unsampled != nil && s.Sampled == 0:
		return unknown + "CPU time was not sampled: " + s.Unsampled.Error() + "."
	case s.SampledCPU > 0:
		return fmt.Sprintf("%s%s in %s of CPU time (%d needed). %s.", unknown, unit.Plural(int(s.Sampled), "CPU sample"),
			unit.Seconds(s.SampledCPU), profile.Fewest, s.longer())
	case s.CPU <= 0:
		return unknown + "CPU time is too short to be measured. " + s.longer() + "."
	}
	return unknown + "CPU time was not sampled."
}

// longer says how to get more samples, where that helps.
func (s *RunFacts) longer() string {
	const enough = 100 // runs, and samples
	switch {
	case !s.Go && !s.Wrapped && !s.OnlyLibraries && !s.Server && s.PID == 0:
		return "No Go program was seen"
	case s.PID != 0:
		return "Give a longer --duration"
	case s.Server:
		return "Give a longer --load-duration, or more --rate"
	case s.Runs >= enough:
		return "Run it longer"
	}
	count := enough
	if s.Sampled > 0 {
		count = min(int(math.Ceil(enough*float64(max(s.Runs, 1))/float64(s.Sampled))), enough)
	}
	return fmt.Sprintf("Run it longer, or --count %d", max(count, 2))
}

// Nothing says why there is no advice, where the memory tax is known.
func (s *RunFacts) Nothing() string {
	switch {
	case !s.Profile.Shares():
		return "" // Unknown says why
	case s.Profile.Kernel && *s.Profile.MemoryTaxFraction < littleMemory:
		return fmt.Sprintf("Memory is not the bottleneck: GC, allocation and page faults take %s of CPU time.",
			unit.Percent(*s.Profile.MemoryTaxFraction))
	}
	return fmt.Sprintf("No recommendation: the memory tax is %s of CPU time, and no part of it is both %s or more and yours to change.", unit.Percent(*s.Profile.MemoryTaxFraction), unit.Percent(littleTax))
}

func cycles(n float64) string {
	if n == 1 {
		return "1 cycle"
	}
	return unit.Count(n) + " cycles"
}
