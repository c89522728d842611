package trial

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
)

// GC cycles are drawn when they ended, not when folio came to read their lines: what is
// between them is what the runtime itself says.
func TestSeriesHasTimesOfCycles(t *testing.T) {
	const n = 40
	var out bytes.Buffer
	p := role("paced", fmt.Sprint(n))
	p.ReadGC, p.KeepSeries, p.Stdout = true, true, &out
	s := runOK(t, p, Setting{})
	var ended []float64
	for l := range strings.Lines(out.String()) {
		var at int64
		if _, err := fmt.Sscanf(l, "ended %d", &at); err == nil {
			ended = append(ended, float64(at)/1e9)
		}
	}
	drawn := s.Series.GC.Seconds
	if len(ended) != n || len(drawn) != n || s.Series.GC.Stride != 1 || s.Series.GC.Len() != n {
		t.Fatalf("%d cycles, %d drawn, %d each: %s", len(ended), len(drawn), s.Series.GC.Stride, &out)
	}
	if drawn[0] < 0 || drawn[n-1] > s.Wall {
		t.Errorf("drawn from %v to %v, but the program ran from 0 to %v", drawn[0], drawn[n-1], s.Wall)
	}
	// Lines tell whole milliseconds. One in five may be anything, should the machine
	// stand still between the runtime's looks at its clock.
	good := 0
	for i := 1; i < n; i++ {
		if math.Abs((drawn[i]-drawn[i-1])-(ended[i]-ended[i-1])) < 0.0025 {
			good++
		}
	}
	if good < n*4/5 {
		t.Errorf("%d of %d cycles are where they ended: %v, %v", good, n-1, drawn, ended)
	}
}
