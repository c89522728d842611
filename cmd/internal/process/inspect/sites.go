package inspect

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/foliomem/folio/cmd/internal/process/remedy"
	"github.com/foliomem/folio/cmd/internal/program/callsite"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/unit"
)

// heapProfile reads the heap profile of the process, in pprof's format.
func (w *Watcher) heapProfile(ctx context.Context) (*profile.Profile, error) {
	return callsite.ReadHeap(ctx, w.readable(), time.Now())
}

// WriteHeap writes the heap profile of the process as go tool pprof reads it; nothing of a
// process without a Go runtime that can be read.
func (w *Watcher) WriteHeap(ctx context.Context, to io.Writer) error {
	if !w.Attached() {
		return nil
	}
	p, err := w.heapProfile(ctx)
	if err != nil {
		return err
	}
	return callsite.Write(to, p)
}

// mostSites is how many call sites are kept.
const mostSites = 20

// sites returns the call sites that keep most of the live heap.
func (w *Watcher) sites(ctx context.Context) ([]remedy.Site, error) {
	p, err := w.heapProfile(ctx)
	if err != nil {
		return nil, err
	}
	return liveSites(p), nil
}

// liveSites adds up what is in use by call site.
func liveSites(p *profile.Profile) []remedy.Site {
	const objects, bytes = 2, 3 // inuse_objects, inuse_space
	at := make(map[string]int)
	out := []remedy.Site{}
	for _, s := range p.Sample {
		frame, _, _, ok := callsite.Caller(callsite.Stack(s))
		if len(s.Value) <= bytes || s.Value[bytes] <= 0 {
			continue
		}
		name := frame.Func
		if ok {
			name = place(frame)
		}
		i, ok := at[name]
		if !ok {
			i = len(out)
			at[name] = i
			out = append(out, remedy.Site{Name: name})
		}
		out[i].Count += uint64(max(s.Value[objects], 0))
		out[i].Bytes += uint64(s.Value[bytes])
	}
	return largest(out)
}

func largest(sites []remedy.Site) []remedy.Site {
	slices.SortFunc(sites, func(a, b remedy.Site) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name)) })
	return slices.Clip(sites[:min(len(sites), mostSites)])
}

// place names a line.
func place(f symbol.Frame) string {
	return fmt.Sprintf("%s (%s:%d)", f.Func, path.Base(f.File), f.Line)
}

// leastStack is the least stack that a goroutine has, in bytes.
const leastStack = 2 << 10

// creators returns the go statements that began most goroutines, and the most that the
// stacks of these have: all stacks but what the others have at least.
func creators(g *callsite.Goroutines, stacks uint64) []remedy.Site {
	at := make(map[string]int)
	out := []remedy.Site{}
	for _, of := range g.Groups {
		if of.Created.Func == "" {
			continue
		}
		name := place(of.Created)
		i, ok := at[name]
		if !ok {
			i = len(out)
			at[name] = i
			out = append(out, remedy.Site{Name: name})
		}
		out[i].Count += uint64(of.Count)
	}
	for i := range out {
		others := uint64(max(g.Total, 0)) - min(uint64(max(g.Total, 0)), out[i].Count)
		out[i].Bytes = stacks - min(stacks, others*leastStack)
	}
	return largest(out)
}

// WriteGoroutines writes the goroutines of the process as text, by where they began and
// what they do, the most first; nothing of a process without a Go runtime that can be read.
// Where the process ends meanwhile it writes those that were read, and returns [ErrCut].
func (w *Watcher) WriteGoroutines(ctx context.Context, to io.Writer) error {
	if !w.Attached() {
		return nil
	}
	g, err := callsite.ReadAllGoroutines(ctx, w.readable())
	if g == nil {
		return err
	}
	b := bufio.NewWriter(to)
	if err != nil {
		err = fmt.Errorf("%w: %s read, %s not: %w", ErrCut, unit.Plural(g.Total, "goroutine"), unit.Number(int64(g.Unread)), err)
		fmt.Fprintf(b, "%v\nThose that were read are a sample of all.\n\n", err)
	}
	fmt.Fprintf(b, "%s, %d of them the runtime's own", unit.Plural(g.Total, "goroutine"), g.System)
	if g.Leaked != nil {
		fmt.Fprintf(b, ", %d leaked", *g.Leaked)
	}
	fmt.Fprintln(b)
	for _, of := range g.Groups {
		fmt.Fprintf(b, "\n%d: %s", of.Count, of.State)
		if of.In != "" {
			fmt.Fprintf(b, ", in %s", console.Line(of.In))
		}
		if of.Leaked {
			fmt.Fprint(b, ", leaked")
		}
		if of.Longest > 0 {
			fmt.Fprintf(b, ", up to %s", unit.Elapsed(of.Longest))
		}
		fmt.Fprintln(b)
		for _, f := range of.Stack {
			fmt.Fprintf(b, "\t%s\n\t\t%s:%d\n", console.Line(f.Func), console.Line(f.File), f.Line)
		}
		if of.Created.Func != "" {
			fmt.Fprintf(b, "\tcreated by %s\n\t\t%s:%d\n", console.Line(of.Created.Func), console.Line(of.Created.File), of.Created.Line)
		}
	}
	return errors.Join(err, b.Flush())
}
