package trial

import (
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/base/stat"
)

// What some runs lack is said with their number.
func TestHeapTreeNote(t *testing.T) {
	sample := func(h ...HeapPrograms) *Sample { return &Sample{Heaps: h} }
	for _, c := range []struct {
		samples []*Sample
		want    string
	}{
		{[]*Sample{{}}, ""},
		{[]*Sample{sample(HeapPrograms{Name: "compile", Execs: 412, Changed: 412}, HeapPrograms{Name: "node", Execs: 1, NotGo: true})},
			"heap on huge pages: compile 412 of 412, node: not Go"},
		{[]*Sample{
			sample(HeapPrograms{Name: "a", Execs: 2, Changed: 1, Reason: "ptrace: denied"}, HeapPrograms{Name: "sh", Execs: 1, NotGo: true}), {},
			sample(HeapPrograms{Name: "a", Execs: 3, Changed: 3}), sample(HeapPrograms{Name: "env", Execs: 1, NotGo: true}, HeapPrograms{Name: "b", Execs: 1, Changed: 1}),
		}, "heap on huge pages: b 1 of 1, a 1 of 2 (ptrace: denied), env: not Go, sh: not Go"},
	} {
		if got := heapTreeNote(c.samples); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestNotesSayInHowManyRuns(t *testing.T) {
	peak := new(uint64(1))
	whole := &Sample{PeakRSS: peak, PeakTreeRSS: peak, HugePeak: peak}
	for _, c := range []struct {
		samples []*Sample
		want    []string
	}{
		{[]*Sample{whole, whole}, nil},
		{[]*Sample{{Failure: "exit code 1"}, {Failure: "exit code 1"}}, []string{FailedNote}}, // no peaks, no GC cycles: it says why
		{[]*Sample{{PeakRSS: peak, PeakTreeRSS: peak}}, []string{"the program ended before its huge pages"}},
		{[]*Sample{{PeakRSS: peak, PeakTreeRSS: peak, attached: true}}, []string{"what is on huge pages could not be read of the process"}},
		{[]*Sample{whole, {PeakRSS: peak, HugePeak: peak}, {PeakRSS: peak}},
			[]string{"in 2 of 3 runs the peak RSS of all processes", "in 1 of 3 runs the program ended before its huge pages"}},
	} {
		notes := &stat.Notes{}
		AddNotes(notes, c.samples, false)
		got := notes.Texts()
		if len(got) != len(c.want) {
			t.Errorf("%q, want %q", got, c.want)
			continue
		}
		for i := range got {
			if !strings.HasPrefix(got[i], c.want[i]) {
				t.Errorf("%q, want %q", got[i], c.want[i])
			}
		}
	}
}
