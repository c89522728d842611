package tune

import (
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial"
)

// The line says first how long it still takes and what is best.
func TestProgressString(t *testing.T) {
	arm := func(name string) *Arm { return &Arm{Arm: &trial.Arm{Name: name}} }
	for want, p := range map[string]Progress{
		"warm-up: default":                          {Stage: InWarmup, Arm: arm("default")},
		"race: round 1, run 3, 9 settings: GOGC=50": {Stage: InRace, Round: 1, Trials: 2, Settings: 9, Arm: arm("GOGC=50")},
		"final: at most 9s left, best GOGC=800, round 2 of 10, run 54, 6 settings: GOGC=400": {Stage: InFinal, Round: 2, Of: 10, Trials: 53, Settings: 6,
			Arm: arm("GOGC=400"), Best: arm("GOGC=800"), Left: 9 * time.Second},
	} {
		if got := p.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
