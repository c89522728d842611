package main

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"regexp"

	"github.com/google/pprof/profile"
)

// collects are the functions of Go's runtime that a program without GC would not call,
// by their names: independent of the rules of folio run.
var collects = regexp.MustCompile(`^runtime\.(gcBgMarkWorker|gcAssistAlloc|gcStart|gcMark|gcmarknewobject|gcDrain|bgsweep|sweepone|deductSweepCredit|\(\*mspan\)\.(sweep|ensureSwept)|\(\*sweepLocked\)|\(\*mcentral\)\.uncacheSpan|bgscavenge|wbBufFlush|gcWriteBarrier|wbMove|wbZero|bulkBarrier|wbBufFlush1|typeBitsBulkBarrier|\(\*mheap\)\.reclaim)`)

// collected is the share of a runtime/pprof profile in which the GC, a sweep or a
// write barrier was on the stack; NaN without a profile.
func collected(path string) (float64, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return math.NaN(), nil
	} else if err != nil {
		return 0, err
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		return 0, err
	}
	var in, all int64
	for _, s := range p.Sample {
		all += s.Value[0]
		if collecting(s) {
			in += s.Value[0]
		}
	}
	return float64(in) / float64(all), nil
}

func collecting(s *profile.Sample) bool {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if line.Function != nil && collects.MatchString(line.Function.Name) {
				return true
			}
		}
	}
	return false
}
