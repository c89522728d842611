package table

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	var b strings.Builder
	tb := New(&b, "program", "wall")
	tb.Row("a", "1 s")
	tb.Rowf("%s | %d s", "b", 2)
	if want := "| program | wall |\n|---|---|\n| a | 1 s |\n| b | 2 s |\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
	defer func() {
		if recover() == nil {
			t.Error("a row of three cells in a table of two is written")
		}
	}()
	tb.Rowf("%s | %d s | x", "c", 3)
}
