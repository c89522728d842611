package live

import (
	"fmt"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/memlimit"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/procmem"
)

// levels are the values of GOGC that are tried.
var levels = []int{200, 400, 800}

// fit is the largest GOMEMLIMIT that fits into the limit of the process's container, or into
// --max-rss; nil if there is none, or none that helps.
func (p *Process) fit(heap goruntime.State, status procmem.Status) *memlimit.Fit {
	var c memlimit.Container
	var others []memlimit.Runtime
	l, ok, err := p.fs.MemoryLimit(p.gc.PID)
	if ok && err == nil {
		c, others = memlimit.NewContainer(l), memlimit.Others(p.fs, l.Group, p.gc.PID)
	}
	if m := p.opts.MaxRSS; m > 0 && (c.Limit == 0 || m < c.Limit) {
		c, others = memlimit.Container{Limit: m, Level: "--max-rss"}, nil
	}
	if c.Limit == 0 || status.RssAnon == nil || p.ownLimit {
		return nil
	}
	own := memlimit.OfState(p.gc.PID, p.gc.Name, heap, *status.RssAnon)
	f := c.Fit(own, rssOf(status)-min(rssOf(status), own.Resident), others...)
	if f.Most == 0 {
		return nil
	}
	return &f
}

func rssOf(s procmem.Status) uint64 {
	if s.VmRSS == nil {
		return 0
	}
	return *s.VmRSS
}

// A space is what decides on the settings to try.
type space struct {
	percent       int    // GOGC in effect
	limit         uint64 // GOMEMLIMIT in effect; 0 for none
	live, peak    uint64 // live heap, and peak RSS
	room          uint64 // the RSS that it may come to; 0 for any
	why           string // what bounds that
	cycle         time.Duration
	block, budget time.Duration
	fit           *memlimit.Fit
}

// mostOfBudget is the part of the budget that one block may take: six pairs can show a difference.
const mostOfBudget = 12

// settings returns the settings to try, and those that are not.
func (sp *space) settings() (only []trial.Setting, not []Not) {
	limit := uint64(0) // of those that grow
	if sp.fit != nil && (sp.limit == 0 || sp.fit.Most < sp.limit) {
		limit = sp.fit.Most
	}
	for i, s := range tune.Levels(levels, limit) {
		n := levels[i]
		switch grown := sp.peak + uint64(float64(sp.live)*float64(n-sp.percent)/100); {
		case n <= sp.percent:
			not = append(not, Not{s.String(), fmt.Sprintf("GOGC is %d already", sp.percent)})
		case sp.room > 0 && grown > sp.room:
			not = append(not, Not{s.String(), fmt.Sprintf("would take about %s, more than %s", unit.Size(grown), sp.why)})
		case sp.takes(n) > sp.budget/mostOfBudget:
			not = append(not, Not{s.String(), sp.tooLong(n)})
		default:
			only = append(only, s)
		}
	}
	off, at := trial.Setting{GOGC: trial.Off, MemLimit: limit}, limit
	if limit == 0 {
		at = sp.limit
	}
	switch {
	case at == 0:
		not = append(not, Not{"GOGC=off with GOMEMLIMIT", "no memory limit is known that helps: --max-rss gives one"})
	case sp.room > 0 && at > sp.room:
		not = append(not, Not{off.String(), fmt.Sprintf("GOMEMLIMIT %s is more than %s", unit.Exact(at), sp.why)})
	case sp.levelAt(at) <= sp.percent:
		not = append(not, Not{off.String(), fmt.Sprintf("GOMEMLIMIT %s leaves less than GOGC=%d does", unit.Exact(at), sp.percent)})
	case sp.takes(sp.levelAt(at)) > sp.budget/mostOfBudget:
		not = append(not, Not{off.String(), sp.tooLong(sp.levelAt(at))})
	default:
		only = append(only, off)
	}
	return only, not
}

// levelAt is the GOGC that lets the heap grow as a memory limit does.
func (sp *space) levelAt(limit uint64) int {
	return int(100 * float64(limit-min(limit, sp.live)) / float64(max(sp.live, 1)))
}

// apart is how far apart GC cycles are at a GOGC, if the program allocates as before.
func (sp *space) apart(percent int) time.Duration {
	return time.Duration(float64(sp.cycle) * float64(percent) / float64(max(sp.percent, 1)))
}

// tooLong says why a GOGC is not tried whose GC cycles are far apart.
func (sp *space) tooLong(percent int) string {
	text := fmt.Sprintf("its GC cycles would be about %s apart: ", unit.About(sp.apart(percent)))
	if needs := unit.RoundUp(mostOfBudget * sp.takes(percent)); needs <= tune.MostAdvised {
		return text + "give --budget " + unit.Span(needs) + " or more"
	}
	return text + "too far for blocks to be compared within an hour, and so few cycles leave little to gain"
}

// takes is how long a block takes at a GOGC.
func (sp *space) takes(percent int) time.Duration {
	return sp.apart(percent) + max(sp.block, leastCycles*sp.apart(percent))
}
