package result

import (
	"errors"
	"math"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/process/history"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
)

// OverTime is the memory of a process over time. Its lists have an entry for each reading
// that is kept.
type OverTime struct {
	Seconds []float64      `json:"seconds"` // since the first reading
	RSS     []uint64       `json:"rss_bytes"`
	Parts   []PartOverTime `json:"parts"`
	// Since the first reading. GC cycles are null where the runtime could not be read, all
	// of them for a program that is not Go.
	Cycles []*uint32 `json:"gc_cycles"`
	// Page faults are null where they were not counted.
	Minor []uint64 `json:"minor_faults"`
	Major []uint64 `json:"major_faults"`
	// Used is what the cgroup with the limit uses, but for page cache that the kernel takes
	// back easily; null for none.
	Used []*uint64 `json:"cgroup_used_bytes"`
	// Stride is how many readings an entry stands for at most: that with the most RSS.
	Stride int `json:"stride"`

	// Growth is null while too little was seen.
	Growth        *Growth  `json:"growth"`
	GrowthSeconds *float64 `json:"growth_seconds"` // what it was seen in
	UsedGrowth    *Growth  `json:"cgroup_used_growth"`
}

// A PartOverTime is a part of RSS.
type PartOverTime struct {
	Kind string `json:"kind" redact:"keep"`
	// Bytes are null where a reading does not tell: see [history.Point.Known].
	Bytes  []*int64 `json:"bytes"`
	Growth *Growth  `json:"growth"`
}

// Known returns the bytes of the readings that tell them.
func (p PartOverTime) Known() (out []int64) {
	for _, b := range p.Bytes {
		if b != nil {
			out = append(out, *b)
		}
	}
	return out
}

// Growth is by how much something grows, with its 95% confidence interval, null with too few
// readings.
type Growth struct {
	PerMinute float64  `json:"bytes_per_minute"`
	Lo        *float64 `json:"lo"`
	Hi        *float64 `json:"hi"`
}

// Steady reports whether nothing is known to grow or to shrink.
func (g *Growth) Steady() bool {
	return g.Lo == nil || g.Hi == nil || *g.Lo <= 0 && *g.Hi >= 0
}

func newGrowth(t stat.Trend) *Growth {
	g := &Growth{PerMinute: t.Slope}
	if !math.IsInf(t.Lo, 0) && !math.IsInf(t.Hi, 0) {
		g.Lo, g.Hi = &t.Lo, &t.Hi
	}
	return g
}

// SetHistory adds what the process had over time, and by how much that grows: nil if too
// little was seen. Process must be set.
func (f *Inspect) SetHistory(h *history.History, g *history.Growth) {
	out := newOverTime(h, g)
	out.Minor, out.Major = []uint64{}, []uint64{}
	for _, p := range h.Points {
		out.Minor, out.Major = append(out.Minor, p.Minor), append(out.Major, p.Major)
	}
	f.Process.OverTime = out
}

// newOverTime is without page faults.
func newOverTime(h *history.History, g *history.Growth) *OverTime {
	out := &OverTime{Seconds: []float64{}, RSS: []uint64{}, Parts: []PartOverTime{}, Stride: h.Stride}
	cycles, used := false, false
	for _, p := range h.Points {
		cycles, used = cycles || p.Cycles != nil, used || p.Used != nil
	}
	for _, p := range h.Points {
		out.Seconds, out.RSS = append(out.Seconds, p.At.Seconds()), append(out.RSS, p.RSS)
		if cycles {
			out.Cycles = append(out.Cycles, p.Cycles)
		}
		if used {
			out.Used = append(out.Used, p.Used)
		}
	}
	for k := range waterfall.Kinds {
		part, any := PartOverTime{Kind: k.String()}, false
		for _, p := range h.Points {
			any = any || p.Parts[k] != 0
			if p.Known(k) {
				part.Bytes = append(part.Bytes, &p.Parts[k])
			} else {
				part.Bytes = append(part.Bytes, nil)
			}
		}
		if !any {
			continue
		}
		if g != nil {
			if t, ok := g.Parts[k]; ok {
				part.Growth = newGrowth(t)
			}
		}
		out.Parts = append(out.Parts, part)
	}
	if g != nil {
		out.Growth, out.GrowthSeconds = newGrowth(g.RSS), new(g.Over.Seconds())
		if g.Used != nil {
			out.UsedGrowth = newGrowth(*g.Used)
		}
	}
	return out
}

// Title is the name of the part for people.
func (p PartOverTime) Title() string { return waterfall.Title(p.Kind) }

// Part returns a part by its kind, nil if there is none.
func (o *OverTime) Part(kind string) *PartOverTime {
	for i := range o.Parts {
		if o.Parts[i].Kind == kind {
			return &o.Parts[i]
		}
	}
	return nil
}

// UntilFull is how long the memory of the cgroup lasts if it grows as it did, in seconds; ok
// is false if it is not known to grow, or without a limit.
func (p *Process) UntilFull() (seconds float64, ok bool) {
	if p.Limit == nil || p.OverTime == nil || p.OverTime.UsedGrowth == nil {
		return 0, false
	}
	g := p.OverTime.UsedGrowth
	if g.Steady() || g.PerMinute <= 0 {
		return 0, false
	}
	return float64(p.Limit.Bytes-min(p.Limit.Bytes, p.Limit.InUse())) / g.PerMinute * 60, true
}

// check refuses lists that do not have an entry for each reading: files may be anybody's.
func (o *OverTime) check() error {
	if o != nil && !o.sameLen() {
		return errors.New("over_time has lists of different lengths")
	}
	return nil
}

func (o *OverTime) sameLen() bool {
	n := len(o.Seconds)
	for _, p := range o.Parts {
		if len(p.Bytes) != n {
			return false
		}
	}
	return len(o.RSS) == n && len(o.Minor) == len(o.Major) && (len(o.Minor) == n || len(o.Minor) == 0) && (len(o.Cycles) == n || len(o.Cycles) == 0) &&
		(len(o.Used) == n || len(o.Used) == 0)
}
