package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/internal/host"
	"github.com/foliomem/folio/internal/stat"
	"github.com/foliomem/folio/internal/trial"
	"github.com/foliomem/folio/internal/where"
)

// A Finding is something that was seen, why Folio says so, and what to do.
type Finding struct {
	What     string `json:"what"`
	Evidence string `json:"evidence"`
	Fix      string `json:"fix"`
}

// A Sheet is what the rules look at: medians of the samples of one setting. Nil
// fields were not measured.
type Sheet struct {
	Host    host.Info
	Setting trial.Setting
	Command []string
	Flags   []string // what further folio commands need to run the program as it was run
	Server  bool     // figures are of the time under load

	Wall, User, Sys, CPU float64
	Faults               float64
	RSS                  *float64 // of all processes together
	Huge                 *float64
	Cycles, GCCPU        *float64
	Pause, PauseMax      *float64
	HeapPeak             *float64
	Digest               []string // of the collector's trace, see [Digest]

	Where *where.Result // of all samples together; nil: not sampled
}

// NewSheet takes the medians of samples.
func NewSheet(h host.Info, set trial.Setting, command []string, samples []*trial.Sample) Sheet {
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
	s := Sheet{
		Host: h, Setting: set, Command: command,
		Wall: known("wall_seconds"), User: known("user_seconds"), Sys: known("sys_seconds"), CPU: known("cpu_seconds"),
		Faults: known("minor_faults"),
		RSS:    median("peak_tree_rss_bytes"), Huge: median("huge_peak_bytes"),
		Cycles: median("gc_cycles"), GCCPU: median("gc_cpu_seconds"),
		Pause: median("gc_pause_seconds"), PauseMax: median("gc_pause_max_seconds"), HeapPeak: median("heap_peak_bytes"),
	}
	if s.RSS == nil {
		s.RSS = median("peak_rss_bytes")
	}
	if w := trial.Where(samples); w != nil && w.Samples >= fewestSamples {
		s.Where = w
	}
	s.Digest = digest(samples, s.Where != nil)
	return s
}

// gcShare is the part of all processor time that collection took.
func (s *Sheet) gcShare() (float64, bool) {
	if s.GCCPU == nil || s.CPU <= 0 {
		return 0, false
	}
	return min(*s.GCCPU/s.CPU, 1), true
}

func (s *Sheet) sysShare() float64 {
	if s.CPU <= 0 {
		return 0
	}
	return s.Sys / s.CPU
}

// Time says in sentences where the program's time went.
func (s *Sheet) Time() []string {
	if s.CPU <= 0 {
		return []string{"The program used too little processor time to be measured."}
	}
	var out []string
	own := s.CPU - s.Sys
	if share, ok := s.gcShare(); ok {
		if *s.Cycles == 0 {
			out = append(out, "The collector never ran.")
		} else {
			line := fmt.Sprintf("The collector took %s of processor time, %s of all, in %s", seconds(*s.GCCPU), percent(share), cycles(*s.Cycles))
			if s.Pause != nil {
				line += fmt.Sprintf("; it stopped the program for %s in all, %s at the longest", seconds(*s.Pause), seconds(*s.PauseMax))
			}
			out = append(append(out, line+"."), s.Digest...)
		}
		own -= min(*s.GCCPU, own)
	} else {
		out = append(out, "What the collector took is not known: no trace of it was seen.")
	}
	if s.Where != nil {
		return append(append(out, s.tax()...), s.busy()...)
	}
	line := fmt.Sprintf("The kernel took %s, %s of all", seconds(s.Sys), percent(s.sysShare()))
	if s.Faults >= 1 {
		line += fmt.Sprintf("; part of that were %.0f page faults", s.Faults)
	}
	out = append(out, line+".")
	what := "The program's own work, allocation included, took the other"
	if s.GCCPU == nil {
		what = "The program's own work, allocation and collection included, took the other"
	}
	out = append(out, fmt.Sprintf("%s %s, %s.", what, seconds(own), percent(own/s.CPU)))
	return append(out, s.busy()...)
}

// busy says how many processors the program used.
func (s *Sheet) busy() []string {
	if s.Wall <= 0 {
		return nil
	}
	line := fmt.Sprintf("On average %.1f of %d processors were busy", s.CPU/s.Wall, s.Host.CPUs)
	if s.Server {
		line += " with it"
	}
	return []string{line + "."}
}

// rules are the advice, in order of how much each can gain at most.
var rules = []struct {
	name string
	look func(*Sheet) (gain float64, f Finding, ok bool)
}{
	{"collector", adviseCollector},
	{"collector, sampled", adviseSampledCollector},
	{"tiny heap", adviseTinyHeap},
	{"page faults", adviseFaults},
	{"page faults, sampled", adviseSampledFaults},
	{"allocation", adviseAllocation},
	{"growth", adviseGrowth},
}

