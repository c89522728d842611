package inspect

import (
	"context"
	"errors"
	"os"

	"github.com/foliomem/folio/cmd/internal/process/remedy"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/cmd/internal/program/callsite"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/program/layout"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

// fillWaterfall divides the memory of the process. w has what is open of it already, and
// keeps what is opened. Errors are of processes that ended, or are another program now.
func (s *System) fillWaterfall(p *Process, w *Watcher) (err error) {
	w.notes = len(p.Notes)
	if w.pages == nil {
		w.pages, err = page.OpenProcess(p.PID)
		if errors.Is(err, os.ErrProcessDone) {
			return err
		}
		if err != nil {
			p.note("the parts of its memory are not known: %v", err)
			return nil
		}
	}
	if w.target == nil && w.denied == "" && p.IsGo != nil && *p.IsGo {
		w.target, err = goruntime.Attach(s.FS, p.PID)
		if end := s.ended(p, err); end != nil {
			return end
		}
		if err != nil {
			w.denied = s.runtimeReason(w.pid, err)
		}
	}
	if w.denied != "" {
		p.note("the parts of its Go heap are not known: %s", w.denied)
	}
	p.Waterfall, err = s.readWaterfall(p, w)
	if end := s.ended(p, err); end != nil {
		return end
	}
	if err != nil {
		p.note("the parts of its memory are not known: %s", s.denied(p.PID, err))
	}
	facts := s.remedyFacts(p, w.o)
	if w.o.Ends {
		facts.PID = 0
	}
	if w.o.Sites && w.target != nil && p.Waterfall != nil {
		if facts.Sites, err = w.sites(context.Background()); err != nil {
			facts.NoSites = err.Error()
		}
		if stacks := p.Waterfall.Part(waterfall.Stacks); stacks.Runtime != nil && *stacks.Runtime >= remedy.Worth(p.Waterfall.RSS) {
			if g, err := callsite.ReadGoroutines(context.Background(), w.target); err == nil {
				facts.Creators = creators(g, *stacks.Runtime)
			}
		}
	}
	p.Remedies = remedy.Find(facts)
	return nil
}

// fits is how often a process is read whose runtime changes while it is read.
const fits = 3

func (s *System) readWaterfall(p *Process, w *Watcher) (*waterfall.Waterfall, error) {
	source := &waterfall.Source{FS: s.FS, PID: p.PID, Pages: w.pages, Once: w.o.Once}
	if w.target != nil {
		source.Runtime = w.target
		for i := range fits {
			fall, err := source.Read()
			if !errors.Is(err, goruntime.ErrInconsistent) && !errors.Is(err, layout.ErrUnknown) {
				return fall, err
			}
			if i == fits-1 || errors.Is(err, layout.ErrUnknown) {
				p.note("the parts of its Go heap are not known: %v", err)
				break
			}
		}
		source.Runtime = nil
	}
	if p.Of == GoHeap {
		source.Heap, _ = s.find(p.PID) // what is not found is other anonymous memory
	}
	return source.Read()
}

// ended returns what an error says of a process that ended, or that is another program
// now; nil for other errors.
func (s *System) ended(p *Process, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, goruntime.ErrGone):
		return waterfall.Lost(s.FS, p.PID)
	case errors.Is(err, waterfall.ErrExec), errors.Is(err, procmem.ErrEnding), errors.Is(err, procmem.ErrMainThread), procmem.Gone(err):
		return err
	}
	return nil
}

// runtimeReason says why the runtime of a process could not be read.
func (s *System) runtimeReason(pid int, err error) string {
	if errors.Is(err, os.ErrPermission) {
		return s.denied(pid, err)
	}
	return err.Error()
}
