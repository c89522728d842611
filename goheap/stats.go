package goheap

import (
	"slices"
	"time"

	system "github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/page"
)

// Stats is what an [Advisor] has done, and what it knows of the heap since its last look
// ([Stats].Looked). Sizes are in bytes.
type Stats struct {
	Ranges    []page.Range // the addresses of the heap
	Mapped    uint64       // their size
	Committed uint64       // the part of Mapped that the runtime uses or keeps
	Resident  uint64       // the part of Mapped that is in memory
	Huge      uint64       // the part of Resident on huge pages
	// Bloat is Resident less Committed: memory that the runtime has released or never used,
	// and that is resident all the same. There may be more, in what the runtime committed
	// and the program never wrote to.
	Bloat uint64
	// Windows counts windows by what became of them since the start. Already, Empty and
	// Sparse are from the last look.
	Windows  page.Collapsed
	Filled   uint64 // memory that collapsing added, by filling holes
	Released uint64 // resident memory that was released because it was bloat
	Releases int    // how often bloat was released
	// Reserved is the reserve; empty if there is none, or if it was released because the
	// program locked its memory.
	Reserved page.Range
	// Advised is the part of an adaptive reserve that asks for huge pages: as far as the
	// heap can grow until the next look.
	Advised page.Range
	GivenUp string // why an adaptive reserve asks for none; "" if it does, or there is none
	// Fenced are the parts of the heap that are advised against huge pages
	// (MADV_NOHUGEPAGE), because khugepaged would fill their holes.
	Fenced  []page.Range
	Looks   int           // how often the advisor read which pages of the heap are resident
	Looked  time.Time     // when it last did; zero if never
	Spent   time.Duration // how long the advisor has worked in all: looking, collapsing, releasing
	Waiting string        // why the advisor waits although there is work, such as "the GC marks"; else ""
	Hazards []string      // settings of the system that work against huge pages, and how to change them
	Err     error         // the last error, even if a later try succeeded; nil if there was none
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
