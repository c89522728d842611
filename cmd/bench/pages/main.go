// Command pages compares the loops of folio lab with the same in C.
//
//	go run ./cmd/bench/pages [-rounds 10] [-size 4GiB] [-allow-system] [-sizes]
//
// Each trial of an arm runs folio's process and the C program, one after the
// other in random order; the table has the medians over the rounds, and the
// ratio within the rounds with its interval. The promise is 5% for every arm.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/foliomem/folio/cmd/bench/internal/programs"
	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/lab"
	"github.com/foliomem/folio/cmd/internal/lab/settings"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/page"
)

func main() {
	rounds := flag.Int("rounds", 10, "rounds")
	size := flag.String("size", "", "largest size (default as folio lab)")
	allow := flag.Bool("allow-system", false, "as folio lab: also the arms that need settings of the whole system")
	sizes := flag.Bool("sizes", false, "a row for each size, not for the largest only")
	only := flag.String("only", "", "one of pages and faults (default both)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := lab.Options{Rounds: *rounds, AllowSystem: *allow, Seed: rand.Uint64() >> 32}
	if err := run(ctx, o, *size, *only, *sizes, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "pages:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o lab.Options, size, only string, sizes bool, w io.Writer) error {
	dir, err := os.MkdirTemp("", "pages")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	folio, err := programs.Folio(dir)
	if err != nil {
		return err
	}
	for _, name := range []string{"pages", "faults"} {
		if only != "" && only != name {
			continue
		}
		e, err := lab.Lookup(name)
		if err != nil {
			return err
		}
		o.Experiments = append(o.Experiments, e)
		build := exec.Command("cc", "-O2", "-o", filepath.Join(dir, name), "cmd/bench/pages/c/"+name+".c", "-lpthread")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("cc: %w: %s", err, out)
		}
	}
	if size != "" {
		if o.Size, err = unit.ParseSize(size); err != nil {
			return err
		}
	}
	o.Self = []string{folio, "lab", "guard"}
	o.Runner = both(lab.Process([]string{folio, "lab", "arm"}, nil), dir)
	o.Announce = func(experiment string, changes []settings.Change) {
		for _, c := range changes {
			fmt.Fprintf(os.Stderr, "%s: %s, put back after each run\n", experiment, c)
		}
	}
	res, err := lab.Run(ctx, o)
	if err != nil {
		return err
	}
	for _, out := range res.Outcomes {
		write(w, out, sizes)
	}
	return nil
}

// both runs a task as folio does and in C, in random order, and puts the figures
// of both into one sample.
func both(folio func(context.Context, lab.Task, trial.Setting) (*trial.Sample, error), dir string) func(context.Context,
	lab.Task, trial.Setting) (*trial.Sample, error) {
	return func(ctx context.Context, t lab.Task, s trial.Setting) (*trial.Sample, error) {
		c := func() (*trial.Sample, error) {
			p := &trial.Program{Command: inC(dir, t)}
			return p.Run(ctx, trial.Setting{}, trial.Request{})
		}
		var a, b *trial.Sample
		var err error
		if rand.IntN(2) == 0 {
			b, err = c()
		}
		if err == nil {
			a, err = folio(ctx, t, s)
		}
		if err == nil && b == nil {
			b, err = c()
		}
		if err != nil {
			return nil, err
		}
		for k, v := range b.Metrics {
			a.Metrics[k] = v
		}
		if !b.OK() && a.OK() {
			a.Failure, a.Tail = "in C: "+b.Failure, b.Tail
		}
		return a, nil
	}
}

// inC is the C program's command line for a task.
func inC(dir string, t lab.Task) []string {
	size := t.PageSize
	if size == 0 && t.Kind == page.THP {
		size = page.HugeSize()
	}
	if size == 0 {
		size = page.Size()
	}
	argv := []string{filepath.Join(dir, t.Experiment), t.Kind.String(), strconv.Itoa(size)}
	if t.Experiment == "faults" {
		how := t.How
		if how == "" {
			how = "write"
		}
		argv = append(argv, how)
	}
	return append(argv, strconv.FormatUint(t.Size, 10), strconv.Itoa(t.Count))
}

func write(w io.Writer, o *lab.Outcome, all bool) {
	fmt.Fprintln(w)
	t := table.New(w, o.Experiment.Name, "size", "figure", "folio", "C", "folio / C, within rounds")
	sizes := []uint64{o.Params.Size}
	if all {
		sizes = o.Sizes()
	}
	for _, a := range o.Arms {
		if !a.Ran() {
			t.Row(a.Arm.Name, "", "not run: "+a.Arm.NotRun+a.Failure, "", "", "")
			continue
		}
		for _, size := range sizes {
			for _, f := range o.Experiment.Figures {
				folio, c := a.Values(size, f.Key), a.Values(size, "c_"+f.Key)
				if len(c) == 0 {
					continue
				}
				r := stat.PairedRatio(c, folio)
				t.Rowf("%s | %s | %s | %s | %s | %.3f [%.3f, %.3f]", a.Arm.Name, unit.Exact(size), f.Label,
					unit.Seconds(stat.Median(folio)), unit.Seconds(stat.Median(c)), r.Median, r.Lo, r.Hi)
			}
		}
	}
}
