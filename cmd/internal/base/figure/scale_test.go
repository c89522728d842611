package figure

import (
	"testing"

	"github.com/foliomem/folio/internal/base/unit"
	"golang.org/x/perf/benchunit"
	"pgregory.net/rapid"
)

// Folio's tables stand beside benchstat's: a figure reads the same in both.
func TestScaleIsBenchstats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(1e-9, 1e15).Draw(t, "v")
		if got, want := unit.Scaled(v), benchunit.Scale(v, benchunit.Decimal); got != want {
			t.Errorf("%v: %s, benchstat has %s", v, got, want)
		}
		if v < 1 {
			return
		}
		if got, want := unit.Bytes(v), benchunit.Scale(v, benchunit.Binary)+"B"; got != want {
			t.Errorf("%v bytes: %s, benchstat has %s", v, got, want)
		}
	})
}
