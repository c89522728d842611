package compare_test

import (
	"fmt"
	"slices"
	"testing"

	. "github.com/foliomem/folio/cmd/internal/view/compare"
)

// What is compared in one unit is not one-sided: only the units are that a side lacks.
func TestOneSidedByUnit(t *testing.T) {
	text := func(lines ...string) []byte {
		var out []byte
		for range 6 {
			for _, l := range lines {
				out = fmt.Appendf(out, "Benchmark%s\n", l)
			}
		}
		return out
	}
	before := set(t, "old.txt", text("A 1 5 ns/op", "B 1 5 ns/op", "Gone 1 5 ns/op"))
	after := set(t, "new.txt", text("A 1 5 ns/op 7 tail-ns/op 8 gc-cpu-sec/op", "B 1 5 ns/op", "New 1 5 ns/op 7 tail-ns/op"))
	c, err := Compare(before, after, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"Gone"}; !slices.Equal(c.OnlyOld, want) {
		t.Errorf("only in old: %q, want %q", c.OnlyOld, want)
	}
	if want := []string{"A: tail-sec/op, GC CPU", "New"}; !slices.Equal(c.OnlyNew, want) {
		t.Errorf("only in new: %q, want %q", c.OnlyNew, want)
	}
}
