package tune

import (
	"context"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial"
)

// traced says of the samples of a simulated program what the trace of GC cycles tells.
type traced struct {
	*simulated
	state trial.GCState
	huge  uint64
}

func (s traced) Run(ctx context.Context, set trial.Setting, req trial.Request) (*trial.Sample, error) {
	out, err := s.simulated.Run(ctx, set, req)
	if err == nil {
		out.GCCounted, out.HugePeak = s.state, &s.huge
	}
	return out, err
}

// A command without a Go program is not searched for settings of Go; huge pages that the
// system gives to all may matter to it.
func TestNoGoProgram(t *testing.T) {
	const inert = "no Go program was seen in the first run, and GOGC, GOMEMLIMIT and GOMAXPROCS are settings of Go programs"
	for _, c := range []struct {
		name   string
		with   func(*Options, *traced)
		runs   int // 0: a search
		state  State
		others string // settings beside the default, "..." for many
	}{
		{"alone", func(*Options, *traced) {}, 2, NoEffect, ""},
		{"exhaustive", func(o *Options, _ *traced) { o.Exhaustive = true }, 2, NoEffect, ""},
		{"GOMAXPROCS", func(o *Options, _ *traced) { o.Try = procs(1, 2) }, 2, NoEffect, ""},
		{"collapse", func(o *Options, s *traced) { o.Collapse, s.live = true, 1000 }, 2, NoEffect, ""},
		{"huge pages fixed", func(o *Options, s *traced) { o.FixedTHP, s.huge = true, 1<<30 }, 2, NoEffect, ""},
		{"huge pages", func(_ *Options, s *traced) { s.huge = 1 << 30 }, 0, Conclusive, "thp=off"},
		{"huge pages, exhaustive", func(o *Options, s *traced) { o.THPAlways, o.Exhaustive = true, true }, 0, Conclusive, "thp=off"},
		{"not traced", func(o *Options, _ *traced) { o.ReadGC = false }, 0, Conclusive, "..."},
		{"Go", func(_ *Options, s *traced) { s.state = trial.GCComplete }, 0, Conclusive, "..."},
		{"perhaps Go", func(_ *Options, s *traced) { s.state = trial.GCPartial }, 0, Conclusive, "..."},
	} {
		s := traced{simulated: newSimulated(1)}
		s.simulated.noise = 0.001
		opts := s.options()
		opts.ReadGC = true
		c.with(&opts, &s)
		res, err := Search(t.Context(), s, opts)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var others []string
		for _, a := range res.Arms[1:] {
			others = append(others, a.Name)
		}
		names := strings.Join(others, " ")
		if len(others) > 5 {
			names = "..."
		}
		noGo := c.others != "..."
		if names != c.others || res.Answer.State != c.state || c.runs > 0 && res.Trials != c.runs || noGo != (res.Answer.Inert == inert) || (res.NoGo() != nil) != (noGo && c.state == NoEffect) {
			t.Errorf("%s: %d runs, settings %q, %+v", c.name, res.Trials, names, res.Answer)
		}
		if len(res.Arms[0].Samples) == 0 {
			t.Errorf("%s: nothing was measured", c.name)
		}
	}
}
