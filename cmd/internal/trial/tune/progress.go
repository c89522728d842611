package tune

import (
	"fmt"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/unit"
)

// A Stage is a part of a search.
type Stage string

const (
	InWarmup Stage = "warm-up" // InBuilds comes next, where there are any
	InRace   Stage = "race"
	InFinal  Stage = "final"
)

// Progress is what is known while the search runs.
type Progress struct {
	Stage     Stage
	Round, Of int // round of the stage, from 1; Of how many, 0 for not known
	Trials    int // ended so far
	Settings  int // in the round
	Arm       *Arm
	Sample    *trial.Sample // nil: the trial starts
	Sampled   bool          // where its CPU time goes is to be sampled
	Best      *Arm          // so far; nil at first
	Left      time.Duration // of the budget; 0 where there is none
}

// String is a line for who waits. What is worth most comes first: a narrow terminal cuts the rest.
func (p Progress) String() string {
	text := string(p.Stage)
	if p.Stage != InWarmup {
		var parts []string
		if p.Left > 0 {
			parts = append(parts, "at most "+unit.Span(p.Left.Round(time.Second))+" left")
		}
		if p.Best != nil {
			parts = append(parts, "best "+p.Best.Name)
		}
		round := fmt.Sprintf("round %d", p.Round)
		if p.Of > 0 {
			round += fmt.Sprintf(" of %d", p.Of)
		}
		parts = append(parts, round, fmt.Sprintf("run %d", p.Trials+1), unit.Plural(p.Settings, "setting"))
		text += ": " + strings.Join(parts, ", ")
	}
	if p.Arm != nil {
		text += ": " + p.Arm.Name
	}
	return text
}
