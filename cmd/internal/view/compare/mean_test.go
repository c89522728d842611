package compare

import "testing"

// Three runs a side cannot be told apart by any test, so none is shown.
func TestTooFewRuns(t *testing.T) {
	var r Row
	r.Test.P, r.Test.Ratio = 1, 2
	for n, want := range map[[2]int]string{{1, 1}: "1 run each: too few to tell",
		{2, 2}: "2 runs each: too few to tell", {1, 4}: "1 and 4 runs: too few to tell", {3, 3}: "3 runs each: too few to tell",
		{3, 4}: "3 and 4 runs: too few to tell", {2, 40}: "2 and 40 runs: too few to tell", {4, 4}: "", {3, 9}: ""} {
		r.Test.N1, r.Test.N2 = n[0], n[1]
		if few := want != ""; r.Unknown() != few || (r.Delta() == "unknown") != few || few && r.Why() != want {
			t.Errorf("%v: %t, %s, %s", n, r.Unknown(), r.Delta(), r.Why())
		}
	}
	r.Test.N1, r.Test.N2, r.Sampled = 3, 3, true
	if got := r.Why(); got != "3 sampled runs each: too few to tell" {
		t.Error(got)
	}
	r.Test.N1, r.Test.N2 = 4, 4
	table := Table{Rows: []Row{r, r}}
	for i := range table.Rows {
		table.Rows[i].Old.Median, table.Rows[i].New.Median = 1, 2
	}
	if table.mean(); table.Mean != 2 {
		t.Errorf("mean %v", table.Mean)
	}
	table.Mean, table.Rows[1].Test.N1 = 0, 1
	if table.mean(); table.Mean != 0 {
		t.Errorf("mean %v of what was run once", table.Mean)
	}
}
