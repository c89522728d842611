package profile

import (
	"cmp"
	"math"
	"slices"
)

// Mean returns the result of several runs of one program together: the mean time
// of each class and call site, and the sum of the samples. Its fractions are the
// pooled ones, the time of a class in all runs by the CPU time of all runs, so that
// they relate to each other as those of one run do; medians of each would not. nil
// for none.
func Mean(results []*Result) *Result {
	switch len(results) {
	case 0:
		return nil
	case 1:
		return results[0]
	}
	n := float64(len(results))
	out := &Result{Hardware: results[0].Hardware, Kernel: results[0].Kernel}
	for _, r := range results {
		out.UncertainNames = cmp.Or(out.UncertainNames, r.UncertainNames)
	}
	seconds := make(map[Class]float64)
	sites, faults := make(tally), make(tally)
	faultClasses := make(map[Class]float64)
	heapFaults, largest, misses, counted := 0.0, 0.0, 0.0, true
	for _, r := range results {
		out.Samples += r.Samples
		heapFaults += float64(r.HeapFaults) / n
		largest += float64(r.LargestFaults) / n
		out.Lost += r.Lost
		out.Unsymbolized += r.Unsymbolized
		if counted = counted && r.TLBMisses != nil; counted {
			misses += float64(*r.TLBMisses) / n
		}
		out.Hardware = out.Hardware && r.Hardware
		out.Kernel = out.Kernel && r.Kernel
		for _, c := range r.Classes {
			seconds[c.Class] += c.Seconds / n
		}
		for _, c := range r.FaultClasses {
			faultClasses[c.Class] += float64(c.Faults) / n
		}
		for _, s := range r.Sites {
			for class, part := range s.Classes {
				sites.add(&frame{name: s.Func, file: s.File, line: s.Line, doubt: s.Uncertain}, class, s.Seconds*part/n)
			}
		}
		for _, s := range r.FaultSites {
			for class, part := range s.Classes {
				faults.add(&frame{name: s.Func, file: s.File, line: s.Line, doubt: s.Uncertain}, class, float64(s.Faults)*part/n)
			}
		}
	}
	if counted {
		m := uint64(math.Round(misses))
		out.TLBMisses = &m
	}
	out.classes(seconds, &sites)
	out.faults(faultClasses, &faults)
	out.HeapFaults = min(uint64(math.Round(heapFaults)), out.Faults)
	out.notesOf(results)
	out.LargestFaults = min(uint64(math.Round(largest)), out.Faults)
	return out
}

// Scale returns the result with the same shares of other seconds, by times as many. What
// is counted for each fault stays.
func (r *Result) Scale(by float64) *Result {
	out := *r
	out.Classes, out.Sites = slices.Clone(r.Classes), slices.Clone(r.Sites)
	for i := range out.Classes {
		out.Classes[i].Seconds *= by
	}
	for i := range out.Sites {
		out.Sites[i].Seconds *= by
	}
	if r.TLBMisses != nil {
		n := uint64(math.Round(float64(*r.TLBMisses) * by))
		out.TLBMisses = &n
	}
	return &out
}

// Scale returns the tree with by times the values.
func (t *Tree) Scale(by float64) *Tree {
	out := *t
	out.Totals, out.Self.Values = slices.Clone(t.Totals), slices.Clone(t.Self.Values)
	for i := range out.Totals {
		out.Totals[i].Value *= by
		out.Totals[i].Memory *= by
	}
	for i := range out.Self.Values {
		out.Self.Values[i] *= by
	}
	out.Pruned *= by
	return &out
}