// Advise returns what to try next, the largest possible gain first. It returns
// nothing when memory is not the program's problem.
func (s *Sheet) Advise() []Finding {
	var out []Finding
	var gains []float64
	for _, r := range rules {
		gain, f, ok := r.look(s)
		if !ok {
			continue
		}
		i := len(gains)
		for i > 0 && gains[i-1] < gain {
			i--
		}
		gains = append(gains[:i], append([]float64{gain}, gains[i:]...)...)
		out = append(out[:i], append([]Finding{f}, out[i:]...)...)
	}
	return out
}

// fewestSamples is how many samples it takes to say anything.
const fewestSamples = 20

// Thresholds below which nothing is worth a user's time.
const (
	littleGC     = 0.02 // of processor time
	littleSys    = 0.05
	manyFaults   = 5000
	manyCyclesHz = 50
	tinyHeap     = 16 << 20
)

func adviseCollector(s *Sheet) (float64, Finding, bool) {
	share, ok := s.gcShare()
	if !ok || share < littleGC || s.Where != nil {
		return 0, Finding{}, false
	}
	return share, Finding{
		What:     fmt.Sprintf("tune the collector: at most %s of the processor time can be gained", percent(share)),
		Evidence: fmt.Sprintf("%s in %s", seconds(*s.GCCPU), cycles(*s.Cycles)),
		Fix:      s.line("tune"),
	}, true
}

// adviseTinyHeap finds source 4's case: a live heap of a few MiB that is
// collected hundreds of times a second.
func adviseTinyHeap(s *Sheet) (float64, Finding, bool) {
	if s.Cycles == nil || s.Wall <= 0 || s.HeapPeak == nil || *s.HeapPeak > tinyHeap {
		return 0, Finding{}, false
	}
	rate := *s.Cycles / s.Wall
	if rate < manyCyclesHz || *s.Cycles < 20 || s.Setting.GOGC != "" {
		return 0, Finding{}, false
	}
	share, _ := s.gcShare()
	return share, Finding{
		What:     "collect a small heap less often: what stopping and starting costs is not in the collector's own figure",
		Evidence: fmt.Sprintf("%.0f collections a second of a heap of at most %.0f MiB", rate, *s.HeapPeak/(1<<20)),
		Fix:      s.line("run", "--gogc=400"),
	}, true
}

func adviseFaults(s *Sheet) (float64, Finding, bool) {
	if s.Faults < manyFaults || s.sysShare() < littleSys || s.CPU <= 0 || s.splitKernel() {
		return 0, Finding{}, false
	}
	f := Finding{
		What:     fmt.Sprintf("take fewer page faults: at most %s of the processor time can be gained", percent(s.sysShare())),
		Evidence: fmt.Sprintf("%.0f faults, %.0f a second; %s in the kernel, not all of it for faults", s.Faults, s.Faults/math.Max(s.Wall, 1e-9), seconds(s.Sys)),
		Fix:      s.faultFix(),
	}
	return s.sysShare(), f, true
}

// faultFix says how to take fewer page faults.
func (s *Sheet) faultFix() string {
	fix := "keep the heap from growing and shrinking (a larger GOGC, or reuse of buffers)"
	if h := s.Host.HugePageBytes; h != nil && s.Huge != nil && s.RSS != nil && *s.RSS > 64<<20 && *s.Huge < *s.RSS/10 {
		fix = fmt.Sprintf("huge pages: %s of %s were on them; a huge page takes one fault where %.0f were taken",
			mib(*s.Huge), mib(*s.RSS), float64(*h)/float64(s.Host.PageBytes))
		if e := s.Host.THPEnabled; e != nil {
			fix += fmt.Sprintf(" (THP is %q here; Go asks for none by itself: import folio/auto, or folio build)", *e)
		}
	}
	return fix
}

// line returns a folio command on the program, to paste into a shell.
func (s *Sheet) line(command ...string) string {
	words := slices.Concat([]string{"folio"}, command, s.Flags)
	if len(s.Command) > 0 { // a program that folio builds may have no arguments
		words = append(append(words, "--"), s.Command...)
	}
	for i, w := range words {
		words[i] = trial.Quote(w)
	}
	return strings.Join(words, " ")
}

func cycles(n float64) string {
	if n == 1 {
		return "1 collection"
	}
	return fmt.Sprintf("%.0f collections", n)
}

func percent(v float64) string { return fmt.Sprintf("%.1f%%", 100*v) }
func mib(v float64) string     { return fmt.Sprintf("%.0f MiB", v/(1<<20)) }

func seconds(v float64) string {
	d := time.Duration(v * float64(time.Second))
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", v)
	case d >= time.Millisecond:
		return fmt.Sprintf("%.1f ms", v*1e3)
	}
	return fmt.Sprintf("%.0f µs", v*1e6)
}
