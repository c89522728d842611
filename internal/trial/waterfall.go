package trial

import (
	"time"

	"github.com/foliomem/folio/internal/system/inspect"
)

// A Waterfall is the memory of a process of a trial, in parts, near the peak of its RSS.
type Waterfall struct {
	Process *inspect.Process // with the waterfall and the program alone
	At      time.Duration    // since the program was started
	OfPeak  float64          // RSS as a part of its peak, at most 1
}

// NearPeak is the part of the peak from which on a reading is near it.
const NearPeak = 0.95
