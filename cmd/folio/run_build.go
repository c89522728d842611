package main

import (
	"context"
	"errors"

	"github.com/foliomem/folio/cmd/internal/program/build"
	"github.com/foliomem/folio/cmd/internal/program/variant"
)

// oneBuild reads the flags of the build for folio run, which has one: it finds out how to
// build, and downloads the toolchain. Until the plan is released nobody else cleans the
// cache. All is nil without such flags.
func (a *app) oneBuild(ctx context.Context, f *runFlags) (p *build.Plan, b variant.Build, err error) {
	flag := f.variants.given(f.given)
	switch {
	case flag == "":
		return nil, b, nil
	case f.build == "":
		return nil, b, misusef("%s goes with --build PACKAGE: folio has to build the program", flag)
	}
	v := &f.variants
	for _, x := range []struct {
		name   string
		values []string
	}{{"go", v.Releases}, {"goamd64", v.Levels}, {"pgo", v.Profiles}, {"patch", v.Patches}} {
		if len(x.values) > 1 {
			return nil, b, misusef("--%s: folio run has one build: give one value; folio tune compares several", x.name)
		}
	}
	if len(v.Profiles) == 1 && v.Profiles[0] == variant.PGOAuto {
		return nil, b, misusef("--pgo auto goes with folio tune, which samples the program first: give the file of a profile (folio run --pprof FILE makes one)")
	}
	if err := v.Check(); err != nil {
		return nil, b, misuse(err)
	}
	if p, err = build.NewPlan(ctx, &v.Wanted, build.Source{Package: f.build}); err != nil {
		return nil, b, orNothing(ctx, err)
	}
	for _, step := range p.Steps {
		if b.Conflicts(step) {
			return nil, b, misusef("--goexperiment: %s and %s: give one", b.Experiments, step.Experiments)
		}
		b = b.With(step)
	}
	if p.Steps = nil; !b.IsZero() {
		p.Steps = []variant.Build{b}
	}
	g := a.builder()
	if err := p.Prepare(ctx, &g); err != nil {
		return nil, b, errors.Join(orNothing(ctx, err), p.Release())
	}
	if !b.IsZero() {
		how := p.Recipe(b)
		f.recipe = &how
	}
	return p, b, nil
}
