package trial

import (
	"time"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
)

// A Waterfall is the memory of a process of a trial, in parts, near the peak of its RSS.
type Waterfall struct {
	Process *inspect.Process // with the waterfall and the program alone
	At      time.Duration    // since the program was started
	OfPeak  float64          // RSS as a part of its peak, at most 1
}

// NearPeak is the part of the peak from which on a reading is near it.
const NearPeak = 0.95

// PeakWaterfall returns the waterfall of the sample with the highest peak, of those that were
// read near it if there are any; nil if there is none.
func PeakWaterfall(samples []*Sample) *Waterfall {
	var most *Sample
	near := func(s *Sample) bool { return s.Waterfall.OfPeak >= NearPeak }
	for _, s := range samples {
		switch {
		case s.Waterfall == nil || s.PeakRSS == nil:
		case most == nil, near(s) && !near(most), near(s) == near(most) && *s.PeakRSS > *most.PeakRSS:
			most = s
		}
	}
	if most == nil {
		return nil
	}
	return most.Waterfall
}

// Cycles are the GC cycles that the runtime of the process had counted; 0 for nil, and
// where that is not known.
func (w *Waterfall) Cycles() int {
	if w == nil || w.Process.Waterfall == nil || w.Process.Waterfall.GC == nil {
		return 0
	}
	return int(w.Process.Waterfall.GC.Cycles)
}
