package lab

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/foliomem/folio/cmd/internal/lab/workload"
	"github.com/foliomem/folio/cmd/internal/program/overlay"
	"github.com/foliomem/folio/cmd/internal/trial"
)

const mallocName = "malloc"

var malloc = &Experiment{
	Name:     mallocName,
	Question: "How long does allocating an object take, by size and kind, and do the runtime patches change it?",
	Source:   "Go issue 69224 (2024), the first five kinds with malloc-prefetch: 8.4%, 2.1% and 0.4% less time in the geometric mean, on three arm64 servers",
	Figures:  mallocFigures(),
	Base:     stock,
	Across:   true,
	Apart:    true,
	defaults: Params{Size: 32 << 10, Count: 25, Rounds: 30}, // short and often: a slow minute is slow for all 27
	quick:    Params{Size: 1 << 10, Count: 10, Rounds: 10},
	noWarmup: true, // each loop warms up by itself
	arms:     mallocArms,
	work:     func(_ *probe, t Task) error { return become(t, strconv.Itoa(t.Count)) },
	meaning:  mallocMeaning,
}

// mallocFigures are the kinds of objects that program malloc times: those of the
// source, and by size.
func mallocFigures() (out []Figure) {
	add := func(key, label string) {
		out = append(out, Figure{Key: key + "_seconds", Label: label, Unit: "sec/op"})
	}
	add("malloc8", "Malloc8")
	add("malloc16", "Malloc16")
	add("malloc_type_info8", "MallocTypeInfo8")
	add("malloc_type_info16", "MallocTypeInfo16")
	add("malloc_large_struct", "MallocLargeStruct")
	for _, kind := range []struct{ key, label string }{{"noscan", "NoScan"}, {"pointers", "Pointers"}} {
		for size := 32; size <= 32<<10; size *= 2 {
			add(fmt.Sprint(kind.key, size), fmt.Sprint(kind.label, size))
		}
	}
	return out
}

func mallocArms(*Machine, Params) []*Arm {
	var arms []*Arm
	for _, r := range []struct{ how, about string }{
		{stock, "the runtime as it is"},
		{overlay.MallocPrefetch, "the patch of the source"},
		{overlay.HeapHugePages, "the heap asks for huge pages as it grows"},
	} {
		if why := idle(r.how); r.how != stock && why != "" {
			r.about += ", which " + why
		}
		arms = append(arms, &Arm{
			Name: r.how, About: r.about, Task: Task{How: r.how}, Prepare: prepareMalloc,
			Setting: &trial.Setting{Env: plainEnv("")},
		})
	}
	return arms
}

func prepareMalloc(ctx context.Context, a *Arm, dir string, quick bool) error {
	return buildWorkload(ctx, a, filepath.Join(dir, mallocName), quick, func(b *workloadBuild) (err error) {
		b.source, err = workload.Malloc(b.dir)
		return err
	})
}
