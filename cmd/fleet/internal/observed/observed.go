// Package observed is what is known of one workload over time: what the rules record.
package observed

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/metrics"
	"github.com/foliomem/folio/cmd/fleet/internal/rules"
)

// A Series has one value a step; NaN is missing.
type Series []float64

// A History is the figures of a workload. Start is the time of the first value of each.
type History struct {
	Start  time.Time
	Step   time.Duration
	Len    int
	Values map[string]map[rules.Source]Series // by name of the recorded series
	Class  map[rules.Source]map[string]Series // TaxCores by class
	Go     map[string]bool                    // versions
}

// New makes a history without figures.
func New(start time.Time, step time.Duration, n int) *History {
	return &History{Start: start, Step: step, Len: n, Values: map[string]map[rules.Source]Series{}, Class: map[rules.Source]map[string]Series{}, Go: map[string]bool{}}
}

// Missing makes a series of which nothing is known.
func (h *History) Missing() Series {
	s := make(Series, h.Len)
	for i := range s {
		s[i] = math.NaN()
	}
	return s
}

// Put adds a value. Of several in one step the largest counts.
func (h *History) Put(labels map[string]string, name string, i int, v float64) {
	if i < 0 || i >= h.Len || math.IsNaN(v) {
		return
	}
	source := rules.Source(labels[rules.LabelSource])
	var s Series
	switch name {
	case rules.GoVersions:
		if len(h.Go) < 100 {
			h.Go[labels[metrics.LabelGoVersion]] = true
		}
		return
	case rules.TaxCores:
		if h.Class[source] == nil {
			h.Class[source] = map[string]Series{}
		}
		class := labels[metrics.LabelClass]
		if s = h.Class[source][class]; s == nil {
			s = h.Missing()
			h.Class[source][class] = s
		}
	default:
		if h.Values[name] == nil {
			h.Values[name] = map[rules.Source]Series{}
		}
		if s = h.Values[name][source]; s == nil {
			s = h.Missing()
			h.Values[name][source] = s
		}
	}
	if math.IsNaN(s[i]) || v > s[i] {
		s[i] = v
	}
}

// Best is the series of the most exact source; nil if no source has it.
func (h *History) Best(name string) (Series, rules.Source) {
	for _, s := range rules.Sources {
		if v := h.Values[name][s]; v != nil {
			return v, s
		}
	}
	return nil, ""
}

// GC is the CPU time of the GC, in cores; nil if it is not known.
func (h *History) GC() (Series, rules.Source) {
	for _, s := range rules.Sources {
		if h.Class[s] == nil {
			continue
		}
		sum := h.Missing()
		for class, series := range h.Class[s] {
			if class != rules.ClassGC && !slices.Contains(metrics.GCClasses, class) {
				continue
			}
			for i, v := range series {
				if !math.IsNaN(v) {
					sum[i] = v + zero(sum[i])
				}
			}
		}
		return sum, s
	}
	return nil, ""
}

func zero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// Cut is the history before a step.
func (h *History) Cut(n int) *History {
	out := New(h.Start, h.Step, n)
	for name, by := range h.Values {
		out.Values[name] = map[rules.Source]Series{}
		for s, v := range by {
			out.Values[name][s] = v[:n]
		}
	}
	for s, by := range h.Class {
		out.Class[s] = map[string]Series{}
		for class, v := range by {
			out.Class[s][class] = v[:n]
		}
	}
	out.Go = h.Go
	return out
}

// Known is the values that there are.
func (s Series) Known() []float64 {
	var out []float64
	for _, v := range s {
		if !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	return out
}

// Mean is NaN where nothing is known.
func (s Series) Mean() float64 {
	k := s.Known()
	sum := 0.0
	for _, v := range k {
		sum += v
	}
	return sum / float64(len(k))
}

// Quantile is the value that so large a share of the known ones does not pass.
func (s Series) Quantile(q float64) float64 {
	k := s.Known()
	if len(k) == 0 {
		return math.NaN()
	}
	slices.Sort(k)
	return k[min(int(math.Ceil(q*float64(len(k)-1))), len(k)-1)]
}

// Last is the last known value, NaN for none.
func (s Series) Last() float64 {
	for i := len(s) - 1; i >= 0; i-- {
		if !math.IsNaN(s[i]) {
			return s[i]
		}
	}
	return math.NaN()
}

// Peaks are the largest values of pieces of n steps, the last of which ends the series;
// those of which less than half is known are left out.
func (s Series) Peaks(n int) []float64 {
	var out []float64
	for end := len(s); end >= n; end -= n {
		piece := s[end-n : end].Known()
		if len(piece) >= n/2 && len(piece) > 0 {
			out = append(out, slices.Max(piece))
		}
	}
	slices.Reverse(out)
	return out
}

// Older says that a version of Go is older than 1.minor; what is not a release is not.
func Older(version string, minor int) bool {
	rest, ok := strings.CutPrefix(version, "go1.")
	if !ok {
		return false
	}
	n, digits := 0, 0
	for _, c := range []byte(rest) {
		if c < '0' || c > '9' || digits > 3 {
			break
		}
		n, digits = n*10+int(c-'0'), digits+1
	}
	return digits > 0 && n < minor
}
