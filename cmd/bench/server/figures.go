package main

import (
	"math"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/load"
)

// figures are those of an arm. What is not known is nil, or has no measurements.
type figures struct {
	merged      *load.Merged // nil where no run counts
	p99, perCPU stat.Summary // against the default, within rounds
	cpu         stat.Summary // seconds per request
	rss, group  stat.Summary // peaks, in bytes
	throttled   stat.Summary // share of the periods of the quota
	cycles      stat.Summary // GC cycles per second
	gc          *float64     // share of CPU time
	collecting  stat.Summary // share of the time in which a GC cycle ran
	counted     int          // runs
	kills       uint64       // by the OOM killer
	failed      int          // runs that failed otherwise
	failure     string       // of one of those
}

// cpuKey is the CPU time of the server by the requests that succeeded, without the warm-up.
const cpuKey = "cpu_per_request_seconds"

// newFigures works out the figures of an arm; base is the default.
func newFigures(a, base *Arm) (f figures) {
	var samples []*trial.Sample
	values := make(map[string][]float64)
	add := func(key string, v float64, ok bool) {
		if ok {
			values[key] = append(values[key], v)
		}
	}
	for _, r := range a.Runs {
		if c := r.Sample.Counts; c != nil && c.OOMKills != nil && *c.OOMKills > 0 {
			f.kills += *c.OOMKills
		} else if !r.Sample.OK() {
			f.failed, f.failure = f.failed+1, r.Sample.Failure
		}
		if !r.counts() {
			continue
		}
		f.counted++
		samples = append(samples, r.Sample)
		wall := r.Sample.Wall
		if r.Sample.GCCycles != nil && r.Sample.GCCounted == trial.GCComplete {
			add("cycles", float64(*r.Sample.GCCycles)/wall, wall > 0)
		}
		if r.Collecting != nil {
			add("collecting", min(*r.Collecting/wall, 1), wall > 0)
		}
		if c := r.Sample.Counts; c != nil && c.CPUPeriods != nil && c.ThrottledPeriods != nil {
			add("throttled", float64(*c.ThrottledPeriods)/float64(*c.CPUPeriods), *c.CPUPeriods > 0)
		}
	}
	f.merged = trial.MergedLoad(samples)
	f.cpu, f.cycles = stat.Summarize(trial.FigureOf(cpuKey).Values(samples)), stat.Summarize(values["cycles"])
	f.collecting, f.throttled = stat.Summarize(values["collecting"]), stat.Summarize(values["throttled"])
	f.rss = stat.Summarize(trial.FigureOf("peak_rss_bytes").Values(samples))
	f.group = stat.Summarize(trial.FigureOf("cgroup_peak_bytes").Values(samples))
	if v, ok := trial.FigureOf("gc_cpu_fraction").Center(samples); ok {
		f.gc = &v
	}
	f.p99 = paired(base, a, func(r *Run) (float64, bool) { return worst99(r), true })
	f.perCPU = paired(base, a, func(r *Run) (float64, bool) { return trial.FigureOf(cpuKey).Get(r.Sample) })
	return f
}

// worst99 is the p99 of a run, in seconds. Where more than 1% of its requests failed, it is
// not known, but ranks above all answers: the timeout is the least that it can be.
func worst99(r *Run) float64 {
	if p := r.Sample.Load.Latency.P99; p != nil {
		return *p
	}
	return r.Sample.Load.Settings.Timeout
}

// paired is the ratio of a figure in the rounds in which both count.
func paired(base, a *Arm, figure func(*Run) (float64, bool)) stat.Summary {
	of := make(map[int]float64)
	for _, r := range base.Runs {
		if v, ok := value(r, figure); ok {
			of[r.Round] = v
		}
	}
	var from, to []float64
	for _, r := range a.Runs {
		b, both := of[r.Round]
		if v, ok := value(r, figure); ok && both {
			from, to = append(from, b), append(to, v)
		}
	}
	return stat.PairedRatio(from, to)
}

func value(r *Run, figure func(*Run) (float64, bool)) (float64, bool) {
	if !r.counts() {
		return 0, false
	}
	v, ok := figure(r)
	return v, ok && !math.IsNaN(v)
}
