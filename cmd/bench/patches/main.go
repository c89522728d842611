// Command patches measures what the patches of Go's runtime gain: the table "Patched
// runtimes" of docs/performance.md.
//
//	go run ./cmd/bench/patches [-rounds 10] [-depth 21]
//
// The trees are source 1's: binary trees with Go's experimental arenas, without the
// patches and with. The map has 8 million entries. Each trial is a fresh process; in
// each round all arms of a program run in random order, and ratios are taken within
// rounds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/foliomem/folio/cmd/bench/internal/quiet"
	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/bench/internal/touch"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/program/overlay"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/system/procmem"
)

func main() {
	if touch.Asked() {
		exit(touch.Main())
	}
	rounds := flag.Int("rounds", 10, "rounds")
	depth := flag.Int("depth", 21, "depth of the trees")
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 1 {
		fmt.Fprintln(os.Stderr, "patches: want -rounds of at least 1, and no arguments")
		os.Exit(2)
	}
	exit(run(context.Background(), *rounds, *depth, os.Stdout))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "patches:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// An arm is one build of a program, and its environment.
type arm struct {
	name       string
	dir        string
	experiment string
	patches    []string
	env        []string
	file       string
}

// A program is measured by itself: its arms are compared with the first.
type program struct {
	name string
	args []string
	arms []arm
}

func programs(depth int) []program {
	trees := []string{strconv.Itoa(depth)}
	plain, goarena := "examples/binarytrees/plain", "examples/binarytrees/goarena"
	with := func(name string, patches ...string) arm {
		return arm{name: name, dir: goarena, experiment: "arenas", patches: patches}
	}
	return []program{
		{"binary trees", trees, []arm{
			with("Go's arenas"),
			{name: "`new`", dir: plain},
			with("Go's arenas, arena-hugepages", overlay.ArenaHugePages),
			with("Go's arenas, arena-hugepages and arena-release", overlay.ArenaHugePages, overlay.ArenaRelease),
		}},
		{"map of 8M entries", nil, []arm{
			{name: "stock", dir: "cmd/bench/patches/bigmap"},
			{name: "heap-hugepages, turned off", dir: "cmd/bench/patches/bigmap", patches: []string{overlay.HeapHugePages},
				env: []string{overlay.HugePagesVariable + "=" + overlay.HugePagesOff}},
			{name: "heap-hugepages", dir: "cmd/bench/patches/bigmap", patches: []string{overlay.HeapHugePages}},
		}},
	}
}

func run(ctx context.Context, rounds, depth int, w io.Writer) error {
	dir, err := os.MkdirTemp("", "patches")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	t := table.New(w, "program", "arm", "wall s", "to the first", "CPU s", "user s", "sys s", "faults", "peak RSS, MiB", "on huge pages at the peak")
	for _, p := range programs(depth) {
		for i := range p.arms {
			a := &p.arms[i]
			a.file = filepath.Join(dir, fmt.Sprintf("%d-%s", i, filepath.Base(a.dir)))
			if err := a.build(ctx); err != nil {
				return err
			}
		}
		samples, err := measure(ctx, p, rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		for i, a := range p.arms {
			row(t, p.name, a.name, samples[0], samples[i])
		}
	}
	return nil
}

func (a *arm) build(ctx context.Context) error {
	env := append(os.Environ(), "GOEXPERIMENT="+a.experiment)
	if len(a.patches) > 0 {
		_, err := overlay.Build(ctx, overlay.BuildOptions{Env: env, Package: "./" + a.dir, Out: a.file, Patches: a.patches})
		return err
	}
	call := overlay.Call{Path: "go", Args: []string{"build", "-o", a.file, "./" + a.dir}, Env: env}
	if out, err := call.Cmd(ctx).CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", a.dir, err, out)
	}
	return nil
}

// measure returns the samples by arm; a first round does not count.
func measure(ctx context.Context, p program, rounds int) ([][]*trial.Sample, error) {
	var machine quiet.Machine
	defer machine.Release()
	out := make([][]*trial.Sample, len(p.arms))
	err := quiet.Rounds(rounds+1, len(p.arms), func(round, i int) error {
		a := p.arms[i]
		err := machine.Trial(func() error {
			if err := touch.Memory(ctx, 1<<30); err != nil {
				return err
			}
			t := &trial.Program{Command: append([]string{a.file}, p.args...), FS: procmem.New(""), Stdout: io.Discard, Stderr: os.Stderr}
			s, err := t.Run(ctx, trial.Setting{Env: a.env}, trial.Request{})
			if err == nil && !s.OK() {
				err = errors.New(s.Failure)
			}
			if err == nil && round > 0 {
				out[i] = append(out[i], s)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		return nil
	})
	return out, err
}

func row(t *table.Table, program, name string, first, of []*trial.Sample) {
	wall := func(s *trial.Sample) float64 { return s.Wall }
	huge := func(s *trial.Sample) float64 {
		if s.HugePeak == nil || s.PeakRSS == nil {
			return 0
		}
		return 100 * float64(*s.HugePeak) / float64(*s.PeakRSS)
	}
	rss := func(s *trial.Sample) float64 {
		if s.PeakRSS == nil {
			return 0
		}
		return float64(*s.PeakRSS) / (1 << 20)
	}
	ratio := stat.PairedRatio(each(first, wall), each(of, wall))
	t.Rowf("%s | %s | %.2f | %.2fx [%.2f, %.2f] | %.2f | %.2f | %.2f | %.0f | %.0f | %.0f%%", program, name,
		median(of, wall), ratio.Median, ratio.Lo, ratio.Hi,
		median(of, func(s *trial.Sample) float64 { return s.CPU }),
		median(of, func(s *trial.Sample) float64 { return s.User }),
		median(of, func(s *trial.Sample) float64 { return s.Sys }),
		median(of, func(s *trial.Sample) float64 { return float64(s.MinorFaults) }),
		median(of, rss), median(of, huge))
}

func each(samples []*trial.Sample, f func(*trial.Sample) float64) []float64 {
	var out []float64
	for _, s := range samples {
		out = append(out, f(s))
	}
	return out
}

func median(samples []*trial.Sample, f func(*trial.Sample) float64) float64 {
	return stat.Median(slices.Clone(each(samples, f)))
}
