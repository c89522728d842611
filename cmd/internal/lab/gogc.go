package lab

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/trial"
)

var gogc = &Experiment{
	Name:     "gogc",
	Question: "How much work is lost to GC cycles that come too often, and which GOGC gets it back?",
	Source:   "Vlad Krasnov, Go, don't collect my garbage (2017): 48 goroutines sign 79k times a second with the default GOGC, 691k with GOGC=11300 (24 cores)",
	Figures: []Figure{
		{Key: opsKey, Label: "ops/s", Unit: "ops/s"},
		{Key: "goroutine_ops_per_second", Label: "each", Unit: "goroutine-ops/s"},
		{Key: "cycles_per_second", Label: "GCs/s", Unit: "gc-cycles/s"},
		runtimeGC,
		{Key: rssKey, Label: "peak RSS", Unit: "peak-RSS-bytes"},
		{Key: "gogc", Label: "GOGC in the end", Unit: "gogc", Minor: true},
	},
	defaults: Params{Size: 1 << 30, Count: 600, Rounds: 5},
	quick:    Params{Size: 256 << 20, Count: 150, Rounds: 3},
	noWarmup: true, // each trial warms up by itself
	arms:     gogcArms,
	work:     gogcWork,
	meaning:  gogcMeaning,
	charts:   chartsOfGOGC(),
	trace:    gogcTrace,
}

// runtimeGC is the GC's share of CPU time by runtime/metrics. The runtime counts GC
// workers from start to end, also while they wait for a CPU, as gctrace does, and
// leaves out sweeping and write barriers: beside two busy loops on two CPUs it was 1.5
// times what samples show. So it is bounded by CPU time, and named as what it is;
// sentences go by samples.
var runtimeGC = Figure{Key: "gc_runtime_fraction", Label: "GC by runtime", Unit: "gc-runtime-fraction"}

const (
	opsKey = "ops_per_second"
	rssKey = "rss_bytes"
)

// fewMillis is the length of a trial, in milliseconds, below which there is time
// for a few values only.
const fewMillis = 400

// What arms differ in: Arm.Varies.
const (
	VariesGOGC       = "gogc"
	VariesGoroutines = "goroutines"
)

// gogcArms are, for each workload, the numbers of goroutines at the default GOGC,
// and the values of GOGC at as many goroutines as there are processors. All have
// the experiment's size as their memory limit: without one, a collector that is
// off, or nearly so, would take what there is.
func gogcArms(m *Machine, p Params) []*Arm {
	values := []string{"50", "100", "200", "400", "800", "1600", "3200", "6400", "12800", "20000", trial.Off}
	if p.Count < fewMillis {
		values = []string{"100", "400", "3200", trial.Off}
	}
	var arms []*Arm
	for _, l := range gogcLoads {
		add := func(name, about, group, varies, value, how string, goroutines int) {
			arms = append(arms, &Arm{
				Work: l.name, Varies: varies,
				Name: l.name + "-" + name, About: about, Group: l.title + ", " + group,
				Task:    Task{How: l.name + how, Goroutines: goroutines},
				Setting: &trial.Setting{GOGC: value, MemLimit: p.Size, Env: env(value)},
			})
		}
		for _, n := range widths(m.CPUs, p.Count < fewMillis) {
			add(fmt.Sprintf("goroutines-%d", n), "default GOGC", "by goroutines, default GOGC", VariesGoroutines, "100", "", n)
		}
		group := "by GOGC, goroutines: " + strconv.Itoa(m.CPUs)
		for _, v := range values {
			add(v, "GOGC="+v, group, VariesGOGC, v, "", m.CPUs)
		}
		add("gctune", "package gctune instead of a value", group, "", "", "/"+tuned, m.CPUs)
	}
	return arms
}

// env keeps a GOGC of the environment away from the arm that is tuned: it would
// be left alone.
func env(value string) []string {
	if value == "" {
		return []string{"GOGC="}
	}
	return nil
}

// widths are the numbers of goroutines that are tried: up to twice the
// processors, all of them while they are few.
func widths(cpus int, few bool) []int {
	var out []int
	switch {
	case few:
		out = []int{1, cpus, 2 * cpus}
	case cpus <= 4:
		for n := range 2 * cpus {
			out = append(out, n+1)
		}
	default:
		for n := 1; n < cpus; n *= 2 {
			out = append(out, n)
		}
		out = append(out, cpus, cpus+cpus/2, 2*cpus)
	}
	return slices.Compact(out)
}

// A gogcFinding is what was found of one workload.
type gogcFinding struct {
	load                gogcLoad
	base                *ArmResult // GOGC=100
	best, worst         *ArmResult // of the values
	tuned               *ArmResult
	bestRate, worstRate float64
	baseRate, tunedRate float64
	bestRSS, tunedRSS   float64
	apart               bool // best and worst, as far as so few runs decide it
}

// gogcFindings compares the values of GOGC, for each workload of which the
// default was measured. The best value is the one that takes the least memory of
// those within 1% of the fastest.
func gogcFindings(o *Outcome) (out []gogcFinding) {
	size := o.Params.Size
	for _, l := range gogcLoads {
		f := gogcFinding{load: l, base: o.gogcArm(l, VariesGOGC, "100", 0), tuned: o.gogcArm(l, "", "", 0)}
		f.baseRate, f.tunedRate, f.tunedRSS = o.at(f.base, size, opsKey), o.at(f.tuned, size, opsKey), o.at(f.tuned, size, rssKey)
		if f.baseRate == 0 {
			continue
		}
		var values []*ArmResult
		most := 0.0
		for _, a := range o.Arms {
			rate := o.at(a, size, opsKey)
			if a.Arm.Work != l.name || a.Arm.Varies != VariesGOGC || rate == 0 {
				continue
			}
			values, most = append(values, a), max(most, rate)
			if f.worst == nil || rate < f.worstRate {
				f.worst, f.worstRate = a, rate
			}
		}
		for _, a := range values {
			rate, rss := o.at(a, size, opsKey), o.at(a, size, rssKey)
			if rate >= 0.99*most && (f.best == nil || rss < f.bestRSS) {
				f.best, f.bestRate, f.bestRSS = a, rate, rss
			}
		}
		f.apart = f.best != nil && stat.Compare(f.worst.Values(size, opsKey), f.best.Values(size, opsKey)).Different
		out = append(out, f)
	}
	return out
}

// gogcArm returns the arm of a workload that varies something, with a GOGC, and with so
// many goroutines, 0 for any; nil if there is none. The tuned one varies nothing.
func (o *Outcome) gogcArm(l gogcLoad, varies, gogc string, goroutines int) *ArmResult {
	for _, a := range o.Arms {
		if a.Arm.Work == l.name && a.Arm.Varies == varies && a.Arm.Setting.GOGC == gogc &&
			(goroutines == 0 || a.Arm.Task.Goroutines == goroutines) {
			return a
		}
	}
	return nil
}

// worth is how much faster the best value must be than another for there to be
// anything to say.
const worth = 1.02

// gogcTrace names the arms whose trace is looked at: the slowest and the best
// value of each workload, where they differ.
func gogcTrace(o *Outcome) (out []*ArmResult) {
	for _, f := range gogcFindings(o) {
		if f.bestRate > worth*f.worstRate {
			out = append(out, f.worst, f.best)
		}
	}
	return out
}
