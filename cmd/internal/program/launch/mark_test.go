package launch

import (
	"slices"
	"testing"
)

func TestMark(t *testing.T) {
	env := []string{"A=1", "FOLIO_EXEC_PID=12", "B=2"}
	marked := Mark(env, 34)
	if want := []string{"A=1", "B=2", "FOLIO_EXEC_PID=34"}; !slices.Equal(marked, want) || env[1] != "FOLIO_EXEC_PID=12" {
		t.Errorf("%q of %q", marked, env)
	}
	if !Marked(marked, 34) || Marked(marked, 3) || Marked(marked, 12) {
		t.Error("not the mark of process 34 alone")
	}
}
