package parser

import "testing"

type node struct{ left, right *node }

var sink *node

func parse(depth int) *node {
	if depth == 0 {
		return nil
	}
	return &node{parse(depth - 1), parse(depth - 1)}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		sink = parse(8)
	}
}

func TestParse(t *testing.T) {
	if parse(1) == nil {
		t.Error("nothing was parsed")
	}
}
