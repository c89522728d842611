package inspect

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"

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
	if err := s.fillRuntimes(p, w); err != nil {
		return err
	}
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
	p.Waterfall, err = s.readWaterfall(p, w)
	if end := s.ended(p, err); end != nil {
		return end
	}
	if err != nil {
		p.note("the parts of its memory are not known: %s", s.denied(p.PID, err))
	}
	if p.Waterfall != nil {
		w.describe(p.Waterfall)
	}
	facts := s.remedyFacts(p, w.o)
	if w.o.Ends {
		facts.PID = 0
	}
	if read := w.readable(); len(read) > 0 && !slices.ContainsFunc(read, func(g *goruntime.Runtime) bool { return g.Target.KeepsHeapProfile() == nil }) {
		facts.NoSites = goruntime.ErrUnlinked
	}
	if w.o.Sites && w.Attached() && p.Waterfall != nil {
		if facts.Sites, err = w.sites(context.Background()); err != nil {
			facts.NoSites = err
		}
		if stacks := p.Waterfall.Part(waterfall.Stacks); stacks.Runtime != nil && *stacks.Runtime >= remedy.Worth(p.Waterfall.RSS) {
			if g, err := callsite.ReadAllGoroutines(context.Background(), w.readable()); err != nil {
				facts.NoCreators = err
			} else {
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
	read := w.readable()
	for len(read) > 0 {
		source.Runtimes = targets(read)
		fall, err := fitting(source)
		if !torn(err) {
			return fall, err
		}
		rest := slices.DeleteFunc(slices.Clone(read), func(g *goruntime.Runtime) bool {
			_, alone := g.Target.Heap()
			if alone == nil && len(read) > 1 {
				return false
			}
			w.unread(p, g, cmp.Or(alone, err))
			return true
		})
		if len(rest) == len(read) { // each by itself can be read, and not all at a time
			rest = rest[:len(rest)-1]
			w.unread(p, read[len(rest)], err)
		}
		read = rest
	}
	source.Runtimes = nil
	if p.Of == GoHeap {
		source.Heap, _ = s.find(p.PID) // what is not found is other anonymous memory
	}
	return source.Read()
}

// targets are what is read of runtimes.
func targets(all []*goruntime.Runtime) (out []waterfall.Runtime) {
	for _, g := range all {
		out = append(out, g.Target)
	}
	return out
}

// torn reports whether an error is of a runtime that cannot be read at this time, or not at all.
func torn(err error) bool {
	return errors.Is(err, goruntime.ErrInconsistent) || errors.Is(err, layout.ErrUnknown)
}

// fitting reads a waterfall, again where the runtime changes while it is read.
func fitting(source *waterfall.Source) (fall *waterfall.Waterfall, err error) {
	for range fits {
		fall, err = source.Read()
		if !torn(err) || errors.Is(err, layout.ErrUnknown) {
			break
		}
	}
	return fall, err
}

// fillRuntimes finds the Go runtimes of the process. The error is of one that ended.
func (s *System) fillRuntimes(p *Process, w *Watcher) error {
	err := s.updateRuntimes(p, w)
	if end := s.ended(p, err); end != nil {
		return end
	}
	if err != nil && p.IsGo != nil && *p.IsGo {
		p.note("the parts of its Go heap are not known: %s", s.runtimeReason(w.pid, err))
	}
	w.reasons = make(map[*goruntime.Runtime]string)
	for _, g := range w.runtimes.All() {
		switch {
		case g.Err == nil:
		case g.Main:
			w.unread(p, g, errors.New(s.runtimeReason(w.pid, g.Err)))
		default:
			w.unread(p, g, g.Err)
		}
	}
	return nil
}

// describe says whose the runtimes of a waterfall are.
func (w *Watcher) describe(fall *waterfall.Waterfall) {
	of := func(to *waterfall.GoRuntime, g *goruntime.Runtime) {
		to.Path, to.Main, to.Version, to.Module, to.Plugins = g.Path, g.Main, g.Version(), g.Build.Module, g.Plugins
		to.Reason = w.reasons[g]
	}
	n := 0
	for _, g := range w.readable() {
		if w.reasons[g] == "" && n < len(fall.Runtimes) {
			of(&fall.Runtimes[n], g)
			n++
		}
	}
	for _, g := range w.Runtimes() {
		if w.reasons[g] != "" {
			fall.Runtimes = append(fall.Runtimes, waterfall.GoRuntime{})
			of(&fall.Runtimes[len(fall.Runtimes)-1], g)
		}
	}
}

// updateRuntimes finds the runtimes that were loaded since the last time.
func (s *System) updateRuntimes(p *Process, w *Watcher) error {
	if w.runtimes == nil {
		w.runtimes = goruntime.NewRuntimes(s.FS, p.PID)
	}
	return w.runtimes.Update()
}

// heapsOf returns which of these mappings, that can be read and written, runtimes have for
// their heaps, as far as those can be read.
func heapsOf(all []*goruntime.Runtime, vmas []procmem.VMA) (out []page.Range) {
	var arenas []page.Range
	for _, g := range all {
		of, err := g.Target.Arenas()
		if err != nil {
			continue
		}
		for _, r := range of {
			arenas = append(arenas, page.Range{Start: uintptr(r.Start), End: uintptr(r.End)})
		}
	}
	slices.SortFunc(arenas, func(a, b page.Range) int { return cmp.Compare(a.Start, b.Start) })
	for _, v := range vmas {
		for _, r := range arenas {
			if in := (page.Range{Start: max(r.Start, uintptr(v.Start)), End: min(r.End, uintptr(v.End))}); usable(v) && in.Start < in.End {
				out = join(out, in)
			}
		}
	}
	return out
}

// unread says why a runtime could not be read.
func (w *Watcher) unread(p *Process, g *goruntime.Runtime, err error) {
	w.reasons[g] = err.Error()
	if g.Main {
		p.note("the parts of its Go heap are not known: %v", err)
		return
	}
	p.note("the Go heap of %s is not known: %v", g.Name(), err)
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
