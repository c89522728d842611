package gccontrol

import "time"

// Params are the parameters of a Controller. Zero fields mean the defaults; values
// out of range are clamped.
type Params struct {
	// Threshold is the GC share of CPU time up to which GOGC stays as it is. Default: 0.02;
	// 0.005 for a program that waits within a limit (see Sample.CPUs).
	Threshold float64
	// Target is the GC share that memory is spent to reach, never more than Threshold.
	// Default: half of Threshold.
	Target float64
	// MaxCost is the GC share near the memory limit at which the limit is raised:
	// 0.25 by default. (The runtime itself stops at 0.5.)
	MaxCost float64
	// MinCycle is the time between two GC cycles below which GC counts as too
	// frequent, whatever its share: see [Options]. Default: 20 ms.
	MinCycle time.Duration
	// Floor is the least effective GOGC in percent, that is, how much more than
	// the live heap there must be before the memory limit is raised: 10 by
	// default.
	Floor int
	// Ceiling is the highest GOGC that is set, in percent: 20000 by default.
	Ceiling int
	// MemoryPerCPU is how many bytes of memory one CPU is worth: see [Options]. Default:
	// 8 GiB for samples that are not Limited, no bound for others.
	MemoryPerCPU uint64
	// UserGOGC and UserLimit say that the user has set GOGC or the memory limit
	// before the first sample. It is not touched then.
	UserGOGC, UserLimit bool
}

// memoryPerCPU is the price where nothing limits the process. AWS Fargate sells both
// apart, $0.04048 for a vCPU-hour and $0.004445 for a GB-hour (us-east-1, Linux/x86,
// 2026): 9.1 GB for a vCPU.
const memoryPerCPU = 8 << 30

// Defaults of Params.Threshold.
const (
	threshold        = 0.02
	thresholdWaiting = 0.005
)

// shares returns the GC share up to which GOGC stays as it is, and the one that memory is spent
// to reach. What a busy program saves below the usual ones is little. One that waits, as servers
// do, is judged by how long each request takes: at 1% more than 1% of the requests meet a GC
// cycle or what it leaves behind. Within a limit, which is paid for whether it is used or not,
// memory is spent on that, too.
func (p *Params) shares(waits bool) (most, target float64) {
	most, target = p.Threshold, p.Target
	switch {
	case most > 0:
	case waits:
		most = thresholdWaiting
	default:
		most = threshold
	}
	if !(target > 0) {
		target = most / 2
	}
	return most, min(target, most)
}

// Base is the default GOGC.
const Base = 100

const base = Base

func (p Params) withDefaults() Params {
	share := func(v *float64, otherwise, least, most float64) {
		switch {
		case !(*v > 0): // NaN too
			*v = otherwise
		case *v < least:
			*v = least
		case *v > most:
			*v = most
		}
	}
	if p.Threshold != 0 {
		share(&p.Threshold, threshold, 0.001, 0.5)
	}
	most, target := p.shares(false)
	if p.Target != 0 {
		share(&p.Target, target, 0.0005, most)
	}
	share(&p.MaxCost, 0.25, most, 0.5)
	if p.MinCycle <= 0 {
		p.MinCycle = 20 * time.Millisecond
	}
	p.MinCycle = min(p.MinCycle, 10*time.Second)
	if p.Floor <= 0 {
		p.Floor = 10
	}
	p.Floor = min(p.Floor, base)
	if p.Ceiling <= 0 {
		p.Ceiling = 20000
	}
	p.Ceiling = min(max(p.Ceiling, base), 1_000_000)
	return p
}
