// Command ab compares the verdicts of folio ab with those of hyperfine and benchstat.
//
//	go run ./cmd/bench/ab [-repeats 20] [-budget 5s] [-ms 30] [-truths 0,2,5] [-loads quiet,drifting]
//
// The programs are one binary that does a loop of a given length, so the true
// difference between two of them is known. Each repeat gives folio ab a budget, and the
// others as many runs as folio ab made, so that none has more time:
//
//   - hyperfine -N runs one program, then the other; its verdict is Welch's t-test at
//     0.05 on the times that it exports, as its script welch_ttest.py makes it;
//   - benchstat gets the runs of one program, then those of the other, as
//     "go test -count" makes them; its verdict is that of golang.org/x/perf/benchmath,
//     the Mann-Whitney U test at 0.05.
//
// Beside the drifting load, processes that take all CPUs come and go every few seconds.
// A verdict is right if it is "no difference" of equal programs, and else a difference in
// the right direction.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/result"
)

const source = `package main

import (
	"os"
	"strconv"
)

func main() {
	n, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	x := uint64(1)
	for range n {
		x = x*6364136223846793005 + 1442695040888963407
	}
	if x == 0 {
		os.Exit(1)
	}
}
`

func main() {
	repeats := flag.Int("repeats", 20, "comparisons of each kind")
	budget := flag.Duration("budget", 5*time.Second, "of folio ab")
	ms := flag.Float64("ms", 30, "how many milliseconds the base takes")
	truths := flag.String("truths", "0,2,5", "true differences in percent")
	loads := flag.String("loads", "quiet,drifting", "what runs beside it")
	flag.Parse()
	if err := run(*repeats, *budget, *ms, strings.Split(*truths, ","), strings.Split(*loads, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "ab:", err)
		os.Exit(1)
	}
}

// A bench is the programs and the tools.
type bench struct {
	dir, spin, folio string
	base             int // iterations
	budget           time.Duration
}

// A score is what a tool got right, and in which time.
type score struct {
	right, other, missed int // other: a difference that is not there, or the wrong way round
	time                 time.Duration
}

func (s *score) add(truth float64, found int, took time.Duration) {
	s.time += took
	want := 0
	if truth > 0 {
		want = 1
	}
	switch {
	case found == want:
		s.right++
	case found == 0:
		s.missed++
	default:
		s.other++
	}
}

func run(repeats int, budget time.Duration, ms float64, truths, loads []string) error {
	dir, err := os.MkdirTemp("", "ab")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, budget: budget}
	if err := b.build(ms); err != nil {
		return err
	}
	fmt.Printf("base: %d iterations, some %.0f ms; %d repeats; folio ab has %v\n\n", b.base, ms, repeats, budget)
	t := table.New(os.Stdout, "load", "true difference", "tool", "right", "missed", "wrong", "runs of each program", "seconds")
	for _, load := range loads {
		for _, text := range truths {
			truth, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return err
			}
			if err := b.compare(t, load, truth, repeats); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) compare(t *table.Table, load string, truth float64, repeats int) error {
	ctx, stop := context.WithCancel(context.Background())
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		if load == "drifting" {
			b.disturb(ctx)
		}
	}()
	defer func() { stop(); <-idle }()
	names := []string{"folio ab", "hyperfine", "benchstat"}
	scores := make([]score, len(names))
	runs := 0
	old, changed := strconv.Itoa(b.base), strconv.Itoa(int(float64(b.base)*(1+truth/100)))
	for range repeats {
		start := time.Now()
		found, n, err := b.ab(old, changed)
		if err != nil {
			return err
		}
		scores[0].add(truth, found, time.Since(start))
		runs += n
		for i, tool := range []func(n int, old, changed string) (int, error){b.hyperfine, b.benchstat} {
			start = time.Now()
			if found, err = tool(n, old, changed); err != nil {
				return err
			}
			scores[i+1].add(truth, found, time.Since(start))
		}
	}
	for i, s := range scores {
		t.Rowf("%s | %g%% | %s | %d/%d | %d | %d | %.0f | %.1f", load, truth, names[i], s.right, repeats, s.missed, s.other,
			float64(runs)/float64(repeats), s.time.Seconds()/float64(repeats))
	}
	return nil
}

