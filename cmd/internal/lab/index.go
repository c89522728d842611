package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"github.com/foliomem/folio/cmd/internal/lab/workload"
	"github.com/foliomem/folio/cmd/internal/program/overlay"
	"github.com/foliomem/folio/cmd/internal/trial"
)

// indexName is the experiment's; what it needs is made in a directory of that name.
const indexName = "index"

var index = &Experiment{
	Name:     indexName,
	Question: "How much faster does each of Folio's techniques make a full-text index, alone and combined?",
	Source:   "Go issue 69224 (2024), bleve's index in batches of 100: with malloc-prefetch 6.9% to 17.3% less time on three arm64 servers",
	Figures: []Figure{
		{Key: opKey, Label: "sec/op", Unit: "sec/op"},
		{Key: "first_seconds", Label: "the first", Unit: "first-sec/op"},
		{Key: "documents_per_second", Label: "docs/s", Unit: "docs/s"},
		{Key: "cpu_seconds", Label: "cpu", Unit: "cpu-sec/op"},
		{Key: "user_seconds", Label: "user", Unit: "user-sec/op", Minor: true},
		{Key: "system_seconds", Label: "system", Unit: "system-sec/op", Minor: true},
		{Key: "peak_rss_bytes", Label: "peak RSS", Unit: "peak-RSS-bytes"},
		{Key: "faults", Label: "faults", Unit: "faults"},
		runtimeGC,
		{Key: "gc_cycles", Label: "GCs", Unit: "gc-cycles/op", Minor: true},
		{Key: "huge_fraction", Label: "huge", Unit: "huge-fraction"},
		{Key: "documents", Label: "documents", Unit: "documents", Minor: true, Same: true},
		{Key: "matches", Label: "matches", Unit: "matches", Minor: true, Same: true},
	},
	Base:     stock,
	Apart:    true,
	defaults: Params{Size: 16 << 20, Count: 1500, Rounds: 6},
	quick:    Params{Size: 1 << 20, Count: 200, Rounds: 3},
	noWarmup: true, // each process does it once before
	arms:     indexArms,
	work:     indexWork,
	meaning:  indexMeaning,
}

const (
	opKey = "op_seconds"
	// stock is the arm, and the build, with nothing of Folio.
	stock = "stock"
	// withAuto is a build that imports package auto.
	withAuto = "auto"
)

// indexGOGC are the values that are tried: beyond them the peak is more than
// twice that of the default.
var indexGOGC = []string{"200", "300", "400"}

// indexArms are each of Folio's means alone, and together. How they are built is in
// Task.How, see buildPrograms.
func indexArms(*Machine, Params) []*Arm {
	arm := func(name, about, how, gogc string, env ...string) *Arm {
		return &Arm{
			Name: name, About: about, Task: Task{How: how}, Prepare: prepareIndex,
			Setting: &trial.Setting{GOGC: gogc, Env: append(plainEnv(gogc), env...)},
		}
	}
	all := overlay.HeapHugePages
	if idle(overlay.MallocPrefetch) == "" {
		all += "+" + overlay.MallocPrefetch
	}
	arms := []*Arm{
		arm(stock, "unmodified", stock, ""),
		arm(overlay.MallocPrefetch, "built with this patch", overlay.MallocPrefetch, ""),
		arm("hugepages-off", "control: built with heap-hugepages, turned off; should equal stock", overlay.HeapHugePages,
			"", overlay.HugePagesVariable+"="+overlay.HugePagesOff),
		arm(overlay.HeapHugePages, "built with this patch", overlay.HeapHugePages, ""),
		arm(withAuto, "stock, with the import of package auto", withAuto, ""),
	}
	for _, v := range indexGOGC {
		arms = append(arms, arm("gogc-"+v, "stock, with GOGC="+v, stock, v))
	}
	for _, v := range indexGOGC {
		arms = append(arms, arm("all-gogc-"+v, "the patches, with GOGC="+v, all, v))
	}
	return append(arms, arm("all-auto", "the patches, with the import of package auto", all+"+"+withAuto, ""))
}

// plainEnv keeps settings of the user's environment away from a program. One that
// tunes itself leaves alone what is set.
func plainEnv(gogc string) []string {
	env := []string{"GOMEMLIMIT=", "FOLIO=", overlay.HugePagesVariable + "="}
	if gogc == "" {
		env = append(env, "GOGC=")
	}
	return env
}

// idle says why a patch changes nothing in programs for this machine, "" if it does.
func idle(name string) string {
	patches, err := overlay.Lookup(name)
	if err != nil {
		return err.Error()
	}
	return patches[0].Idle(&overlay.Toolchain{OS: runtime.GOOS, Arch: runtime.GOARCH})
}

// documentList is the file, beside the program, that says what is indexed.
const documentList = "documents"

func indexWork(_ *probe, t Task) error {
	return become(t, filepath.Join(filepath.Dir(t.Program), documentList))
}

// become makes this process the program of a task.
func become(t Task, arg string) error {
	if t.Program == "" {
		return fmt.Errorf("it needs a program")
	}
	args := []string{t.Program, benchmark(t.Experiment), strconv.FormatUint(t.Size, 10), arg}
	return &os.PathError{Op: "run", Path: t.Program, Err: syscall.Exec(t.Program, args, os.Environ())}
}

// prepareIndex chooses the documents and builds the program as an arm has it,
// unless that was done for another.
func prepareIndex(ctx context.Context, a *Arm, dir string, quick bool) error {
	if a.Name == overlay.MallocPrefetch {
		if why := idle(a.Name); why != "" {
			return fmt.Errorf("it %s", why)
		}
	}
	return buildWorkload(ctx, a, filepath.Join(dir, indexName), quick, func(b *workloadBuild) error {
		var folio *workload.Folio
		if b.auto {
			var err error
			if folio, err = workload.FindFolio(); err != nil {
				return err
			}
		}
		var err error
		if b.source, err = workload.Index(b.dir, folio); err != nil {
			return err
		}
		t, err := b.toolchain(ctx)
		if err != nil {
			return err
		}
		paths, err := workload.Documents(t.Root, a.Task.Count, a.Task.Size)
		if err != nil {
			return err
		}
		return workload.WriteDocuments(filepath.Join(b.dir, documentList), paths)
	})
}
