package inspect

import (
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/process/memlimit"
	"github.com/foliomem/folio/cmd/internal/process/remedy"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/base/advice"
	"github.com/foliomem/folio/internal/system/page"
)

// adviceFacts are what the rules on huge pages go by.
func (p *Process) adviceFacts() advice.Facts {
	t := p.Policy.System
	return advice.Facts{
		Enabled: t.Enabled.Selected, Defrag: t.Defrag.Selected, MaxPtesNone: t.MaxPtesNone, WindowPages: page.WindowSize() / page.Size(),
		Asks: p.Policy.Advised != nil && *p.Policy.Advised > 0, OptedOut: p.Policy.Disabled(),
	}
}

// stripped reports whether a program has no names of variables.
func (s *System) stripped(pid int) bool {
	f, err := symbol.Open(s.FS.ExePath(pid))
	if err != nil {
		return false // not known
	}
	defer f.Close()
	return !slices.Contains(f.Sections(), ".symtab")
}

// fit is how the process fits into its container; nil without a limit in effect, or where the
// runtime cannot be read.
func (s *System) fit(p *Process, o Options) *memlimit.Fit {
	if p.Waterfall == nil || p.Waterfall.GC == nil {
		return nil
	}
	l, ok, err := s.FS.MemoryLimit(p.PID)
	if err != nil || !ok {
		return nil
	}
	own, outside := memlimit.OfWaterfall(p.PID, p.Waterfall)
	var others []memlimit.Runtime
	if !o.Brief { // to find them takes milliseconds
		others = memlimit.Others(s.FS, l.Group, p.PID)
	}
	return new(memlimit.NewContainer(l).Fit(own, outside, others...))
}

// remedyFacts are what the rules on the parts of memory go by: those of the waterfall, and
// what the process was started with.
func (s *System) remedyFacts(p *Process, o Options) *remedy.Facts {
	f := &remedy.Facts{Waterfall: p.Waterfall, GoVersion: p.GoVersion, PID: p.PID, THP: p.adviceFacts()}
	f.Fit = s.fit(p, o)
	if w := p.Waterfall; w != nil && uint64(w.Part(waterfall.Data).Bytes) >= remedy.Worth(w.RSS) {
		f.Stripped = s.stripped(p.PID)
	}
	env, _ := s.FS.Environ(p.PID) // unknown is as good as not set
	for _, pair := range env {
		if v, ok := strings.CutPrefix(pair, "MALLOC_ARENA_MAX="); ok {
			f.ArenaMax = v
			break // the first counts
		}
	}
	return f
}
