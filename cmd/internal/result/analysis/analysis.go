// Package analysis works out what a result says, once, right after measuring: the result
// keeps it, and what shows the result adds nothing to it.
package analysis

import (
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/result/diagnose"
	"github.com/foliomem/folio/cmd/internal/trial"
)

// Run analyzes the samples of a run, or of a window of a running process. mayHeap says for
// advice why the program cannot run under trial.THPHeap, or, where the command only starts
// it, why no program can; nil: that is not known.
func Run(f *result.File, mayHeap func(wrapped bool) error) {
	if len(f.Arms) == 0 || len(f.Arms[0].Samples) == 0 {
		return
	}
	arm := &f.Arms[0]
	samples := result.Usable(arm.Samples)
	arm.Summary, arm.Measured, arm.Load = result.Summarize(samples), f.Metric.Measured(samples), result.SummarizeLoads(f.Arms[0].Samples)
	arm.Delays = trial.DelaysOf(arm.Samples)
	command := f.Program.Command
	if f.Program.Build != nil && len(command) > 0 {
		command = command[1:] // the flags have the rest
	}
	sheet := diagnose.NewRunFacts(f.Host, arm.Setting.Trial(), command, samples)
	sheet.Failed = trial.AllFailed(arm.Samples)
	sheet.Server, sheet.Flags = f.Program.Load != "" || f.Program.Requests != nil, flags(f)
	sheet.Wrapped = sheet.Go && f.Program.GoVersion == nil && f.Program.Build == nil
	sheet.Go, sheet.PID = sheet.Go || f.Program.GoVersion != nil, f.Program.Attached
	if mayHeap != nil {
		sheet.MayHeap = func() error { return mayHeap(sheet.Wrapped) }
	}
	sheet.Delayed = f.Delayed(arm)
	var limit *uint64
	if f.Program.Limits != nil {
		limit = f.Program.Limits.Memory
	}
	sheet.OOM = diagnose.NewOOMKills(arm.Samples, limit)
	f.Analysis = sheet.Analyze()
	f.Analysis.Noise = noise(f.Metric, samples)
}

// noise is how much what is judged by differs from run to run.
func noise(of *result.Target, samples []*result.Sample) *stat.Noise {
	var values []float64
	for _, s := range samples {
		if v, ok := of.Value(s); ok {
			values = append(values, v)
		}
	}
	return stat.NoiseOf(values)
}

// flags returns the flags with which folio runs and judges the program as it was run, but
// for those of its setting.
func flags(f *result.File) []string {
	var out []string
	add := func(flag, value string) {
		if value != "" {
			out = append(out, flag, value)
		}
	}
	p, higher := f.Program, false
	if p.Build != nil {
		add("--build", p.Build.Package)
	}
	if m := f.Metric; m != nil {
		text := m.Name
		if m.Pattern != "" {
			text += "=" + m.Pattern
		}
		add("--metric", text)
		higher = m.Higher
	}
	add("--input", p.Input)
	out = append(out, p.Conditions()...)
	if higher {
		out = append(out, "--higher-is-better")
	}
	if p.IgnoreExit {
		out = append(out, "--ignore-exit")
	}
	return out
}
