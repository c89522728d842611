package trial

import (
	"errors"
	"fmt"
	"slices"
)

// ErrLate ends a measurement in which the load generator was late each time. A note says by how
// much, and what to do.
var ErrLate = errors.New("no run is valid: " + lateFailure)

// AllFailed reports whether the program failed in every run, neither ended by a signal to folio
// nor put under load too late.
func AllFailed(samples []*Sample) bool {
	return !slices.ContainsFunc(samples, func(s *Sample) bool { return s.OK() || s.Late() || s.Interrupted })
}

// Failed is the error when runs of several failed; nil if none did. Those in which the load
// generator was late did not, unless it was in all.
func Failed(samples []*Sample, count int) error {
	n, late := 0, 0
	var last *Sample
	for _, s := range samples {
		switch {
		case s.OK():
		case s.Late():
			late++
		default:
			n, last = n+1, s
		}
	}
	switch {
	case late == len(samples):
		return ErrLate
	case n == 0:
		return nil
	}
	line := ""
	if l := last.Reason(); l != "" {
		line = ": " + l
	}
	return fmt.Errorf("%d of %d runs failed: %s%s", n, count, last.Failure, line)
}
