package goheap

import "testing"

// What an advisor does at each look, even where nothing is to be done.
func BenchmarkReadHeap(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if h := readHeap(); h.mapped == 0 {
			b.Fatal("no heap is mapped")
		}
	}
}

func BenchmarkStats(b *testing.B) {
	a := newAdvisor(Options{})
	a.publish()
	b.ReportAllocs()
	for b.Loop() {
		a.Stats()
	}
}
