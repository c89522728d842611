package inspect

import (
	"errors"
	"os"

	"github.com/foliomem/folio/internal/program/goruntime"
	"github.com/foliomem/folio/internal/program/layout"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/system/waterfall"
	"github.com/foliomem/folio/page"
)

// fillWaterfall divides the memory of the process. Its errors are of processes that ended,
// or are another program now.
func (s *System) fillWaterfall(p *Process) error {
	pages, err := page.OpenProcess(p.PID)
	if errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if err != nil {
		p.note("the parts of its memory are not known: %v", err)
		return nil
	}
	defer pages.Close()
	source := &waterfall.Source{FS: s.FS, PID: p.PID, Pages: pages}
	if p.IsGo != nil && *p.IsGo {
		target, err := goruntime.Attach(s.FS, p.PID)
		if err := s.ended(p, err); err != nil {
			return err
		}
		if err != nil {
			p.note("the parts of its Go heap are not known: %s", runtimeReason(err))
		} else {
			defer target.Close()
			source.Runtime = target
		}
	}
	w, err := s.readWaterfall(p, source)
	if source.Runtime != nil && (errors.Is(err, goruntime.ErrInconsistent) || errors.Is(err, layout.ErrUnknown)) {
		p.note("the parts of its Go heap are not known: %v", err)
		source.Runtime = nil
		w, err = s.readWaterfall(p, source)
	}
	if end := s.ended(p, err); end != nil {
		return end
	}
	if err != nil {
		p.note("the parts of its memory are not known: %s", denied(err))
		return nil
	}
	p.Waterfall = w
	return nil
}

func (s *System) readWaterfall(p *Process, source *waterfall.Source) (*waterfall.Waterfall, error) {
	if source.Runtime == nil && p.Of == GoHeap {
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
func runtimeReason(err error) string {
	if errors.Is(err, os.ErrPermission) {
		return denied(err)
	}
	return err.Error()
}
