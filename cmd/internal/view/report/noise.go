package report

import (
	"fmt"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// Noise says how well runs can be compared by a metric; "" where that is not known.
func Noise(n *result.Noise, by *result.Target) string {
	if n == nil {
		return ""
	}
	runs, label := unit.Plural(n.Rounds, "run"), by.Label()
	if n.Quiet() {
		return fmt.Sprintf("Quiet: %s detect most differences of %s from %s on", runs, label, atLeast(n.Detectable))
	}
	text := fmt.Sprintf("Noisy: with %s, most differences of %s below %s go undetected", runs, label, atLeast(n.Detectable))
	if n.Detectable > tooNoisy {
		text = "Noisy: the runs vary too much to compare this program with another"
	}
	if n.Detectable > result.WantedDifference {
		text += fmt.Sprintf("; detecting %s takes about %s", unit.Percent(result.WantedDifference), unit.Plural(n.Needed, "run"))
	}
	return text
}
