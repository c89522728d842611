package report

import (
	"fmt"
	"math"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// SuggestionWords says in sentences what a call site allocates, how long that lives, and what
// an arena would save.
func SuggestionWords(s result.Suggestion, c result.SuggestCost) []string {
	rate := ""
	if c.Wall != nil && *c.Wall > 0 {
		rate = fmt.Sprintf("%s/s, %s objects/s, ", unit.Bytes(float64(s.AllocBytes) / *c.Wall), unit.Count(float64(s.AllocObjects) / *c.Wall))
	}
	each := none
	if s.AllocObjects > 0 {
		each = unit.Bytes(math.Round(float64(s.AllocBytes) / float64(s.AllocObjects)))
	}
	known := ""
	if s.Samples != nil && *s.Samples > 0 {
		known = " " + unit.Spread(2/math.Sqrt(*s.Samples))
	}
	out := []string{rate + fmt.Sprintf("%s each; %s of all bytes%s", each, unit.Percent(s.Share), known)}
	life := fmt.Sprintf("%s of it was in use at the end", unit.Percent(s.Kept))
	if s.Life != nil && *s.Life > 0 {
		life += ": it lives for about " + unit.Seconds(*s.Life)
	} else if s.Kept == 0 {
		life = "nothing of it was in use at the end"
	}
	out = append(out, life)
	if s.GC != nil && s.Low != nil && s.High != nil {
		out = append(out, fmt.Sprintf("it causes %s of the CPU time in the GC; an arena would save %s to %s",
			unit.Percent(*s.GC), unit.Percent(*s.Low), unit.Percent(*s.High)))
	}
	return out
}

// CostWords says what the run cost.
func CostWords(c result.SuggestCost) string {
	switch {
	case c.CPU == nil || *c.CPU <= 0:
		return "what the GC costs is not known: give the command too, to measure it"
	case c.GC == nil:
		return unit.Seconds(*c.CPU) + " of CPU time: what the GC took of it is not known"
	case c.Allocation == nil:
		return fmt.Sprintf("%s of CPU time: the GC %s", unit.Seconds(*c.CPU), unit.Percent(*c.GC / *c.CPU))
	}
	return fmt.Sprintf("%s of CPU time: the GC %s, allocation %s", unit.Seconds(*c.CPU), unit.Percent(*c.GC / *c.CPU),
		unit.Percent(*c.Allocation / *c.CPU))
}

// ArenaHow says how a program comes to use an arena.
var ArenaHow = []string{
	"Make the arena where what it holds begins to live, and free it where that ends:",
	"a := arena.NewArena(); defer a.Free()   (or take it from an arena.Pool)",
	"What outlives it is copied with arena.Clone. folio vet finds what was forgotten.",
}
