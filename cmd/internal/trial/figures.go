package trial

import (
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

// A Figure is a figure of package figure, and how to read it from a sample.
type Figure struct {
	figure.Figure
	Get func(*Sample) (float64, bool)
}

// pools read the figures by sampling from the samples of several runs together, where
// shares are known.
var pools = map[string]func(*profile.Result) float64{
	"gc_cpu_seconds":      func(r *profile.Result) float64 { return *r.GCFraction * r.CPU() },
	"gc_cpu_fraction":     func(r *profile.Result) float64 { return *r.GCFraction },
	"memory_tax_fraction": func(r *profile.Result) float64 { return *r.MemoryTaxFraction },
}

// Center is the one figure of several runs, those that count: pooled, else the
// median. ok is false if it is not known, or by too few samples to say anything.
func (f Figure) Center(samples []*Sample) (v float64, ok bool) {
	if p, of := percentiles[f.Key]; of {
		return centerOfLoad(samples, p)
	}
	if pool := pools[f.Key]; pool != nil {
		if w := Profile(samples); w.Shares() {
			return pool(w), true
		}
		return 0, false
	}
	values := f.Values(samples)
	if len(values) == 0 {
		return 0, false
	}
	return stat.Median(values), true
}

// Figures lists the numeric figures of a sample in the order of the schema.
var Figures = func() (out []Figure) {
	for _, f := range figure.All {
		out = append(out, Figure{f, getters[f.Key]})
	}
	return out
}()

var getters = map[string]func(*Sample) (float64, bool){
	"wall_seconds":           func(s *Sample) (float64, bool) { return s.Wall, !s.NoLoad },
	"user_seconds":           func(s *Sample) (float64, bool) { return s.User, !s.NoLoad },
	"sys_seconds":            func(s *Sample) (float64, bool) { return s.Sys, !s.NoLoad },
	"cpu_seconds":            func(s *Sample) (float64, bool) { return s.CPU, !s.NoLoad },
	"peak_rss_bytes":         func(s *Sample) (float64, bool) { return value(s.PeakRSS) },
	"peak_tree_rss_bytes":    func(s *Sample) (float64, bool) { return value(s.PeakTreeRSS) },
	"minor_faults":           func(s *Sample) (float64, bool) { return float64(s.MinorFaults), !s.NoLoad },
	"major_faults":           func(s *Sample) (float64, bool) { return float64(s.MajorFaults), !s.NoLoad },
	"gc_cycles":              func(s *Sample) (float64, bool) { return value(s.GCCycles) },
	"gc_pause_seconds":       func(s *Sample) (float64, bool) { return value(s.GCPause) },
	"gc_pause_max_seconds":   func(s *Sample) (float64, bool) { return value(s.GCPauseMax) },
	"gc_runtime_cpu_seconds": func(s *Sample) (float64, bool) { return value(s.GCRuntimeCPU) },
	"gc_cpu_seconds":         func(s *Sample) (float64, bool) { return value(s.GCSeconds) },
	"gc_cpu_fraction":        func(s *Sample) (float64, bool) { return value(s.GCShare) },
	"memory_tax_fraction":    func(s *Sample) (float64, bool) { return value(s.MemoryTax) },
	"heap_peak_bytes":        func(s *Sample) (float64, bool) { return value(s.HeapPeak) },
	"huge_peak_bytes":        func(s *Sample) (float64, bool) { return value(s.HugePeak) },

	"p50_seconds":             func(s *Sample) (float64, bool) { return s.OfLoad(metric.P50) },
	"p99_seconds":             func(s *Sample) (float64, bool) { return s.OfLoad(metric.P99) },
	"p999_seconds":            func(s *Sample) (float64, bool) { return s.OfLoad(metric.P999) },
	"cpu_per_request_seconds": func(s *Sample) (float64, bool) { return s.OfLoad(metric.CPUPerRequest) },

	"cpu_periods":               func(s *Sample) (float64, bool) { return value(s.counted().CPUPeriods) },
	"throttled_periods":         func(s *Sample) (float64, bool) { return value(s.counted().ThrottledPeriods) },
	"throttled_seconds":         func(s *Sample) (float64, bool) { return value(s.counted().Throttled) },
	"memory_stall_seconds":      func(s *Sample) (float64, bool) { return value(s.counted().MemoryStall) },
	"memory_full_stall_seconds": func(s *Sample) (float64, bool) { return value(s.counted().MemoryFullStall) },
	"file_refaults":             func(s *Sample) (float64, bool) { return value(s.counted().FileRefaults) },
	"anon_refaults":             func(s *Sample) (float64, bool) { return value(s.counted().AnonRefaults) },
	"cgroup_peak_bytes":         func(s *Sample) (float64, bool) { return value(s.counted().CgroupPeak) },
	"oom_kills":                 func(s *Sample) (float64, bool) { return value(s.counted().OOMKills) },
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
	if f.Pooled {
		if _, ok := f.Center(samples); !ok {
			return nil
		}
	}
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

// leftOutNote says which figures of Go benchmarks of samples were left out, and why; "" for none.
func leftOutNote(samples []*Sample) string {
	var all []string
	for _, s := range samples {
		for _, text := range s.LeftOut {
			if !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "benchmark figures left out: " + strings.Join(all, "; ")
}

func value[T int | uint64 | float64](p *T) (float64, bool) {
	if p == nil {
		return 0, false
	}
	return float64(*p), true
}
