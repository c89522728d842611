package kubernetes

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/unit"
)

const (
	mib = 1 << 20
	// headroom is how much more than the measured peak is requested: no two days are alike.
	headroom = 0.1
	// cpuStep is what requests of CPU time are rounded up to, in thousandths.
	cpuStep = 10
)

// OfTune returns the patch that says what a search recommends first.
func OfTune(f *result.File) (Patch, error) {
	rec, arm, err := f.Recommended()
	if err != nil {
		return Patch{}, err
	}
	p := Patch{Comments: []string{
		"What folio tune recommends for " + line(f.Program) + ", measured " + f.Created.UTC().Format("2006-01-02") + ": " + arm.Name,
	}}
	switch {
	case f.Answer.State == result.AnswerInconclusive:
		p.Comments = append(p.Comments, "Inconclusive: a longer search may recommend something else.")
	case len(f.Arms) > 0 && arm.Name == f.Arms[0].Name:
		p.Comments = append(p.Comments, "It is the default: no setting was measurably better.")
	}
	if len(f.Program.Environment) > 0 {
		p.Comments = append(p.Comments, "It was measured with "+strings.Join(f.Program.Environment, " ")+" in the environment, which is not in this patch.")
	}
	p.env(*rec, arm)
	if f.Program.Attached != 0 {
		p.Comments = append(p.Comments, "It was measured on a process as it ran: resources are left as they are.")
		return p, nil
	}
	if f.Program.Limits == nil {
		p.Comments = append(p.Comments, "It was measured without --cgroup-memory and --cgroup-cpus: resources are left as they are.")
		return p, nil
	}
	p.resources(f, arm)
	return p, nil
}

// line is how the program is started.
func line(p result.Program) string {
	if p.Attached != 0 {
		return result.ShellLine(p.Command)
	}
	return p.Line(trial.Setting{})
}

// env takes over the setting, and says what of it is not a variable.
func (p *Patch) env(rec result.Recommendation, arm *result.Arm) {
	s := arm.Setting.Trial()
	p.Set(s)
	if !s.Build.IsZero() {
		p.Comments = append(p.Comments, fmt.Sprintf("The image has to be built with %s, which is not in this patch:", s.Build))
		for _, line := range rec.Permanent {
			p.Comments = append(p.Comments, "  "+line)
		}
	} else if s.THP != trial.THPSystem {
		line := rec.ShellLine
		if line == "" { // redacted
			line = s.Line([]string{"PROGRAM"})
		}
		p.Comments = append(p.Comments, fmt.Sprintf("thp=%s is not a variable, and not in this patch:", s.THP), "  "+line)
		for _, line := range rec.Permanent {
			p.Comments = append(p.Comments, "  "+line)
		}
	}
}

// Set adds the variables of a setting. Huge pages and builds are none.
func (p *Patch) Set(s trial.Setting) {
	for _, kv := range s.Vars() {
		name, value, _ := strings.Cut(kv, "=")
		p.Env = append(p.Env, Variable{Name: name, Value: value})
	}
}

// resources takes over the limits that the runs had, and requests what was measured in
// them.
func (p *Patch) resources(f *result.File, arm *result.Arm) {
	peak, peaks, cgroup := peakOf(arm)
	if limit := f.Program.Limits.Memory; limit != nil {
		p.Limits.Memory = *limit
		p.Limits.WhyMemory = "as measured: --cgroup-memory"
		if peaks > 0 {
			measured := roundUp(uint64(math.Ceil(float64(peak)*(1+headroom))), mib)
			of := "peak RSS"
			if cgroup {
				of = "peak of the cgroup, page cache and kernel memory included"
			}
			p.Requests.WhyMemory = fmt.Sprintf("%s: the largest %s, of %s, and 10%%", unit.Size(peak), of, unit.Plural(peaks, "run"))
			if arm.Growing() {
				p.Requests.WhyMemory += "; at least: it was still growing when the load ended"
			}
			least, why := growsTo(f, arm)
			if least = roundUp(least, mib); least > measured {
				p.Requests.WhyMemory = why
			}
			p.Requests.Memory = min(max(measured, least), *limit)
		}
	}
	if cpus := f.Program.Limits.CPUs; cpus != nil {
		p.Limits.CPU = milli(*cpus)
		p.Limits.WhyCPU = "as measured: --cgroup-cpus"
		if use, n := cpuOf(arm); n > 0 {
			p.Requests.CPU = min(roundUp(milli(use), cpuStep), p.Limits.CPU)
			p.Requests.WhyCPU = fmt.Sprintf("the most that a run took under this load, of %s", unit.Plural(n, "run"))
		}
	}
}

