package leak

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/callsite"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// A source is a Go runtime of the process, with what its heap profiles said.
type source struct {
	*goruntime.Runtime
	in      string // its name, "" where the process has one
	names   callsite.Frames
	profile bool // it has a heap profile
	cycle   uint32
	cycles  int
	rate    uint64
	known   map[string]*series // by stack
	heap    map[string]*series // by line
}

func runtimesOf(all []*source) (out []*goruntime.Runtime) {
	for _, s := range all {
		out = append(out, s.Runtime)
	}
	return out
}

// findSources adds the runtimes that were found since the last time.
func (w *watcher) findSources() {
	read := 0
	for _, g := range w.watch.Runtimes() {
		switch {
		case g.Err != nil && g.Main:
			w.note("its heap profile and goroutines cannot be read: %v", g.Err)
		case g.Err != nil:
			w.note("the heap profile and goroutines of %s cannot be read: %v", g.Name(), g.Err)
		default:
			if read++; read > len(w.sources) {
				w.sources = append(w.sources, &source{Runtime: g, names: callsite.Of(g.Target), profile: true, known: map[string]*series{}, heap: map[string]*series{}})
				w.profile, w.goProgram, w.Cycles = true, true, &w.cycles
			}
		}
	}
	for _, s := range w.sources {
		if len(w.sources) > 1 {
			s.in = s.Name()
		}
	}
}

func (w *watcher) readGoroutines(ctx context.Context, at float64) error {
	waiting := make(map[caller]callback)
	counts := make([]map[[2]uint64]int, len(w.sources))
	for i, s := range w.sources {
		counts[i] = make(map[[2]uint64]int)
		_, err := s.Target.EachGoroutine(ctx, false, func(g *goruntime.Goroutine) {
			own, known := w.system[g.Start]
			if !known {
				start := s.Target.Frames(g.Start, false)
				own = callsite.IsSystem(start)
				w.system[g.Start], w.calls[g.Start] = own, callsite.Calls(start)
			}
			if what := w.calls[g.Start]; what != "" {
				w.readCallback(waiting, s.in, what, g)
			}
			if !own && len(counts[i]) < maxSeries {
				counts[i][[2]uint64{g.Start, g.Created}]++
			}
		})
		if errors.Is(err, goruntime.ErrInconsistent) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read its goroutines: %w", err)
		}
	}
	w.callbacks = waiting
	w.last = append(w.last, at)
	for i, s := range w.sources {
		w.addStarts(s, at, counts[i])
	}
	fill(w.starts, at)
	return nil
}

// addStarts adds how many goroutines there are of each go statement of a runtime.
func (w *watcher) addStarts(of *source, at float64, counts map[[2]uint64]int) {
	for k, n := range counts {
		created, start := of.names(k[1]), of.Target.Frames(k[0], false)
		if len(created) == 0 || len(start) == 0 || strings.HasPrefix(created[0].Func, "runtime.") {
			continue // the runtime started it: the first goroutine
		}
		key := fmt.Sprintf("%s\n%s\n%s\n%d\n%s", of.Path, created[0].Func, created[0].File, created[0].Line, start[len(start)-1].Func)
		s := add(w.starts, key, at, w.last[:len(w.last)-1], float64(n))
		if s != nil {
			s.Kind, s.Func, s.File, s.Line, s.Start = Goroutines, created[0].Func, created[0].File, created[0].Line, start[len(start)-1].Func
			s.In = of.in
		}
	}
}

// readProfiles reads the heap profiles that there are since the last time.
func (w *watcher) readProfiles(ctx context.Context, at float64) error {
	w.profile = false
	for _, s := range w.sources {
		if !s.profile {
			continue
		}
		h, err := s.Target.HeapProfile(ctx)
		switch {
		case errors.Is(err, goruntime.ErrNoHeapProfile):
			s.profile = false
			if s.in == "" {
				w.note("lines that allocate are not watched: %v", err)
			} else {
				w.note("lines of %s that allocate are not watched: %v", s.in, err)
			}
			continue
		case errors.Is(err, goruntime.ErrInconsistent): // another time
		case err != nil:
			return fmt.Errorf("read its heap profile: %w", err)
		case s.cycles == 0 || h.Cycle != s.cycle:
			s.cycle, s.rate = h.Cycle, h.Rate
			s.cycles++
			w.cycles++
			w.addProfile(s, at, h)
		}
		w.profile = true
	}
	if !w.profile {
		w.Cycles = nil
	}
	return nil
}

func (w *watcher) addProfile(of *source, at float64, h *goruntime.HeapProfile) {
	uses := make(map[*series]map[uint64]callsite.Use)
	var times []float64
	for _, s := range of.heap {
		for _, p := range s.points {
			times = append(times, p.At)
		}
		break
	}
	for i := range h.Records {
		r := &h.Records[i]
		if r.AllocObjects == 0 {
			continue
		}
		var u callsite.Use
		u.AllocObjects, u.AllocBytes = callsite.Scale(r.AllocObjects, r.AllocBytes, h.Rate)
		u.InUseObjects, u.InUseBytes = callsite.Scale(r.AllocObjects-r.FreedObjects, r.AllocBytes-r.FreedBytes, h.Rate)
		key := fmt.Sprint(r.Stack)
		s := of.known[key]
		if s == nil {
			if s = w.site(of, r.Stack, at, times); s == nil {
				w.note("more than %d lines allocate: the others are not watched", maxSeries)
				continue
			}
			of.known[key] = s
		}
		if n := len(s.points); s.points[n-1].At == at {
			s.points[n-1].Value += float64(u.InUseBytes)
		} else {
			s.points = append(s.points, Point{at, float64(u.InUseBytes)})
		}
		if uses[s] == nil {
			uses[s] = make(map[uint64]callsite.Use)
		}
		sum := uses[s][r.Size]
		sum.Add(u)
		uses[s][r.Size] = sum
	}
	fill(of.heap, at)
	for s, sizes := range uses {
		s.rate = of.rate
		for size, u := range sizes {
			if both := s.uses[size]; both != nil {
				both[1] = u
			} else if of.cycles == 1 {
				s.uses[size] = &[2]callsite.Use{u, u}
			} else {
				s.uses[size] = &[2]callsite.Use{{}, u}
			}
		}
	}
}

// site returns the series of the line that a stack allocates at; nil if there are too many.
func (w *watcher) site(of *source, pcs []uint64, at float64, times []float64) *series {
	var stack []symbol.Frame
	for _, pc := range pcs {
		if f := of.names(pc); len(f) > 0 {
			stack = append(stack, f[0])
		}
	}
	frame, inside, depth, _ := callsite.Caller(stack)
	key := fmt.Sprintf("%s\n%s\n%s\n%d\n%s", of.Path, frame.Func, frame.File, frame.Line, inside)
	s := add(of.heap, key, at, times, 0)
	if s != nil && s.Func == "" {
		s.Kind, s.Func, s.File, s.Line, s.Inside, s.Callers = Heap, frame.Func, frame.File, frame.Line, inside, callsite.Callers(stack, depth)
		s.In, s.uses = of.in, make(map[uint64]*[2]callsite.Use)
		w.heap[key] = s
	}
	return s
}
