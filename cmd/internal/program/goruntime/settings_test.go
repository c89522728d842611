package goruntime

import (
	"errors"
	"math"
	"testing"
)

// What contradicts itself is not taken for runtime.gcController.
func TestPacerCheck(t *testing.T) {
	const mib = 1 << 20
	sound := pacer{GCSettings{200, math.MaxInt64}, 8 * mib, 100*mib + 2*(100+3+1)*mib, 100 * mib, 3 * mib, 1 * mib}
	for _, tt := range []struct {
		name   string
		change func(*pacer)
		ok     bool
	}{
		{"sound", func(*pacer) {}, true},
		{"without globals", func(p *pacer) { p.goal -= 2 * mib }, true},
		{"goal above", func(p *pacer) { p.goal++ }, false},
		{"goal below", func(p *pacer) { p.goal -= 2*mib + 1 }, false},
		{"minimum", func(p *pacer) { p.minimum = 4 * mib }, false},
		{"small heap", func(p *pacer) { p.marked, p.goal = 0, 8*mib }, true},
		{"off", func(p *pacer) { p.Percent, p.minimum, p.goal = -1, heapMinimum(-1), math.MaxUint64 }, true},
		{"off with a goal", func(p *pacer) { p.Percent, p.minimum = -1, heapMinimum(-1) }, false},
		{"negative GOGC", func(p *pacer) { p.Percent, p.minimum, p.goal = -2, heapMinimum(-2), math.MaxUint64 }, false},
		{"negative limit", func(p *pacer) { p.Limit = -1 }, false},
		{"live heap", func(p *pacer) { p.marked = 1 << 60 }, false},
		{"stacks", func(p *pacer) { p.stacks = 1 << 60 }, false},
		// The goal of so large a GOGC may overflow.
		{"largest GOGC", func(p *pacer) { p.Percent, p.minimum = math.MaxInt32, heapMinimum(math.MaxInt32); p.goal = p.minimum }, true},
		{"zero", func(p *pacer) { *p = pacer{} }, false},
	} {
		p := sound
		tt.change(&p)
		if err := p.check(); (err == nil) != tt.ok || err != nil && !errors.Is(err, ErrInconsistent) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
