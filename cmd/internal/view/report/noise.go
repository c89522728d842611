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
	rounds := unit.Plural(n.Rounds, "round")
	if n.Quiet() {
		return fmt.Sprintf("Quiet: %s find most differences of %s and more", rounds, atLeast(n.Detectable))
	}
	text := fmt.Sprintf("Noisy: %s miss most differences below %s", rounds, atLeast(n.Detectable))
	if n.Detectable > tooNoisy {
		text = fmt.Sprintf("Noisy: %s find hardly any difference below 100%%", rounds)
	}
	if n.Detectable > result.WantedDifference {
		text += fmt.Sprintf("; finding %s takes about %s", unit.Percent(result.WantedDifference), unit.Plural(n.Needed, "round"))
	}
	return text
}
