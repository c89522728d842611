package gctune

import "time"

// Params are what a Controller is told once. Zero fields mean the defaults; what
// is out of range is brought into it.
type Params struct {
	// Leave is the share of the processor time below which collection is left
	// as it is: 0.02 by default.
	Leave float64
	// Target is the share that memory is spent to reach: half of Leave by
	// default, and never more.
	Target float64
	// MaxCost is the share that collection may cost near the memory limit,
	// before the limit gives way: 0.25 by default. (The runtime itself stops at
	// 0.5.)
	MaxCost float64
	// MinCycle is the time between two collections below which they are taken to
	// be costly whatever the runtime's account says: each empties pools, wakes
	// threads and stops all for a moment, which is in no account. Where memory
	// is spent, 6 times as long is aimed at. Default: 20 ms.
	MinCycle time.Duration
	// Floor is the least effective GOGC in percent, that is, how much more than
	// the live heap there must be before the memory limit gives way: 10 by
	// default.
	Floor int
	// Ceiling is the most that GOGC is set to, in percent: 20000 by default.
	Ceiling int
	// UserGOGC and UserLimit say that the user has set GOGC or the memory limit
	// before the first sample. It is not touched then.
	UserGOGC, UserLimit bool
}

// base is the GOGC of a program that nobody tunes.
const base = 100

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
	share(&p.Leave, 0.02, 0.001, 0.5)
	share(&p.Target, p.Leave/2, 0.0005, p.Leave)
	share(&p.MaxCost, 0.25, p.Leave, 0.5)
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
