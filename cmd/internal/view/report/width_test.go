package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
)

// Pictures keep to the width of the terminal where it is 60 columns or more, and
// say all they have in any.
func TestPicturesKeepToTheWidth(t *testing.T) {
	res, err := search(t, &fake{perCycle: 20_000}, tune.Options{Limits: tune.Limits{RSS: 300 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	f := tuneFile(res)
	front := frontOf(f)
	if len(front) < 3 {
		t.Fatalf("%d settings on the front", len(front))
	}
	for _, columns := range []int{20, 40, 60, 80, 100, 120, 300} {
		tn := &Tune{File: f, Notes: &stat.Notes{}, Width: columns}
		lines := tn.plot(front)
		text := strings.Join(lines, "\n")
		for i := range front {
			if !strings.Contains(text, legend(front, i)) {
				t.Errorf("%d columns: %q is missing", columns, legend(front, i))
			}
		}
		if w := tn.table().width(); w > columns && columns >= 80 {
			t.Errorf("%d columns: a table of %d", columns, w)
		}
		lines = append(lines, shares(&profile.Result{Classes: []profile.ClassShare{{Class: profile.GCMark, Seconds: 10,
			Fraction: 0.99}, {Class: profile.Growth, Seconds: 0.1, Fraction: 0.01}}}, columns)...)
		for _, l := range lines {
			if n := utf8.RuneCountInString(l); n > columns && columns >= 60 {
				t.Errorf("%d columns: a line of %d: %q", columns, n, l)
			}
		}
	}
}
