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
		return fmt.Sprintf("Quiet: %s of this program and of another would show most differences of %s and more", runs, atLeast(n.Detectable))
	}
	text := fmt.Sprintf("Noisy: the runs vary; %s of this program and of another would not show most differences below %s", runs, atLeast(n.Detectable))
	if n.Detectable > tooNoisy {
		text = "Noisy: the runs vary too much to compare this program with another"
	}
	if n.Detectable > result.WantedDifference {
		text += fmt.Sprintf("; differences of %s take about %s of each", unit.Percent(result.WantedDifference), unit.Plural(n.Needed, "run"))
	}
	return text
}
