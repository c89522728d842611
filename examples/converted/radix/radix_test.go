package radix

import (
	"fmt"
	"slices"
	"testing"

	"github.com/foliomem/folio/arena"
)

func TestTree(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	tree := New(a)
	var want []string
	for i := range 1000 {
		s := fmt.Sprint(i)
		tree.Insert(s, i)
		want = append(want, s)
	}
	slices.Sort(want)
	for i := range 1000 {
		if v, ok := tree.Get(fmt.Sprint(i)); !ok || v != i {
			t.Fatalf("%d: %v %v", i, v, ok)
		}
	}
	if n := tree.DeletePrefix("99"); n != 11 || tree.Len() != 989 {
		t.Errorf("%d deleted, %d left", n, tree.Len())
	}
	if v, ok := tree.Delete("500"); !ok || v != 500 {
		t.Error(v, ok)
	}
	if got := Sorted(want); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got, ok := First(want, "77"); !ok || got != "77" {
		t.Error(got, ok)
	}
}
