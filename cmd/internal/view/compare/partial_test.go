package compare_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/trial"
	. "github.com/foliomem/folio/cmd/internal/view/compare"
)

// Of a GC trace that was seen in part nothing is said to differ: it is a lower bound. Other
// figures of the same runs are compared.
func TestPartialTrace(t *testing.T) {
	whole := set(t, "whole.json", ran("run", "./prog", "6.1", map[string]float64{"": 1}))
	f := ran("run", "./prog", "6.1", map[string]float64{"": 2})
	f.Arms[0].Samples[9].GCCounted = trial.GCPartial
	part := set(t, "part.json", f)
	for _, sides := range [][2]*Set{{whole, part}, {part, whole}, {part, part}} {
		c, err := Compare(sides[0], sides[1], &Options{All: true})
		if err != nil {
			t.Fatal(err)
		}
		unknown, other := 0, 0
		for _, table := range c.Tables {
			r, fig := table.Rows[0], figureOf(table.Unit)
			if r.Unknown() != fig.OfGC || (r.Delta() == "unknown") != fig.OfGC {
				t.Errorf("%s: %s (%s)", table.Unit, r.Delta(), r.Why())
			}
			if fig.OfGC {
				unknown++
			} else {
				other++
			}
		}
		if unknown < 2 || other < 3 {
			t.Errorf("%d figures of the trace and %d others", unknown, other)
		}
		var text bytes.Buffer
		if err := said(&text, c, 120); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(text.String(), "  lower bounds: not all GC cycles were seen  "); got != unknown {
			t.Errorf("said %d times of %d:\n%s", got, unknown, text.String())
		}
	}
}

func figureOf(unit string) figure.Figure {
	fig, _ := figure.OfUnit(unit)
	return fig
}

// A result that ended early is compared by what it has, and that is said.
func TestNotCompleted(t *testing.T) {
	whole := set(t, "whole.json", ran("run", "./prog", "6.1", map[string]float64{"": 1}))
	for why, want := range map[string]string{
		"":            "cut.json: not completed yet: what was measured until then is compared",
		"interrupted": "cut.json: not completed (interrupted): what was measured until then is compared",
	} {
		f := ran("run", "./prog", "6.1", map[string]float64{"": 2})
		f.Complete, f.Error = false, why
		cut := set(t, "cut.json", f)
		for _, sides := range [][2]*Set{{whole, cut}, {cut, whole}} {
			c, err := Compare(sides[0], sides[1], nil)
			if err != nil {
				t.Fatal(err)
			}
			if notes := c.Notes.Texts(); !slices.Contains(notes, want) {
				t.Errorf("notes %q, want %q", notes, want)
			}
		}
	}
	c, err := Compare(whole, whole, nil)
	if err != nil || strings.Contains(strings.Join(c.Notes.Texts(), "\n"), "not completed") {
		t.Errorf("%v, notes %q", err, c.Notes.Texts())
	}
}
