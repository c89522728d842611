package lab

import (
	"context"
	"path/filepath"

	"github.com/foliomem/folio/cmd/internal/lab/workload"
	"github.com/foliomem/folio/cmd/internal/program/overlay"
	"github.com/foliomem/folio/cmd/internal/trial"
)

const assistName = "assist"

var assist = &Experiment{
	Name:     assistName,
	Question: "How much of a server's latency is mark assists when it allocates in bursts, and how much larger is the heap without them?",
	Source:   "Go issue 56966 (2022): p99 of CockroachDB, 95% reads from many connections: 54.5 ms with Go 1.17 and 2.5 ms without assists, 73.4 and 3.9 ms with Go 1.19",
	Figures: []Figure{
		{Key: p99Key, Label: "p99", Unit: "p99-sec"},
		{Key: p999Key, Label: "p99.9", Unit: "p99.9-sec"},
		{Key: "p50_seconds", Label: "p50", Unit: "p50-sec"},
		{Key: "missed_fraction", Label: "over 10 ms", Unit: "missed-fraction"},
		{Key: heapKey, Label: "peak heap", Unit: "peak-heap-bytes"},
		{Key: "peak_rss_bytes", Label: "peak RSS", Unit: "peak-RSS-bytes"},
		{Key: "assist_seconds", Label: "assists", Unit: "assist-sec"},
		{Key: "cpu_seconds", Label: "cpu", Unit: "cpu-sec"},
		{Key: "gc_cycles", Label: "GCs", Unit: "gc-cycles"},
		{Key: "lateness_seconds", Label: "sent late", Unit: "lateness-sec", Minor: true},
		{Key: "requests", Label: "requests", Unit: "requests", Minor: true, Same: true},
	},
	Base:     stock,
	Apart:    true,
	defaults: Params{Size: 64 << 20, Count: 8000, Rounds: 6},
	quick:    Params{Size: 16 << 20, Count: 2000, Rounds: 3},
	noWarmup: true, // each load warms up
	arms:     assistArms,
	work:     assistWork,
	meaning:  assistMeaning,
	charts: []Chart{
		{Over: OverArms, Title: "Latency", Figures: []string{p99Key, p999Key, "p50_seconds"}, Scale: log,
			Caption: "From the intended start of each request. On a logarithmic scale.", Reference: assistName},
		armsChart("Peak memory", linear, heapKey, "peak_rss_bytes"),
		armsChart("CPU time", linear, "cpu_seconds", "assist_seconds"),
	},
}

const (
	p99Key  = "p99_seconds"
	p999Key = "p999_seconds"
	heapKey = "heap_peak_bytes"
)

// assistArms are stock, and one patched program with its settings: how the arms of it
// are built is the same.
func assistArms(*Machine, Params) []*Arm {
	arm := func(name, about, how, setting string) *Arm {
		return &Arm{
			Name: name, About: about, Task: Task{How: how}, Prepare: prepareAssist,
			Setting: &trial.Setting{Env: append(plainEnv(""), overlay.AssistVariable+"="+setting)},
		}
	}
	arms := []*Arm{
		arm(stock, "the runtime as it is", stock, ""),
		arm("assist-on", "control: built with gc-noassist, turned off; should equal stock", overlay.NoAssist, overlay.AssistOn),
		arm(overlay.NoAssist, "goroutines assist once the heap has passed its goal by 5%, the default of the patch", overlay.NoAssist, ""),
	}
	for _, bound := range []string{"10%", "25%"} {
		arms = append(arms, arm("bound-"+bound[:2], "the same, by "+bound, overlay.NoAssist, bound))
	}
	return append(arms, arm("assist-off", "goroutines never assist: no memory limit is set", overlay.NoAssist, overlay.AssistOff))
}

func prepareAssist(ctx context.Context, a *Arm, dir string, quick bool) error {
	return buildWorkload(ctx, a, filepath.Join(dir, assistName), quick, func(b *workloadBuild) (err error) {
		b.source, err = workload.Assist(b.dir)
		return err
	})
}
