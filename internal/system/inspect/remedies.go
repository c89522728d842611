package inspect

import (
	"strings"

	"github.com/foliomem/folio/internal/result/advice"
	"github.com/foliomem/folio/internal/result/remedy"
	"github.com/foliomem/folio/page"
)

// adviceFacts are what the rules on huge pages go by.
func (p *Process) adviceFacts() advice.Facts {
	t := p.Policy.System
	return advice.Facts{
		Enabled: t.Enabled.Selected, Defrag: t.Defrag.Selected, MaxPtesNone: t.MaxPtesNone, WindowPages: page.WindowSize() / page.Size(),
		Asks: p.Policy.Advised != nil && *p.Policy.Advised > 0, OptedOut: disabled(p.Policy),
	}
}

// remedyFacts are what the rules on the parts of memory go by: those of the waterfall, and
// what the process was started with.
func (s *System) remedyFacts(p *Process) *remedy.Facts {
	f := &remedy.Facts{Waterfall: p.Waterfall, GoVersion: p.GoVersion, PID: p.PID, THP: p.adviceFacts()}
	if l := p.Limit; l != nil {
		if m, err := s.FS.Meminfo(); err != nil || m.MemTotal == nil || l.Bytes < *m.MemTotal {
			f.Container = &l.Bytes
		}
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