// growsTo returns what an arm comes to take however short its runs were, and why: what the heap
// grows to before a GC cycle starts, and the rest beside it. It is 0 where that is not known, and
// for programs that ended by themselves, which take no more.
func growsTo(f *result.File, arm *result.Arm) (bytes uint64, why string) {
	s := effective(f, arm)
	live, rest := liveOf(f, arm)
	goal, ok := goalOf(s.GOGC, live)
	switch {
	case s.GOGC == trial.Off && s.MemLimit > 0:
		bytes, why = s.MemLimit, "GOMEMLIMIT: with GOGC=off the heap grows up to it"
	case f.Program.Ready == "":
		return 0, ""
	case ok && (s.MemLimit == 0 || goal <= s.MemLimit):
		bytes, why = goal, fmt.Sprintf("the heap grows to %s at this GOGC: %s are live", unit.Size(goal), unit.Size(live))
	case s.MemLimit > 0 && (ok || arm.Growing()):
		bytes, why = s.MemLimit, "GOMEMLIMIT: the heap grows up to it"
	default:
		return 0, ""
	}
	if rest > 0 {
		bytes, why = bytes+rest, why+fmt.Sprintf(", and %s beside it", unit.Size(rest))
	}
	if arm.Growing() {
		why += "; the load ended before a second GC cycle did"
	}
	return bytes, why
}

// effective returns the setting that the program had: what the arm does not set is of the
// environment.
func effective(f *result.File, arm *result.Arm) trial.Setting {
	s := arm.Setting.Trial()
	for _, kv := range f.Program.Environment {
		switch name, value, _ := strings.Cut(kv, "="); {
		case name == "GOGC" && s.GOGC == "":
			if s.GOGC = value; strings.HasPrefix(value, "-") {
				s.GOGC = trial.Off
			}
		case name == "GOMEMLIMIT" && s.MemLimit == 0:
			s.MemLimit, _ = unit.ParseSize(value) // 0 for off
		}
	}
	return s
}

// goalOf returns the heap at which a GC cycle starts; ok is false where there is none, or what
// is live is not known.
func goalOf(gogc string, live uint64) (bytes uint64, ok bool) {
	const minimum = 4 * mib // at GOGC=100
	percent := 100.0
	if gogc != "" {
		n, err := strconv.Atoi(gogc)
		if err != nil || n < 0 {
			return 0, false
		}
		percent = float64(n)
	}
	return uint64(max(float64(live)*(1+percent/100), minimum*percent/100)), live > 0
}

// liveOf returns the largest live heap of the runs of an arm, and what was in memory beside the
// heap; of all arms where its own runs had too few GC cycles to tell. 0 is not known.
func liveOf(f *result.File, arm *result.Arm) (live, rest uint64) {
	arms := []result.Arm{*arm}
	if arm.Growing() {
		arms = f.Arms
	}
	atMost := uint64(math.MaxUint64) // of runs of which the heap at the peak is not known: no less than was live
	for i := range arms {
		for _, s := range arms[i].Samples {
			peak, _, _ := peakOf(&result.Arm{Samples: []*trial.Sample{s}})
			switch {
			case peak == 0 || s.LivePeak == nil || *s.LivePeak > peak:
				continue
			case s.Growing:
				atMost = min(atMost, peak-*s.LivePeak)
			case s.HeapPeak != nil && *s.HeapPeak <= peak:
				rest = max(rest, peak-*s.HeapPeak)
			}
			live = max(live, *s.LivePeak)
		}
	}
	if rest == 0 && atMost < math.MaxUint64 {
		rest = atMost
	}
	return live, rest
}

// peakOf returns the largest peak of memory of the runs of an arm that count, of how many,
// and whether it is what their cgroup counted: it is not where one of them has no such count,
// or where RSS was more.
func peakOf(arm *result.Arm) (peak uint64, n int, cgroup bool) {
	var rss uint64
	cgroup = true
	for _, s := range arm.Samples {
		if !s.OK() {
			continue
		}
		m, ok := s.Memory()
		if !ok {
			continue
		}
		n++
		rss = max(rss, uint64(m))
		if s.Counts == nil || s.CgroupPeak == nil {
			cgroup = false
			continue
		}
		peak = max(peak, *s.CgroupPeak)
	}
	if !cgroup || rss > peak { // page cache that another cgroup was charged for is the pod's there
		peak, cgroup = rss, false
	}
	return peak, n, cgroup && n > 0
}

// cpuOf returns the most CPUs that a run of an arm took under folio's own load, which comes
// at a fixed rate: only there it says what the service needs.
func cpuOf(arm *result.Arm) (cpus float64, n int) {
	for _, s := range arm.Samples {
		if s.OK() && s.Load != nil && s.Wall > 0 {
			cpus = max(cpus, s.CPU/s.Wall)
			n++
		}
	}
	return cpus, n
}

func roundUp[T uint64 | int64](n, step T) T { return (n + step - 1) / step * step }
