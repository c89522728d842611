package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/foliomem/folio/cmd/internal/base/scratch"
)

// ready lets the arms of an experiment make what they need. What is missing for
// one keeps only that one from running.
func (r *run) ready(ctx context.Context, out *Outcome) error {
	for _, a := range out.runnable() {
		if base := out.Arm(out.Experiment.Base); base != nil && base.Arm.NotRun != "" {
			a.Arm.NotRun = fmt.Sprintf("there is nothing to compare it with: %s cannot run", base.Arm.Name)
			continue
		}
		if a.Arm.Prepare == nil {
			continue
		}
		if r.Progress != nil {
			r.Progress(Progress{Experiment: out.Experiment.Name, Arm: a.Arm.Name, Rounds: out.Params.Rounds,
				Left: r.pace.left(out, 0), Preparing: true})
		}
		if r.dir == nil {
			dir, err := scratch.New("")
			if err != nil {
				a.Arm.NotRun = "nothing can be made for it: " + err.Error()
				continue
			}
			r.dir = dir
		}
		prepare := a.Arm.Prepare
		if r.Prepare != nil {
			prepare = r.Prepare
		}
		err := prepare(ctx, a.Arm, r.dir.Path, r.Quick)
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
		if err != nil {
			a.Arm.NotRun = err.Error()
		}
	}
	return nil
}

// tidy removes what arms had made.
func (r *run) tidy() error {
	if r.dir == nil {
		return nil
	}
	return r.dir.Remove()
}

// agree gives an arm up that did other work than those before it.
func (o *Outcome) agree() {
	for _, f := range o.Experiment.Figures {
		if !f.Same {
			continue
		}
		var first *ArmResult
		for _, a := range o.runnable() {
			v := a.Values(o.Params.Size, f.Key)
			if first == nil && len(v) > 0 {
				first = a
			}
			if first == nil {
				continue
			}
			want := first.Values(o.Params.Size, f.Key)[0]
			if i := slices.IndexFunc(v, func(x float64) bool { return x != want }); i >= 0 {
				a.Failure = fmt.Sprintf("its %s is %.0f, that of %s %.0f: they did not do the same work", f.Label, v[i], first.Arm.Name, want)
			}
		}
	}
}
