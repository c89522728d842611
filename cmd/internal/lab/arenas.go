package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/foliomem/folio/cmd/internal/lab/arenabench"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/unit"
)

// arenasFamily is the name of the three experiments on arenas together.
const arenasFamily = "arenas"

var arenas = &Experiment{
	Name:     "arenas-trees",
	Family:   arenasFamily,
	Question: "What do binary trees, many small objects freed together, cost with new and in arenas?",
	Source:   "thepudds, Go issue 51667 (2022): depth 21, against new: 50% of the wall time with arenas on huge pages, 19% of the faults, 58% of the memory with early release",
	Figures:  arenasFigures,
	defaults: Params{Size: 128 << 20, Count: 1, Rounds: 6},
	quick:    Params{Size: 4 << 20, Count: 1, Rounds: 3},
	arms:     arenasArms,
	work:     arenasWork,
	meaning:  func(o *Outcome) []string { return arenasMeaning(o, "Binary trees") },
	charts:   chartsOfArenas("trees"),
}

var arenasJSON = &Experiment{
	Name:     "arenas-json",
	Family:   arenasFamily,
	Question: "What do arenas save when JSON documents are decoded into nodes?",
	Source:   "none: nodes of one type with text of all lengths, in one goroutine",
	Figures:  arenasFigures,
	defaults: Params{Size: 128 << 20, Count: 8, Rounds: 6},
	quick:    Params{Size: 16 << 20, Count: 4, Rounds: 3},
	arms:     arenasArms,
	work:     arenasWork,
	meaning:  func(o *Outcome) []string { return arenasMeaning(o, "JSON documents") },
	charts:   chartsOfArenas(""),
}

var arenasIndex = &Experiment{
	Name:     "arenas-index",
	Family:   arenasFamily,
	Question: "What do arenas save in an ordered index of small nodes, where most of the work is lookups?",
	Source:   "after Go issue 73381 (2025): the treap of bleve's index is made of many small objects",
	Figures:  arenasFigures,
	defaults: Params{Size: 32 << 20, Count: 2, Rounds: 6},
	quick:    Params{Size: 4 << 20, Count: 2, Rounds: 3},
	arms:     arenasArms,
	work:     arenasWork,
	meaning:  func(o *Outcome) []string { return arenasMeaning(o, "An ordered index") },
	charts:   chartsOfArenas(""),
}

var arenasFigures = []Figure{
	{Key: "wall_seconds", Label: "wall", Unit: "wall-sec"},
	{Key: "user_seconds", Label: "user", Unit: "user-sec"},
	{Key: "system_seconds", Label: "system", Unit: "system-sec"},
	{Key: "cpu_seconds", Label: "cpu", Unit: "cpu-sec"},
	{Key: "peak_rss_bytes", Label: "peak RSS", Unit: "peak-RSS-bytes"},
	{Key: "faults", Label: "faults", Unit: "faults"},
	{Key: "gc_cycles", Label: "GCs", Unit: "gc-cycles", Minor: true},
	{Key: "huge_fraction", Label: "huge", Unit: "huge-fraction", Minor: true},
	{Key: "checksum", Label: "checksum", Unit: "checksum", Minor: true, Same: true},
}

// limitTimes is how much memory, in sizes of the experiment, the arm without
// GC cycles may take until it collects after all.
const limitTimes = 4

