package perf

import "testing"

// A sample with a call chain of 32 addresses, which is most of what a session reads.
func BenchmarkDecode(b *testing.B) {
	chain := make([]any, 32)
	for i := range chain {
		chain[i] = 0x400000 + 64*i
	}
	rec := record(recordSample, 2, cpuSample(1, chain...)...)
	d, n := newDecoder(layout{}), 0
	h := &Handler{Sample: func(*Sample) { n++ }}
	b.SetBytes(int64(len(rec)))
	b.ReportAllocs()
	for b.Loop() {
		d.decode(rec, h)
	}
	if n == 0 || d.corrupt > 0 {
		b.Fatalf("%d samples, %d corrupt", n, d.corrupt)
	}
}
