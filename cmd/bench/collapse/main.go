// Command collapse measures what folio collapse does to a live program.
//
//	go run ./cmd/bench/collapse -inspect 10GiB
//	go run ./cmd/bench/collapse [-rounds 6] [-entries 8000000] [-rates off,256MiB,128MiB,64MiB]
//
// The program (in target) looks things up in a large map, 256 lookups an operation.
// Every arm is a rate, every trial a fresh process: its operations are timed for a
// while before, while folio collapses its heap from outside, and after. Arms run in
// random order in every round; the table has medians, and ratios within the
// trials. With -inspect it measures the CPU time that folio inspect takes for
// a process of that size instead. What is collapsed at a rate takes long, so p99 there is over a longer time.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/foliomem/folio/cmd/bench/internal/quiet"
	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/process/collapser"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/internal/base/unit"
)

func main() {
	b := &bench{}
	flag.IntVar(&b.rounds, "rounds", 6, "rounds")
	flag.IntVar(&b.entries, "entries", 8_000_000, "entries of the map")
	flag.DurationVar(&b.time, "time", 2*time.Second, "how long to look before and after")
	rates := flag.String("rates", "off,256MiB,128MiB,64MiB", "rates to compare")
	size := flag.String("inspect", "", "measure folio inspect of a process with so much heap instead")
	flag.Parse()
	b.rates = strings.Split(*rates, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := b.run(ctx, *size, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "collapse:", err)
		os.Exit(1)
	}
}

type bench struct {
	rounds, entries int
	time            time.Duration
	rates           []string
	target          string
	machine         quiet.Machine
}

// phase is what the target says of its operations: target/main.go.
type phase struct {
	Seconds float64 `json:"seconds"`
	Ops     int     `json:"ops"`
	Median  float64 `json:"median_seconds"`
	P99     float64 `json:"p99_seconds"`
	P999    float64 `json:"p999_seconds"`
	Max     float64 `json:"max_seconds"`
}

type result struct {
	before, during, after phase
	outcome               collapser.Outcome
	elapsed               time.Duration
	from, to              collapser.State
}

func (b *bench) run(ctx context.Context, size string, w io.Writer) error {
	dir, err := os.MkdirTemp("", "collapse")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b.target = filepath.Join(dir, "target")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", b.target, "./cmd/bench/collapse/target").CombinedOutput(); err != nil {
		return fmt.Errorf("build the target (run it from the root of the repository): %w: %s", err, out)
	}
	if size != "" {
		return b.inspect(ctx, size, w)
	}
	results := make([][]result, len(b.rates))
	err = quiet.Rounds(b.rounds, len(b.rates), func(_, i int) error {
		var r result
		err := b.machine.Trial(func() (err error) {
			r, err = b.trial(ctx, b.rates[i])
			return err
		})
		if err != nil {
			return fmt.Errorf("rate %s: %w", b.rates[i], err)
		}
		results[i] = append(results[i], r)
		return nil
	})
	if err != nil {
		return err
	}
	b.machine.Release()
	t := table.New(w, "rate", "collapsed", "in", "kernel", "coverage", "RSS after/before", "p99 before", "while", "while/before", "after/before",
		"longest before", "while", "median after/before", "n")
	for i, rate := range b.rates {
		row(t, rate, results[i])
	}
	return nil
}

func row(t *table.Table, rate string, rs []result) {
	col := func(f func(result) float64) float64 {
		var v []float64
		for _, r := range rs {
			v = append(v, f(r))
		}
		return stat.Median(v)
	}
	ratio := func(f func(result) float64) string {
		var v []float64
		for _, r := range rs {
			v = append(v, f(r))
		}
		s := stat.Summarize(v)
		if s.HasInterval {
			return fmt.Sprintf("%.2fx [%.2f, %.2f]", s.Median, s.Lo, s.Hi)
		}
		return fmt.Sprintf("%.2fx", s.Median)
	}
	t.Rowf("%s | %s | %s | %.2f GiB/s | %.1f%% | %s | %s | %s | %s | %s | %s | %s | %s | %d", rate,
		unit.Bytes(col(func(r result) float64 { return float64(r.outcome.Bytes) })),
		unit.Seconds(col(func(r result) float64 { return r.elapsed.Seconds() })),
		col(func(r result) float64 { return float64(r.outcome.Bytes) / r.outcome.Spent.Seconds() / (1 << 30) }),
		100*col(func(r result) float64 { return r.to.Windows.Coverage() }),
		ratio(func(r result) float64 { return float64(r.to.Resident) / float64(r.from.Resident) }),
		unit.Seconds(col(func(r result) float64 { return r.before.P99 })),
		unit.Seconds(col(func(r result) float64 { return r.during.P99 })),
		ratio(func(r result) float64 { return r.during.P99 / r.before.P99 }),
		ratio(func(r result) float64 { return r.after.P99 / r.before.P99 }),
		unit.Seconds(col(func(r result) float64 { return r.before.Max })),
		unit.Seconds(col(func(r result) float64 { return r.during.Max })),
		ratio(func(r result) float64 { return r.after.Median / r.before.Median }),
		len(rs))
}

// trial runs one target and collapses its heap.
func (b *bench) trial(ctx context.Context, rate string) (r result, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	t, err := b.start(ctx, "-entries", strconv.Itoa(b.entries))
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, t.end()) }()
	next := func(p *phase) error {
		if _, err := io.WriteString(t.in, "\n"); err != nil {
			return err
		}
		if !t.lines.Scan() {
			return errors.New("the target ended")
		}
		return json.Unmarshal(t.lines.Bytes(), p)
	}
	var warm phase
	time.Sleep(time.Second)
	if err := next(&warm); err != nil {
		return r, err
	}
	time.Sleep(b.time)
	if err := r.collapse(ctx, rate, t.cmd.Process.Pid, func() error { return next(&r.before) },
		func() error { return next(&r.during) }); err != nil {
		return r, err
	}
	time.Sleep(b.time)
	return r, next(&r.after)
}

// collapse is what folio collapse does. begin and end are called where it begins and
// ends to collapse.
func (r *result) collapse(ctx context.Context, rate string, pid int, begin, end func() error) (err error) {
	var o collapser.Options
	if rate != "off" {
		if o.Rate, err = unit.ParseSize(rate); err != nil {
			return err
		}
	}
	c, err := collapser.Open(inspect.New(), pid, o, false)
	if err != nil {
		return err
	}
	defer c.Close()
	if r.from, err = c.State(ctx, 0); err != nil {
		return err
	}
	if err = begin(); err != nil {
		return err
	}
	start := time.Now()
	if r.outcome, err = c.Pass(ctx); err != nil {
		return err
	}
	r.elapsed = time.Since(start)
	if err = end(); err != nil {
		return err
	}
	r.to, err = c.State(ctx, 0)
	return err
}
