package main

import (
	"context"
	"errors"

	"github.com/foliomem/folio/internal/program/variant"
)

// oneBuild reads the flags of the build for folio run, which has one: it finds out how to
// build, and downloads the toolchain. Until the plan is released nobody else cleans the
// cache. All is nil without such flags.
func (a *app) oneBuild(ctx context.Context, f *runFlags) (p *plan, b variant.Build, err error) {
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
	}{{"go", v.releases}, {"goamd64", v.levels}, {"pgo", v.profiles}, {"patch", v.patches}} {
		if len(x.values) > 1 {
			return nil, b, misusef("--%s: folio run has one build: give one value; folio tune compares several", x.name)
		}
	}
	if len(v.profiles) == 1 && v.profiles[0] == variant.PGOAuto {
		return nil, b, misusef("--pgo auto goes with folio tune, which samples the program first: give the file of a profile (folio run --pprof FILE makes one)")
	}
	if err := v.check(); err != nil {
		return nil, b, misuse(err)
	}
	if p, err = a.plan(ctx, v, source{pkg: f.build}); err != nil {
		return nil, b, err
	}
	for _, step := range p.steps {
		if b.Conflicts(step) {
			return nil, b, misusef("--goexperiment: %s and %s: give one", b.Experiments, step.Experiments)
		}
		b = b.With(step)
	}
	if p.steps = nil; !b.IsZero() {
		p.steps = []variant.Build{b}
	}
	if err := p.prepare(ctx, a); err != nil {
		return nil, b, errors.Join(err, p.release())
	}
	if !b.IsZero() {
		how := p.recipe(b)
		f.recipe = &how
	}
	return p, b, nil
}
