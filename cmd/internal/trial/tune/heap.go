package tune

import (
	"fmt"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/unit"
)

// largeHeap is the heap from which on huge pages are worth a try: smaller ones gain
// nothing.
const largeHeap = 256 << 20

// noGainByHuge says why a program that folio did not build gains nothing by a heap on huge
// pages; "" where it may gain by fewer page faults, or by what addresses cost.
func noGainByHuge(s *trial.Sample) string {
	const (
		fault = 0.5e-6 // CPU seconds of a first touch, about
		least = 0.01
		start = 0.01 // seconds that folio exec takes to start a program, about
		short = start / 0.1
	)
	switch {
	case s.Wall < short:
		return fmt.Sprintf("a run takes %s, and folio exec, which starts a program that way, some %s", unit.Seconds(s.Wall), unit.SpanSeconds(start))
	case float64(s.MinorFaults)*fault < least*s.CPU && heapOf(s) < inspect.LittleHeap:
		return "page faults take less than 1% of the CPU time, and the heap is small"
	}
	return ""
}

// heapOf estimates the heap that the limits are laid around.
func heapOf(s *trial.Sample) uint64 {
	switch {
	case s.HeapPeak != nil:
		return *s.HeapPeak
	case s.PeakRSS != nil:
		return *s.PeakRSS
	}
	return minLimit
}
