package btree

import "testing"

var sink map[int]int

func BenchmarkInsert(b *testing.B) {
	for b.Loop() {
		sink = map[int]int{1: 2}
	}
}

func BenchmarkDelete(b *testing.B) {
	for b.Loop() {
		delete(sink, 1)
	}
}
