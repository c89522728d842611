package document

import (
	"cmp"
	"slices"
)

// fewForFront is how many runs an arm needs to be on the line of the front.
const fewForFront = 3

// A span is where a value lies, as far as the result says.
type span struct{ lo, hi float64 }

// apart says that two spans have nothing in common.
func (s span) apart(o span) bool { return s.hi < o.lo || o.hi < s.lo }

// spans are where an arm of the final lies: metric and memory. What has no interval is
// taken as measured.
func (t *tuned) spans(a *tunedArm) (metric, memory span) {
	metric, memory = span{a.y, a.y}, span{a.x, a.x}
	if a.lo != nil {
		metric = span{*a.lo, *a.hi}
	}
	base := t.arms[0].Final
	switch r := a.Final.MemoryRatio; {
	case a.memory.Lo != nil && a.memory.Hi != nil:
		memory = span{*a.memory.Lo, *a.memory.Hi}
	case r != nil && r.Lo != nil && r.Hi != nil && base != nil && base.Memory != nil:
		memory = span{*base.Memory * *r.Lo, *base.Memory * *r.Hi}
	}
	return metric, memory
}

// front returns the arms that the line joins, by memory: those that the result has on the
// front, beginning with the one that is recommended (else the smallest), and to both sides
// each next one whose intervals of metric and memory are apart from those of its neighbor
// on the line.
func (t *tuned) front() []*tunedArm {
	var all []*tunedArm
	for i := range t.arms {
		if a := &t.arms[i]; a.placed && a.Final != nil && a.Final.Front && a.Final.N >= fewForFront {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b *tunedArm) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) })
	first := 0
	if r := t.file.Recommendations; len(r) > 0 {
		first = max(0, slices.IndexFunc(all, func(a *tunedArm) bool { return a.Name == r[0].Arm }))
	}
	var out []*tunedArm
	next := func(a *tunedArm) {
		if len(out) > 0 {
			m, mem := t.spans(out[len(out)-1])
			if om, omem := t.spans(a); !m.apart(om) || !mem.apart(omem) {
				return
			}
		}
		out = append(out, a)
	}
	for i := first; i >= 0 && i < len(all); i-- {
		next(all[i])
	}
	slices.Reverse(out)
	for i := first + 1; i < len(all); i++ {
		next(all[i])
	}
	if len(out) < 2 {
		return nil
	}
	return out
}
