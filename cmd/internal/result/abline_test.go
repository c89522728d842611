package result

import "testing"

// The line of an arm is the one that was given: without --tree, what the command starts would run
// unchanged.
func TestABLine(t *testing.T) {
	for want, a := range map[string]ABArm{
		"folio exec --thp heap -- ./prog x":        {THP: "heap", Program: Program{Command: []string{"./prog", "x"}}},
		"folio exec --tree --thp heap -- ./prog x": {THP: "heap", Program: Program{Command: []string{"./prog", "x"}, Tree: true}},
		"GOGC=400 ./prog":                          {Env: []string{"GOGC=400"}, Program: Program{Command: []string{"./prog"}}},
	} {
		if got := a.Line(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
