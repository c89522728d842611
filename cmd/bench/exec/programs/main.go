//go:build linux

// Command programs measures what huge pages for the heap gain real programs that
// are as their authors wrote them: the table in docs/lab-notes/exec.md.
//
//	go run ./cmd/bench/exec/programs [-rounds 10] [-gogc n] [-keep dir] [-trees] [-costs] [-always] [-results dir] [program...]
//
// It downloads and builds them (-trimpath -ldflags='-s -w') and their input, below
// dir. Each runs with its default settings, with --thp heap, with the GOGC of 200,
// 400 and 800 that takes the least CPU time, and with both: in each round once, in
// random order, each time in a fresh process and with a fresh directory. Figures are
// medians; ratios are taken within rounds, with their 95% confidence interval. One more
// run of each samples page faults, one in 31; of those in Go heaps the table has the ratio.
//
// With -trees the commands are such that start the Go programs, as npx tsc, with one arm more:
// "watched", in which nothing is changed, but every exec and exit is seen, and the GC read.
// With -costs, only that is compared with the default. With -always, an arm more has THP=always:
// the table in README.md. With -results, ten well-known programs are
// compared by folio ab, and a directory gets the page of each and the table of all: docs/results.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/foliomem/folio/cmd/bench/internal/guarded"
	"github.com/foliomem/folio/cmd/bench/internal/quiet"
	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/lab/settings"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/system/procmem"
)

// sampleRate is how often a second the run that counts faults of heaps is sampled.
const sampleRate = 997

func main() {
	guarded.Play()
	rounds := flag.Int("rounds", 10, "rounds")
	gogc := flag.String("gogc", "", "the `level` of GOGC (default the best of 200, 400 and 800)")
	always := flag.Bool("always", false, "measure THP=always, set for the whole system during those runs; needs root")
	ofTrees := flag.Bool("trees", false, "measure commands that start Go programs")
	costs := flag.Bool("costs", false, "measure only what it costs to watch -trees")
	ofCycles := flag.Bool("cycles", false, "compare the GC cycles that folio run counts with the runtime's own trace")
	shownIn := flag.String("results", "", "compare well-known programs with folio ab, and write their pages to this `directory`")
	keep := flag.String("keep", "", "build in this `directory` and leave the programs there")
	flag.Parse()
	if *ofTrees {
		programs = trees
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, options{rounds: *rounds, level: *gogc, costs: *costs, always: *always, shown: *shownIn, cycles: *ofCycles}, *keep, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "programs:", err)
		os.Exit(1)
	}
}

// options are those of a measurement.
type options struct {
	rounds int
	level  string // of GOGC; "": the best
	costs  bool   // without the arms in which something is changed
	always bool   // with an arm under THP=always
	cycles bool   // only their GC cycles
	shown  string // the directory of pages; "": the table of this program
	system *settings.Changer
}

