package document

import (
	"cmp"
	"slices"
)

// fewForFront is how many runs an arm needs to be on the line of the front.
const fewForFront = 3

// front returns the settings of the final that none has beaten in metric and memory, by memory: the
// Pareto frontier of the medians. nil for less than two.
func (t *tuned) front() []*tunedArm {
	var out []*tunedArm
	for i := range t.arms {
		if a := &t.arms[i]; a.placed && a.Final != nil && a.Final.Front && a.Final.N >= fewForFront {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b *tunedArm) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) })
	if len(out) < 2 {
		return nil
	}
	return out
}
