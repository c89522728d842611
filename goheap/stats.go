package goheap

import (
	"slices"
	"time"

	system "github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/page"
)

// Stats is what an [Advisor] knows and did. Sizes are in bytes. What it knows of the
// heap is from its last look ([Stats.Looked]).
type Stats struct {
	// Ranges are the addresses of the heap.
	Ranges []page.Range
	// Mapped is their size; Committed the part that the runtime has in use or
	// keeps; Resident what is in memory, Huge the part of that in huge pages.
	Mapped, Committed, Resident, Huge uint64
	// Bloat is Resident less Committed: memory that is there although the runtime
	// has released it, or never had it. There may be more, in what the runtime
	// committed and the program never wrote to.
	Bloat uint64
	// Windows counts what became of windows since the start. Already, Empty and
	// Sparse are from the last look.
	Windows page.Collapsed
	// Filled is how many bytes of holes collapsing filled.
	Filled uint64
	// Released is how many bytes of resident memory were released, in Releases steps.
	Released uint64
	Releases int
	// Reserved is the reserve that is made; empty when it was released because the
	// program locked its memory.
	Reserved page.Range
	// Advised is the part of an adaptive reserve that asks for huge pages: as far as the
	// heap can grow until its next look. GivenUp is why it does not, "" if it does or
	// none was made yet.
	Advised page.Range
	GivenUp string
	// Fenced are the parts of the heap that are out of khugepaged's reach by now
	// (MADV_NOHUGEPAGE), because it would fill them.
	Fenced []page.Range
	// Looks counts how often the heap's pages were looked at; Spent is how long that and
	// all else took.
	Looks  int
	Looked time.Time
	Spent  time.Duration
	// Waiting says why there is nothing done now, although there is something to
	// do: "the GC marks", "memory pressure"... "" if it is not waiting.
	Waiting string
	// Hazards are settings of the system that work against a heap on huge pages,
	// with how to change them.
	Hazards []string
	// Err is the last error, nil if there was none: also of what was tried again since.
	Err error
}

// Coverage returns Huge / Resident, 0 if nothing is resident.
func (s Stats) Coverage() float64 {
	if s.Resident == 0 {
		return 0
	}
	return float64(s.Huge) / float64(s.Resident)
}

// state is the Stats of an advisor that runs. Its ranges and windows, which hide those of
// Stats, are of the package that the advisor works with.
type state struct {
	Stats
	Ranges, Fenced    []system.Range
	Windows           system.Collapsed
	Reserved, Advised system.Range
}

// snapshot returns the Stats, sharing nothing with s.
func (s *state) snapshot() Stats {
	out := s.Stats
	out.Ranges, out.Fenced = ranges(s.Ranges), ranges(s.Fenced)
	out.Windows = page.Collapsed(s.Windows)
	out.Reserved, out.Advised = page.Range(s.Reserved), page.Range(s.Advised)
	out.Hazards = slices.Clone(s.Hazards)
	return out
}

func ranges(in []system.Range) []page.Range {
	if in == nil {
		return nil
	}
	out := make([]page.Range, len(in))
	for i, r := range in {
		out[i] = page.Range(r)
	}
	return out
}
