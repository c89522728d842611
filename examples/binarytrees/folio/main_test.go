package main

import (
	"strings"
	"testing"
)

// The table is that of the program's model, at a depth where arenas are freed
// and trees have arenas of their own.
func TestTable(t *testing.T) {
	const want = `
stretch tree of depth 17        arenas: 1        nodes: 262143     MB: 4.0
    65536 trees of depth 4      arenas: 31       nodes: 2031616    MB: 31.0
    16384 trees of depth 6      arenas: 32       nodes: 2080768    MB: 31.8
     4096 trees of depth 8      arenas: 32       nodes: 2093056    MB: 31.9
     1024 trees of depth 10     arenas: 32       nodes: 2096128    MB: 32.0
      256 trees of depth 12     arenas: 29       nodes: 2096896    MB: 32.0
       64 trees of depth 14     arenas: 22       nodes: 2097088    MB: 32.0
       16 trees of depth 16     arenas: 16       nodes: 2097136    MB: 32.0
long lived tree of depth 16     arenas: 1        nodes: 131071     MB: 2.0
`
	for _, args := range [][]string{{"16"}, {"-base", "-no-idle", "-slab", "65536", "16"}} {
		var got strings.Builder
		if err := run(args, &got); err != nil || got.String() != want[1:] {
			t.Errorf("%v: %v\n%s", args, err, &got)
		}
	}
	var perTree strings.Builder
	if err := run([]string{"-batch", "0", "8"}, &perTree); err != nil ||
		!strings.Contains(perTree.String(), "256 trees of depth 4      arenas: 256 ") {
		t.Errorf("%v\n%s", err, &perTree)
	}
}

func TestBadDepth(t *testing.T) {
	for _, depth := range []string{"0", "41", "x"} {
		if err := run([]string{depth}, nil); err == nil || !strings.Contains(err.Error(), "from 1 to 40") {
			t.Errorf("depth %s: %v", depth, err)
		}
	}
}
