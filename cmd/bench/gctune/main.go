// Command gctune compares package gctune with what else there is.
//
//	go run ./cmd/bench/gctune [-quick] [-only json] [-rounds 8] [-search 3] [-throughput]
//
// Each workload runs inside a memory limit: with Go's defaults, with static
// settings of GOGC and GOMEMLIMIT, with automemlimit, with a tuner by the ratio of
// memory in use (bytedance/gopkg/util/gctuner), and with gctune. Fresh processes,
// in random order in every round.
//
// The search for the best static setting runs all of a grid, and drops those that
// are clearly slower, or killed, after each round. The three best are in the
// comparison itself, whose table has medians, and ratios by rounds with their
// intervals; the best static of a round is the one of the three that is fastest in
// all other rounds, so that chance favors nobody.
//
// As root on a machine with cgroups of version 1 the limit is that of a cgroup,
// made for each process and removed again, and a process that exceeds it is
// killed. Elsewhere the tuners are told the limit, and a process counts as
// killed when its peak RSS was above it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/foliomem/folio/cmd/bench/internal/quiet"
	"github.com/foliomem/folio/cmd/bench/internal/table"
)

func main() {
	b := &bench{}
	quick := flag.Bool("quick", false, "few and short runs: shows that it works, no more")
	only := flag.String("only", "", "only workloads whose name contains this")
	flag.IntVar(&b.rounds, "rounds", 8, "rounds of the comparison")
	flag.IntVar(&b.search, "search", 3, "rounds of the search for the best static settings")
	flag.DurationVar(&b.time, "time", 2500*time.Millisecond,
		"time that counts of each run of the comparison, after one to six seconds that do not")
	flag.DurationVar(&b.searchTime, "searchtime", 1500*time.Millisecond, "likewise of the search")
	flag.BoolVar(&b.throughput, "throughput", false, "run gctune with Options.Throughput, too")
	rest := flag.Duration("rest", 0, "measure nothing but what the tuner costs a program at rest, in so long")
	flag.StringVar(&b.static, "static", "", "compare with these settings, such as '400 90%, off 96%', instead of searching")
	flag.Parse()
	if *quick {
		b.rounds, b.search, b.time, b.searchTime = 2, 1, time.Second, time.Second
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	run := func() error { return b.run(ctx, *only, os.Stdout) }
	if *rest > 0 {
		run = func() error { return b.rest(ctx, *rest, os.Stdout) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gctune:", err)
		os.Exit(1)
	}
}

type bench struct {
	rounds, search   int
	time, searchTime time.Duration
	throughput       bool
	static           string
	worker           string
	machine          quiet.Machine
	parent           string // directory for cgroups; "" where there are none
}

const mib = 1 << 20

// A workload is one of the program in peers, with a limit that leaves something
// to gain.
type workload struct {
	name, what string
	limit      uint64
	period     time.Duration // of a workload in phases: trials take whole periods
	shares     []float64     // of the limit, for GOMEMLIMIT in the grid; nil for 0.9 and 0.96
}

var workloads = []workload{
	{name: "json", what: "JSON server, about 200 MB live", limit: 1024 * mib},
	{name: "ecdsa", what: "ECDSA P-256 signing", limit: 256 * mib},
	{name: "bleve", what: "bleve indexing Go sources", limit: 1024 * mib},
	{name: "gofmt", what: "gofmt of the Go tree", limit: 512 * mib},
	{name: "trees", what: "short-lived trees beside a live one", limit: 512 * mib},
	{name: "phases", what: "cache that doubles and halves", limit: 512 * mib, period: 4 * time.Second},
	{name: "near", what: "live heap near the limit", limit: 512 * mib},
	// Half of the limit is what the Go runtime gets when the cache is large.
	{name: "outside", what: "cache outside the heap that doubles and halves", limit: 512 * mib, period: 8 * time.Second,
		shares: []float64{0.4, 0.44, 0.48, 0.9}},
}

// span is how long a trial of a workload counts, when it should be about d.
func (w *workload) span(d time.Duration) time.Duration {
	if w.period == 0 {
		return d
	}
	return max(d.Round(w.period), w.period)
}

// arm is a way to run a workload.
type arm struct {
	name, tuner, gogc string
	share             float64 // of the limit, for GOMEMLIMIT; 0 for none
}

func (a *arm) isStatic() bool { return a.gogc != "" }

// contenders are all arms of the comparison. The default comes first, gctune
// last, or before itself with the throughput.
func (b *bench) contenders(statics []arm) []arm {
	out := append([]arm{{name: "default", tuner: "none"}}, statics...)
	out = append(out, arm{name: "automemlimit", tuner: "automemlimit"}, arm{name: "ratio tuner", tuner: "ratio"},
		arm{name: "gctune", tuner: "folio"})
	if b.throughput {
		out = append(out, arm{name: "gctune, throughput", tuner: "folio-work"})
	}
	return out
}

// build builds the program with the workloads; remove takes it away.
func (b *bench) build(ctx context.Context) (remove func(), err error) {
	dir, err := os.MkdirTemp("", "gctune")
	if err != nil {
		return nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	b.worker = filepath.Join(dir, "worker")
	build := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join("bench", "gctune", "peers"), "-o", b.worker, ".")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		remove()
		return nil, fmt.Errorf("build the workloads (run it from the root of the repository): %w", err)
	}
	return remove, nil
}

func (b *bench) run(ctx context.Context, only string, w io.Writer) error {
	remove, err := b.build(ctx)
	if err != nil {
		return err
	}
	defer remove()
	if b.parent = cgroups(); b.parent == "" {
		fmt.Fprintln(os.Stderr, "gctune: no memory cgroups can be made here: the limit is only told to the tuners, and judged by peak RSS")
	}
	defer b.machine.Release()
	t := head(w)
	for i := range workloads {
		l := &workloads[i]
		if !strings.Contains(l.name, only) {
			continue
		}
		if err := b.compare(ctx, l, t); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

// compare searches the best static settings of a workload, and writes the table
// of all contenders.
func (b *bench) compare(ctx context.Context, l *workload, t *table.Table) error {
	statics, err := b.statics(ctx, l)
	if err != nil {
		return err
	}
	arms := b.contenders(statics)
	results, err := b.measure(ctx, l, arms, b.rounds, l.span(b.time))
	if err != nil {
		return err
	}
	rows(t, l, arms, results)
	return nil
}

// measure runs each arm once a round, in random order, and returns the results by
// arm.
func (b *bench) measure(ctx context.Context, l *workload, arms []arm, rounds int, d time.Duration) ([][]result, error) {
	out := make([][]result, len(arms))
	err := quiet.Rounds(rounds, len(arms), func(_, i int) error {
		r, err := b.once(ctx, l, arms[i], d)
		if err != nil {
			return fmt.Errorf("%s: %w", arms[i].name, err)
		}
		out[i] = append(out[i], r)
		return nil
	})
	return out, err
}

// rest compares the CPU time of a program that does nothing, with and without
// the tuner, one after the other.
func (b *bench) rest(ctx context.Context, d time.Duration, w io.Writer) error {
	remove, err := b.build(ctx)
	if err != nil {
		return err
	}
	defer remove()
	l := &workload{name: "rest", limit: 512 * mib}
	t := table.New(w, "at rest, 100 MB live", "of one CPU")
	for _, a := range []arm{{name: "default", tuner: "none"}, {name: "gctune", tuner: "folio"}} {
		r, err := b.alone(ctx, l, a, d)
		if err != nil {
			return err
		}
		t.Rowf("%s | %.4f%%", a.name, 100*r.CPU)
	}
	return nil
}
