package gccontrol

import "testing"

// BenchmarkNext is the decision alone.
func BenchmarkNext(b *testing.B) {
	w := simulate(costly(100*mb), Params{})
	b.ReportAllocs()
	for b.Loop() {
		w.s.Time += 20e6
		w.s.Cycles++
		w.s.CPU += 40e6
		w.s.GCTime += 1e6
		w.s.Allocated += 20 * mb
		w.c.Next(w.s)
	}
}
