package diagnose

import (
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

// An Analysis is what was found in the samples of a run. It is made once, right after
// measuring, and kept in the result: what shows the result adds nothing to it.
type Analysis struct {
	// GC says what the figures of the GC are; "" where none are known.
	GC trial.GCState `json:"gc_counted,omitempty" redact:"keep"`
	// Where is where the time pooled over all runs went; nil: not sampled, or too little.
	Profile *profile.Result `json:"profile"`
	// Tax is the one figure of a run: what managing memory costs. Nil where Profile is, and
	// where too much time is in code without names.
	Tax *Tax `json:"memory_tax"`
	// Noise is how much the runs differ from one another; nil with few of them.
	Noise *stat.Noise `json:"noise,omitempty"`
	// Time says in sentences where the time went.
	Time     []string   `json:"time" redact:"prose"`
	Findings []NextStep `json:"findings"` // the largest possible gain first
	// Unknown says why there is no memory tax, and what to do.
	Unknown string `json:"unknown,omitempty" redact:"prose"`
	// Nothing says why there are no findings, where the memory tax is known.
	Nothing string `json:"nothing,omitempty" redact:"prose"`
}

// A Tax is the memory tax pooled over all runs, as a part of CPU time.
type Tax struct {
	Fraction float64 `json:"fraction"`
	// Lo and Hi are its 95% interval by the number of samples (Wilson's): how runs
	// differ from one another is not in it.
	Lo float64 `json:"lo"`
	Hi float64 `json:"hi"`
}

func newTax(p *profile.Result) *Tax {
	if !p.Shares() {
		return nil
	}
	lo, hi := stat.Proportion(*p.MemoryTaxFraction, float64(p.Samples))
	return &Tax{*p.MemoryTaxFraction, lo, hi}
}

// Analyze says what was found.
func (s *RunFacts) Analyze() *Analysis {
	a := &Analysis{Profile: s.Profile, Tax: newTax(s.Profile), Unknown: s.Unknown(), Time: s.Time(), Findings: append([]NextStep{}, s.Advise()...)}
	switch {
	case s.Cycles == nil:
	case s.AtLeast:
		a.GC = trial.GCPartial
	default:
		a.GC = trial.GCComplete
	}
	if len(a.Findings) == 0 {
		a.Nothing = s.Nothing()
	}
	return a
}
