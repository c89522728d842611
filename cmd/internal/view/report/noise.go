package report

import (
	"fmt"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// Noise says how well runs can be compared; "" where that is not known.
func Noise(n *result.Noise) string {
	if n == nil {
		return ""
	}
	runs := unit.Plural(n.Rounds, "run")
	if n.Quiet() {
		return fmt.Sprintf("Quiet: comparing %s of this program with as many of another detects most differences of %s and more", runs, atLeast(n.Detectable))
	}
	text := fmt.Sprintf("Noisy: comparing %s of this program with as many of another misses most differences below %s", runs, atLeast(n.Detectable))
	if n.Detectable > tooNoisy {
		text = "Noisy: the runs vary too much to compare this program with another"
	}
	if n.Detectable > result.WantedDifference {
		text += fmt.Sprintf("; to detect %s takes about %s of each", unit.Percent(result.WantedDifference), unit.Plural(n.Needed, "run"))
	}
	return text
}