func run(ctx context.Context, o options, dir string, names []string) (err error) {
	if o.rounds < 1 {
		return fmt.Errorf("-rounds %d: want at least 1", o.rounds)
	}
	if o.cycles {
		programs = counted()
	}
	for _, n := range names {
		if !slices.ContainsFunc(programs, func(p program) bool { return p.name == n }) && (o.shown == "" || !isShown(n)) {
			return fmt.Errorf("no program %q", n)
		}
	}
	if o.always {
		if o.system, err = guarded.New(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, o.system.Close()) }()
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "folio-programs-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if o.cycles {
		return cycles(ctx, dir, names)
	}
	if o.shown != "" {
		return results(ctx, o.rounds, dir, o.shown, names)
	}
	t := table.New(os.Stdout, "program", "arm", "wall", "CPU time", "ratio of CPU time", "ratio of wall time", "faults", "heap faults", "peak RSS", "n")
	var machine quiet.Machine
	defer machine.Release()
	for _, p := range programs {
		if len(names) > 0 && !slices.Contains(names, p.name) {
			continue
		}
		machine.Release()
		command, err := p.prepare(ctx, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if err := p.measure(ctx, t, &machine, dir, command, o); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// An arm is one setting of a program, and what its runs gave.
type arm struct {
	name                    string
	setting                 trial.Setting
	watched                 bool // its execs and exits are seen, and the GC read
	always                  bool // with THP=always for the whole system
	wall, cpu, faults, peak []float64
	heapFaults              uint64
}

// measure prints the rows of a program.
func (p program) measure(ctx context.Context, t *table.Table, machine *quiet.Machine, dir string, command []string, o options) error {
	once := func(a *arm, rate int) error {
		work := filepath.Join(dir, "work")
		if err := os.RemoveAll(work); err != nil {
			return err
		}
		if err := os.MkdirAll(work, 0o755); err != nil {
			return err
		}
		set := a.setting
		set.Env = []string{"STATICCHECK_CACHE=" + work, "GOPLSCACHE=" + work, "XDG_CACHE_HOME=" + work, "GOCACHE=" + goCache, "GOFLAGS="}
		if p.tree {
			set.Env = append(set.Env, "GOCACHE="+work)
		}
		t := &trial.Program{Command: command, FS: procmem.New(""), IsGo: !p.tree, ReadGC: a.watched}
		var s *trial.Sample
		err := machine.Trial(func() (err error) {
			if a.always {
				if err := o.system.Apply([]settings.Change{{Path: guarded.THP + "enabled", Value: "always"}}); err != nil {
					return err
				}
				defer func() { err = errors.Join(err, o.system.Restore()) }()
			}
			s, err = t.Run(ctx, set, trial.Request{Timeout: 10 * time.Minute, Profile: rate})
			return err
		})
		if err != nil {
			return err
		}
		if !s.OK() {
			return fmt.Errorf("%s: %s: %s", a.name, s.Failure, s.Tail)
		}
		if rate > 0 {
			if s.Profile == nil {
				return fmt.Errorf("%s: page faults cannot be sampled: %w", a.name, s.Unsampled)
			}
			a.heapFaults = s.Profile.HeapFaults
			return nil
		}
		peak, _ := s.MostMemory()
		a.wall, a.cpu = append(a.wall, s.Wall), append(a.cpu, s.CPU)
		a.faults, a.peak = append(a.faults, float64(s.MinorFaults)), append(a.peak, peak)
		return nil
	}
	arms := []*arm{{name: "default"}}
	if !o.costs {
		changed, err := changes(o.level, once)
		if err != nil {
			return err
		}
		arms = append(arms, changed...)
	}
	if o.always {
		arms = append(arms, &arm{name: "THP=always", always: true})
	} else if p.tree {
		arms = append(arms, &arm{name: "watched", watched: true})
	}
	if err := quiet.Rounds(o.rounds, len(arms), func(_, i int) error { return once(arms[i], 0) }); err != nil {
		return err
	}
	for _, a := range arms {
		if err := once(a, sampleRate); err != nil {
			return err
		}
	}
	for _, a := range arms {
		t.Rowf("%s | %s | %.2f s | %.2f s | %s | %s | %.0f | %.3fx | %.0f MiB | %d", p.name, a.name,
			stat.Median(a.wall), stat.Median(a.cpu),
			ratio(arms[0].cpu, a.cpu), ratio(arms[0].wall, a.wall), stat.Median(a.faults),
			float64(a.heapFaults)/float64(max(arms[0].heapFaults, 1)), stat.Median(a.peak)/(1<<20), len(a.cpu))
	}
	return nil
}

// changes are the arms in which something is changed.
func changes(level string, once func(a *arm, rate int) error) ([]*arm, error) {
	if level == "" {
		var err error
		if level, err = best(once); err != nil {
			return nil, err
		}
	}
	return []*arm{
		{name: "--thp heap", setting: trial.Setting{THP: trial.THPHeap}},
		{name: "GOGC=" + level, setting: trial.Setting{GOGC: level}},
		{name: "both", setting: trial.Setting{GOGC: level, THP: trial.THPHeap}},
	}, nil
}

// best returns the GOGC that takes the least CPU time, of three runs each in turn.
// Those runs do not count.
func best(once func(a *arm, rate int) error) (string, error) {
	var levels []*arm
	for _, n := range []string{"200", "400", "800"} {
		levels = append(levels, &arm{name: "GOGC=" + n, setting: trial.Setting{GOGC: n}})
	}
	for range 3 {
		for _, a := range levels {
			if err := once(a, 0); err != nil {
				return "", err
			}
		}
	}
	least := slices.MinFunc(levels, func(a, b *arm) int { return int(math.Copysign(1, stat.Median(a.cpu)-stat.Median(b.cpu))) })
	return strings.TrimPrefix(least.name, "GOGC="), nil
}

// ratio prints the median ratio within rounds, and its interval where there is one.
func ratio(base, values []float64) string {
	if &base[0] == &values[0] {
		return "1"
	}
	p := stat.ComparePairs(base, values)
	out := fmt.Sprintf("%.2f", p.Ratio)
	if lo, hi, ok := p.Interval(0.05); ok {
		out += fmt.Sprintf(" [%.2f, %.2f]", lo, hi)
	}
	return out
}