func arenasArms(m *Machine, p Params) []*Arm {
	type row struct {
		name, about, how, gogc string
		limit                  uint64
	}
	limit := limitTimes * p.Size
	var arms []*Arm
	for _, r := range []row{
		{"new", "new, as most programs allocate", "new", "100", 0},
		{"gogc-400", "new, with GOGC=400", "new", "400", 0},
		{"gogc-800", "new, with GOGC=800", "new", "800", 0},
		{"gogc-off", "new, with GOGC=off and GOMEMLIMIT=" + unit.Exact(limit), "new", trial.Off, limit},
		{goArenas, "the arenas of Go's experiment, built here by the go command", goArenas, "100", 0},
		{"folio", "Folio's arenas by default: huge pages, and idle memory is released early", "folio", "100", 0},
		{"folio-base", "without huge pages", "folio-base", "100", 0},
		{"folio-keep", "without early release", "folio-keep", "100", 0},
		{"folio-plain", "without either", "folio-plain", "100", 0},
	} {
		a := &Arm{Name: r.name, About: r.about, Task: Task{How: r.how}}
		a.Setting = &trial.Setting{GOGC: r.gogc, MemLimit: r.limit}
		if r.limit == 0 {
			a.Setting.Env = []string{"GOMEMLIMIT=off"}
		}
		if r.how == goArenas {
			a.Prepare = buildGoArenas
		}
		arms = append(arms, a)
	}
	return arms
}

// workOf returns the work of package arenabench that an experiment on arenas does.
func workOf(experiment string) string { return experiment[len(arenasFamily)+1:] }

func arenasWork(p *probe, t Task) error {
	if t.Program != "" {
		args := []string{t.Program, benchmark(t.Experiment), workOf(t.Experiment), t.How, strconv.FormatUint(t.Size, 10), strconv.Itoa(t.Count)}
		return &os.PathError{Op: "run", Path: t.Program, Err: syscall.Exec(t.Program, args, os.Environ())}
	}
	work, way, err := arenabench.Lookup(workOf(t.Experiment), t.How)
	if err != nil {
		return err
	}
	var res *arenabench.Result
	done := make(chan struct{})
	go func() { // this goroutine is bound to its thread, which makes it slow to switch
		defer close(done)
		res, err = work.Do(way, t.Size, t.Count)
	}()
	<-done
	if err != nil {
		return err
	}
	var values []value
	for _, f := range res.Figures() {
		values = append(values, value{f.Key, f.Value})
	}
	p.point(t.Size, values...)
	return nil
}

// goArenas is the arm that needs a go command that knows Go's arenas.
const goArenas = "goarena"

// How long building may take; without a cache of the standard library for the
// experiment it takes some 20 seconds of two processors.
const (
	buildTime      = 5 * time.Minute
	buildTimeQuick = 45 * time.Second
)

// buildGoArenas builds the program with Go's arenas, unless it is there.
func buildGoArenas(ctx context.Context, a *Arm, dir string, quick bool) error {
	dir = filepath.Join(dir, goArenas)
	source, err := arenabench.WriteSource(dir)
	if err != nil {
		return err
	}
	a.Task.Program = source.Program
	if _, err := os.Stat(source.Program); err == nil {
		return nil
	}
	command, err := exec.LookPath("go")
	if err != nil {
		return errors.New("it needs the go command, which is not on PATH")
	}
	temp := filepath.Join(dir, "tmp")
	if err := os.MkdirAll(temp, 0o777); err != nil {
		return err
	}
	p := &trial.Program{Command: append([]string{command}, source.Args...), Dir: dir}
	req := trial.Request{Timeout: buildTime}
	if quick {
		req.Timeout = buildTimeQuick
	}
	s, err := p.Run(ctx, trial.Setting{Env: append(source.Env, "GOTMPDIR="+temp, "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)}, req)
	switch {
	case err != nil:
		return fmt.Errorf("%s cannot build it: %w", command, err)
	case s.TimedOut:
		return fmt.Errorf("%s has not built it within %v: run the lab again, what was built is kept", command, req.Timeout)
	case !s.OK():
		why := s.Reason()
		if why == "" {
			why = s.Failure
		}
		return fmt.Errorf("%s cannot build it with GOEXPERIMENT=arenas: %s", command, why)
	}
	if _, err := os.Stat(source.Program); err != nil {
		return fmt.Errorf("%s built nothing: %w", command, err)
	}
	return nil
}
