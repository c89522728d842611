package tune

import (
	"fmt"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
	"github.com/foliomem/folio/internal/base/unit"
)

// largeHeap is the heap from which on huge pages are worth a try: smaller ones gain
// nothing.
const largeHeap = 256 << 20

// noGainByHuge says why a program that folio did not build gains nothing by a heap on huge
// pages; "" where it may gain by fewer page faults, or by what addresses cost.
func noGainByHuge(s *trial.Sample) string {
	const (
		least = 0.01
		start = 0.01 // seconds that folio exec takes to start a program, about
		short = start / 0.1
	)
	share, about := faultShare(s)
	switch {
	case s.Wall < short:
		return fmt.Sprintf("a run takes %s, and folio exec, which starts a program that way, some %s", unit.Seconds(s.Wall), unit.SpanSeconds(start))
	case share < least && heapOf(s) < inspect.LittleHeap:
		return fmt.Sprintf("page faults take %s of the CPU time%s, and the heap is small", unit.Percent(share), about)
	}
	return ""
}

// faultShare is the part of the CPU time that page faults take: of the samples of a trial, or
// estimated where they do not show them, which about says: without the kernel's side they are not 0.
func faultShare(s *trial.Sample) (share float64, about string) {
	const fault = 1.4e-6 // CPU seconds of a first touch, as folio lab faults measures it on a virtual machine
	if s.Profile.Shares() && s.Profile.Kernel {
		return s.Profile.Share(profile.PageFaults).Fraction, ""
	}
	if s.CPU <= 0 {
		return 1, ""
	}
	return float64(s.MinorFaults) * fault / s.CPU, " (estimated, 1.4us each)"
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
