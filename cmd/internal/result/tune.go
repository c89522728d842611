package result

import (
	"slices"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
)

// SetTune puts what a search found into the file.
func (f *File) SetTune(r *tune.Result) {
	f.Rounds, f.RaceRounds, f.ElapsedSeconds, f.Ended = r.Rounds, r.RaceRounds, r.Elapsed.Seconds(), r.Ended
	f.Seed = &r.Seed
	if r.Objective != nil {
		f.Metric = NewTarget(r.Objective, r.Benchmarks)
	}
	f.Arms = f.Arms[:0]
	for i, a := range r.Arms {
		if len(a.Samples) == 0 && i > 0 && !a.Unbuilt {
			continue
		}
		arm := Arm{Name: a.Name, Setting: NewSetting(a.Setting), Status: string(a.Status), Reason: a.Reason,
			Final: a.Final, Left: a.Left, Samples: a.Samples}
		if a.Final != nil {
			arm.Profile = trial.Profile(a.Samples)
		}
		summed := a.Samples
		if a.Final != nil {
			summed = r.FinalSamples(a)
		}
		arm.Summary, arm.Measured, arm.Load = Summarize(summed), f.Metric.Measured(summed), SummarizeLoads(summed)
		arm.Delays = trial.DelaysOf(summed)
		f.Arms = append(f.Arms, arm)
	}
	for _, a := range r.Arms {
		f.Program.Tree = f.Program.Tree || trial.HeapsBelow(a.Samples)
	}
	f.keepPaths(r)
	f.advise()
	f.Answer, f.Recommendations = &r.Answer, nil
	for _, rec := range r.Answer.Recommended {
		out := Recommendation{Goal: rec.Goal, Arm: rec.Arm.Name, Setting: NewSetting(rec.Arm.Setting), Tied: []string{},
			Least: rec.Least, Permanent: rec.Permanent}
		if rec.Arm != r.Arms[0] {
			out.ShellLine = f.Program.Line(rec.Arm.Setting)
		}
		if rec.Arm.Final != nil && rec.Arm != r.Arms[0] {
			out.Ratio, out.Memory = rec.Arm.Final.Ratio, rec.Arm.Final.MemoryRatio
		}
		for _, t := range rec.Tied {
			out.Tied = append(out.Tied, t.Name)
		}
		for _, u := range rec.Undecided {
			out.Undecided = append(out.Undecided, u.Name)
		}
		if s := rec.Saves; s != nil {
			out.Saves = &Saving{Arm: s.Arm.Name, Ratio: s.Ratio, Memory: s.Memory}
		}
		f.Recommendations = append(f.Recommendations, out)
	}
}

// keepPaths keeps call paths and figures over time of the default and of what is
// recommended: of all arms they would be most of the file.
func (f *File) keepPaths(r *tune.Result) {
	keep := map[string]bool{r.Arms[0].Name: true}
	for _, rec := range r.Answer.Recommended {
		keep[rec.Arm.Name] = true
		if rec.Saves != nil {
			keep[rec.Saves.Arm.Name] = true
		}
	}
	for i := range f.Arms {
		a := &f.Arms[i]
		kept := !keep[a.Name]
		if !kept {
			a.Tree = trial.Tree(a.Samples)
		}
		a.Samples = slices.Clone(a.Samples)
		for j, s := range a.Samples {
			if s.Series == nil {
				continue
			}
			if kept || !s.OK() { // one is enough to look at
				a.Samples[j] = s.WithoutSeries()
			}
			kept = kept || s.OK()
		}
	}
}
