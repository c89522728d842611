package inspect

import "testing"

// Who lacks the right is told to take it, and who cannot have it is told nothing.
func TestCollapseCommand(t *testing.T) {
	for _, c := range []struct {
		goHeap, mayNice, root bool
		want                  string
	}{
		{true, true, true, "folio collapse 7"},
		{true, true, false, "folio collapse 7"}, // by setcap
		{true, false, false, "sudo folio collapse 7"},
		{false, false, false, "sudo folio collapse --all-anonymous 7"},
		{true, false, true, ""},
	} {
		if got := collapseCommand(7, c.goHeap, c.mayNice, c.root); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