// build builds the programs, and finds the length of the loop.
func (b *bench) build(ms float64) error {
	src := filepath.Join(b.dir, "spin.go")
	b.spin, b.folio = filepath.Join(b.dir, "spin"), filepath.Join(b.dir, "folio")
	if err := os.WriteFile(src, []byte(source), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{{"build", "-o", b.spin, src}, {"build", "-o", b.folio, "./cmd/folio"}} {
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	const n = 20_000_000
	least := math.Inf(1)
	for range 10 {
		took, err := b.once(strconv.Itoa(n))
		if err != nil {
			return err
		}
		least = min(least, took)
	}
	b.base = int(n * ms / 1000 / least)
	return nil
}

// once runs the program and returns how long it took.
func (b *bench) once(n string) (seconds float64, err error) {
	start := time.Now()
	err = exec.Command(b.spin, n).Run()
	return time.Since(start).Seconds(), err
}

// ab returns 1 if the second program is slower, -1 if it is faster, 0 for no difference.
func (b *bench) ab(old, changed string) (found, rounds int, err error) {
	out := filepath.Join(b.dir, "ab.json")
	cmd := exec.Command(b.folio, "ab", "--budget", b.budget.String(), "--json", out, "--", b.spin, old, "--", b.spin, changed)
	if text, err := cmd.CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("folio ab: %w\n%s", err, text)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		return 0, 0, err
	}
	var f result.AB
	if err := json.Unmarshal(data, &f); err != nil {
		return 0, 0, err
	}
	x := f.Result.Comparisons[0].Find("wall_seconds")
	switch {
	case !x.Different:
		return 0, f.Result.Rounds, nil
	case x.Difference > 0:
		return 1, f.Result.Rounds, nil
	}
	return -1, f.Result.Rounds, nil
}

func (b *bench) hyperfine(n int, old, changed string) (int, error) {
	out := filepath.Join(b.dir, "hyperfine.json")
	cmd := exec.Command("hyperfine", "-N", "--style", "none", "--warmup", "1", "--runs", strconv.Itoa(n),
		"--export-json", out, b.spin+" "+old, b.spin+" "+changed)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("hyperfine: %w\n%s", err, said.String())
	}
	data, err := os.ReadFile(out)
	if err != nil {
		return 0, err
	}
	var f struct{ Results []struct{ Times []float64 } }
	if err := json.Unmarshal(data, &f); err != nil {
		return 0, err
	}
	return welch(f.Results[0].Times, f.Results[1].Times), nil
}

// benchstat runs one program after the other, as go test -count does for two
// revisions, and compares as benchstat does.
func (b *bench) benchstat(n int, old, changed string) (int, error) {
	var times [2][]float64
	for i, arg := range []string{old, changed} {
		for range n {
			took, err := b.once(arg)
			if err != nil {
				return 0, err
			}
			times[i] = append(times[i], took)
		}
	}
	c := stat.Compare(times[0], times[1])
	switch {
	case !c.Different:
		return 0, nil
	case c.Ratio > 1:
		return 1, nil
	}
	return -1, nil
}

// welch is Welch's t-test at 0.05. With ten values and more the quantile of t is near
// enough to the one that Cornish and Fisher's expansion gives.
func welch(a, b []float64) int {
	ma, va := moments(a)
	mb, vb := moments(b)
	ea, eb := va/float64(len(a)), vb/float64(len(b))
	df := (ea + eb) * (ea + eb) / (ea*ea/float64(len(a)-1) + eb*eb/float64(len(b)-1))
	const z = 1.959964
	quantile := z + (z*z*z+z)/(4*df) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*df*df)
	switch t := (mb - ma) / math.Sqrt(ea+eb); {
	case t > quantile:
		return 1
	case t < -quantile:
		return -1
	}
	return 0
}

func moments(v []float64) (mean, variance float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		variance += (x - mean) * (x - mean) / float64(len(v)-1)
	}
	return mean, variance
}

// disturb runs the program on all CPUs, now and then.
func (b *bench) disturb(ctx context.Context) {
	for ctx.Err() == nil {
		for range runtime.NumCPU() {
			most := time.Duration(1+rand.IntN(4)) * time.Second
			busy, cancel := context.WithTimeout(ctx, most)
			cmd := exec.CommandContext(busy, b.spin, "1000000000000")
			if err := cmd.Start(); err != nil {
				cancel()
				return
			}
			go func() { defer cancel(); _ = cmd.Wait() }()
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(2+rand.IntN(5)) * time.Second):
		}
	}
}
