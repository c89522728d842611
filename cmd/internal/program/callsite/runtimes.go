package callsite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/google/pprof/profile"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
)

// ReadHeap reads the heap profiles of the runtimes of a process as one, in which each sample
// has the file of its runtime. Of several runtimes, those without a heap profile are named in
// its comments, unless none has one.
func ReadHeap(ctx context.Context, all []*goruntime.Runtime, at time.Time) (*profile.Profile, error) {
	var profiles []*profile.Profile
	var missing []error
	for _, g := range all {
		h, err := g.Target.HeapProfile(ctx)
		if len(all) == 1 && err != nil {
			return nil, err
		}
		if errors.Is(err, goruntime.ErrNoHeapProfile) {
			missing = append(missing, fmt.Errorf("%s: %w", g.Name(), err))
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.Name(), err)
		}
		p, err := HeapProfile(h, Of(g.Target), g.Path, at)
		if err != nil {
			return nil, err
		}
		profiles = append(profiles, p)
	}
	switch {
	case len(profiles) == 0:
		return nil, errors.Join(missing...)
	case len(all) == 1:
		return profiles[0], nil
	}
	p, err := profile.Merge(profiles)
	if err != nil {
		return nil, fmt.Errorf("heap profile: %w", err)
	}
	for _, err := range missing {
		p.Comments = append(p.Comments, err.Error())
	}
	return p, nil
}

// fileOf names the file that a sample is of; "" where all are of one.
func fileOf(p *profile.Profile, s *profile.Sample) string {
	if len(p.Mapping) < 2 || len(s.Location) == 0 || s.Location[0].Mapping == nil {
		return ""
	}
	return filepath.Base(s.Location[0].Mapping.File)
}

// ReadAllGoroutines reads the goroutines of the runtimes of a process, as [ReadGoroutines]
// does. Those of several runtimes are told apart.
func ReadAllGoroutines(ctx context.Context, all []*goruntime.Runtime) (*Goroutines, error) {
	out := &Goroutines{}
	for _, g := range all {
		of, err := ReadGoroutines(ctx, g.Target)
		if of == nil {
			return nil, err
		}
		if len(all) == 1 {
			return of, err
		}
		for i := range of.Groups {
			of.Groups[i].In = g.Name()
		}
		out.add(of)
		if err != nil {
			return out, err
		}
	}
	out.sort()
	return out, nil
}

// add adds those of another runtime.
func (g *Goroutines) add(o *Goroutines) {
	g.Total, g.System, g.Unread, g.Left = g.Total+o.Total, g.System+o.System, g.Unread+o.Unread, g.Left+o.Left
	if o.Leaked != nil {
		if g.Leaked == nil {
			g.Leaked = new(int)
		}
		*g.Leaked += *o.Leaked
	}
	g.Groups = append(g.Groups, o.Groups...)
}
