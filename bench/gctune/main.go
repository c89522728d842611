// Command gctune compares package gctune with what else there is.
//
//	go run ./bench/gctune [-quick] [-only json] [-rounds 6] [-time 5s]
//
// Each workload runs inside a memory limit: with Go's defaults, with the best
// static setting of GOGC and GOMEMLIMIT that an exhaustive search finds under the
// same limit, with automemlimit, with a tuner by the ratio of memory in use
// (bytedance/gopkg/util/gctuner), and with gctune, with and without being told
// the throughput. Fresh processes, in random order in every round; the table has
// medians, and ratios by rounds with their intervals.
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
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/foliomem/folio/bench/internal/quiet"
	"github.com/foliomem/folio/internal/stat"
)

func main() {
	b := &bench{}
	quick := flag.Bool("quick", false, "few and short runs: shows that it works, no more")
	only := flag.String("only", "", "only workloads whose name contains this")
	flag.IntVar(&b.rounds, "rounds", 6, "rounds of the comparison")
	flag.IntVar(&b.search, "search", 2, "rounds of the search for the best static setting")
	flag.DurationVar(&b.time, "time", 6*time.Second, "time that counts of each run")
	flag.Parse()
	if *quick {
		b.rounds, b.search, b.time = 2, 1, 3*time.Second
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := b.run(ctx, *only, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gctune:", err)
		os.Exit(1)
	}
}

type bench struct {
	rounds, search int
	time           time.Duration
	worker         string
	machine        quiet.Machine
	parent         string // directory for cgroups; "" where there are none
}

const mib = 1 << 20

// workloads are those of the program in peers, each with a limit that leaves
// something to gain.
var workloads = []struct {
	name, what string
	limit      uint64
	phases     bool
}{
	{"json", "JSON server, about 200 MB live", 1024 * mib, false},
	{"ecdsa", "ECDSA P-256 signing", 256 * mib, false},
	{"bleve", "bleve indexing Go sources", 1024 * mib, false},
	{"gofmt", "gofmt of the Go tree", 512 * mib, false},
	{"trees", "short-lived trees beside a live one", 512 * mib, false},
	{"phases", "cache that doubles and halves", 512 * mib, true},
	{"near", "live heap near the limit", 512 * mib, false},
}

// arm is a way to run a workload.
type arm struct {
	name, tuner, gogc string
	share             float64 // of the limit, for GOMEMLIMIT; 0 for none
}

var contenders = []arm{
	{name: "default", tuner: "none"},
	{name: "best static", tuner: "none"}, // filled in by the search
	{name: "automemlimit", tuner: "automemlimit"},
	{name: "ratio tuner", tuner: "ratio"},
	{name: "gctune", tuner: "folio"},
	{name: "gctune, throughput", tuner: "folio-work"},
}

const (
	static = 1 // index of the best static setting
	ours   = 4
)

// grid is every static setting that is tried.
func grid() (out []arm) {
	for _, gogc := range []string{"100", "200", "400", "800", "1600", "off"} {
		for _, share := range []float64{0.9, 0.96} {
			out = append(out, arm{name: fmt.Sprintf("GOGC=%s GOMEMLIMIT=%.0f%%", gogc, 100*share), tuner: "none", gogc: gogc, share: share})
		}
	}
	return out
}

func (b *bench) run(ctx context.Context, only string, w io.Writer) error {
	dir, err := os.MkdirTemp("", "gctune")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b.worker = filepath.Join(dir, "worker")
	build := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join("bench", "gctune", "peers"), "-o", b.worker, ".")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the workloads (run it from the root of the repository): %w", err)
	}
	if b.parent = cgroups(); b.parent == "" {
		fmt.Fprintln(os.Stderr, "gctune: no memory cgroups can be made here: the limit is only told to the tuners, and judged by peak RSS")
	}
	fmt.Fprintln(w, "| workload, limit | arm | work/s | against default | against best static | peak RSS | collections/s | GC CPU | killed | target |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	for i, l := range workloads {
		if !strings.Contains(l.name, only) {
			continue
		}
		if err := b.compare(ctx, i, w); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

// measure runs each arm once a round, in random order, and returns the results by
// arm.
func (b *bench) measure(ctx context.Context, workload int, arms []arm, rounds int) ([][]result, error) {
	out := make([][]result, len(arms))
	for range rounds {
		for _, i := range rand.Perm(len(arms)) {
			r, err := b.once(ctx, workload, arms[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", arms[i].name, err)
			}
			out[i] = append(out[i], r)
		}
	}
	return out, nil
}

func (b *bench) compare(ctx context.Context, workload int, w io.Writer) error {
	l := workloads[workload]
	settings := grid()
	found, err := b.measure(ctx, workload, settings, b.search)
	if err != nil {
		return err
	}
	best, most := settings[0], 0.0
	for i, rs := range found {
		// A setting that is killed at times is no setting.
		if r := rates(rs); killed(rs) == 0 && stat.Median(r) > most {
			best, most = settings[i], stat.Median(r)
		}
	}
	arms := append([]arm(nil), contenders...)
	arms[static] = best
	results, err := b.measure(ctx, workload, arms, b.rounds)
	if err != nil {
		return err
	}
	for i, a := range arms {
		rs := results[i]
		fmt.Fprintf(w, "| %s, %d MiB | %s | %.0f | %s | %s | %.0f MiB | %.1f | %.1f%% | %d of %d | %s |\n",
			l.what, l.limit/mib, a.name, stat.Median(rates(rs)), ratio(results[0], rs), ratio(results[static], rs),
			stat.Median(column(rs, func(r result) float64 { return r.rss }))/mib,
			stat.Median(column(rs, func(r result) float64 { return r.Cycles })),
			100*stat.Median(column(rs, func(r result) float64 { return r.GC })),
			killed(rs), len(rs), verdict(i, l.phases, results))
	}
	return nil
}

// verdict says whether gctune meets its targets.
func verdict(i int, phases bool, results [][]result) string {
	if i < ours {
		return ""
	}
	least := 0.97
	if phases {
		least = 1
	}
	var missed []string
	if killed(results[i]) > 0 {
		missed = append(missed, "killed")
	}
	if r := paired(results[static], results[i]); !(r.Median >= least) {
		missed = append(missed, fmt.Sprintf("below %.2fx the best static", least))
	}
	// Where the default is killed there is nothing to compare with.
	if killed(results[0]) == 0 {
		if r := paired(results[0], results[i]); !(r.Median >= 0.99) {
			missed = append(missed, "below default by more than 1%")
		}
	}
	if missed == nil {
		return "met"
	}
	return "not met: " + strings.Join(missed, ", ")
}
