package trial

import (
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/base/stat"
)

// What some runs lack is said with their number.
func TestNotesSayInHowManyRuns(t *testing.T) {
	peak := new(uint64(1))
	whole := &Sample{PeakRSS: peak, PeakTreeRSS: peak, HugePeak: peak}
	for _, c := range []struct {
		samples []*Sample
		want    []string
	}{
		{[]*Sample{whole, whole}, nil},
		{[]*Sample{{PeakRSS: peak, PeakTreeRSS: peak}}, []string{"the program ended before its huge pages"}},
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
