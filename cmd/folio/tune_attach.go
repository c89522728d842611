package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial/live"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
)

// attachedTuneBudget is that of a search on a process that runs.
const attachedTuneBudget = 15 * time.Minute

// running checks the flags of a search on a process that runs.
func (f *tuneFlags) running(args []string) (o live.Options, spec *metric.Spec, err error) {
	if err := f.attachedTo(f.pid, args, "block", "budget", "metric", "max-rss", "max-p99", "max-errors", "rounds", "rate", "target", "seed", "kubernetes", "load-"); err != nil {
		return o, nil, err
	}
	limits, err := f.bounds()
	if err != nil {
		return o, nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return o, nil, err
	}
	o = live.Options{Block: f.block, MaxRSS: limits.RSS, MaxP99: limits.P99, MaxErrors: limits.Errors, Guard: []string{self, "set", "guard"}}
	if o.Load, err = f.load.check("", true); err == nil {
		spec, err = o.ParseMetric(f.metric)
	}
	return o, spec, err
}

// tuneRunning searches the settings of a process as it runs.
func (a *app) tuneRunning(ctx context.Context, f *tuneFlags, args []string) (err error) {
	o, spec, err := f.running(args)
	if err != nil {
		return misuse(err)
	}
	if f.kubernetes != "" {
		if f.target, err = kubernetesTarget(f.kubernetes); err != nil {
			return err
		}
	}
	s := &session{}
	if err := s.begin(a, &f.programFlags, false, s.bench(&f.programFlags)); err != nil {
		return err
	}
	s.about(result.KindTune, commandOf(f.pid), fmt.Sprintf("/proc/%d/exe", f.pid))
	s.file.Program.Attached, s.file.Program.Environment, s.file.Seed = f.pid, nil, &f.seed
	defer func() { err = errors.Join(err, s.end(err)) }()
	ctx, stop := interruptible(ctx)
	defer stop()
	p, err := live.Open(ctx, s.program.FS, f.pid, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	progress := newProgress(a.stderr)
	progress.Show("watching the process before any change")
	s.file.Live = &p.Record
	res, failed := p.Search(ctx, tune.Options{Metric: spec, Budget: f.budgetOr(f.budget, attachedTuneBudget, attachedTuneBudget), Seed: f.seed, MaxRounds: f.rounds,
		Progress: func(t tune.Progress) { progress.Show(strings.ReplaceAll(t.String(), "run", "block")) },
		Partial:  func(r *tune.Result) { s.keepTune(r, nil); _ = s.write() }})
	progress.Clear()
	for _, text := range p.Notes() {
		s.notes.Add(text)
	}
	return a.showSearch(ctx, s, f, res, nil, failed)
}
