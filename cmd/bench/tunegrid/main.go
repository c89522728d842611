// Command tunegrid compares folio tune with an exhaustive search.
//
//	go run ./cmd/bench/tunegrid [-rounds 10] [-final 0] [-judge 40] [-runs 2] [-only gofmt] [-builds DIR [-prepare]]
//
// For three real programs it measures the whole grid of settings (folio tune
// --exhaustive), lets folio tune find its answer several times with different
// seeds, and then runs the grid's best, every answer and the default against
// each other, interleaved, in fresh processes. Only these runs judge how good an
// answer is: both searches have seen luck in their own samples. The promise is an
// answer within 3% of the grid's best; with -final 10, a final of ten rounds only,
// in at most half of the grid's time.
//
// With -builds it is another program, whose builds are searched too: a new Go and PGO, alone
// and together, with every GOGC and GOMEMLIMIT. Programs are built below DIR, and stay
// there. -prepare builds all, so that little is left to build when it is measured.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/bench/internal/programs"
	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/bench/internal/touch"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/program/variant"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/internal/system/procmem"
)

type config struct {
	rounds, judge, runs int
	final               int
	budget              time.Duration
	only                string
	seed                uint64
	builds              string
	prepare             bool
}

func main() {
	if touch.Asked() {
		if err := touch.Main(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	var c config
	flag.IntVar(&c.rounds, "rounds", 10, "rounds of every arm of the grid")
	flag.IntVar(&c.final, "final", 0, "most rounds of a search's final; 0 for as many as it takes, within -budget")
	flag.DurationVar(&c.budget, "budget", 5*time.Minute, "budget of a search")
	flag.IntVar(&c.judge, "judge", 40, "rounds of the answers against each other")
	flag.IntVar(&c.runs, "runs", 2, "searches, a seed each")
	flag.StringVar(&c.only, "only", "", "only programs whose name contains this")
	flag.Uint64Var(&c.seed, "seed", 1, "seed of the grid; the searches take the next ones")
	flag.StringVar(&c.builds, "builds", "", "search builds, and keep them in this `directory`")
	flag.BoolVar(&c.prepare, "prepare", false, "with -builds: build, and end")
	flag.Parse()
	if err := run(c, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "tunegrid:", err)
		os.Exit(1)
	}
}

func run(c config, w io.Writer) error {
	dir, err := os.MkdirTemp("", "tunegrid")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	folio, err := programs.Folio(dir)
	if err != nil {
		return err
	}
	progs, err := c.programs(dir)
	if err != nil {
		return err
	}
	if c.prepare {
		for _, p := range progs {
			if _, err := c.tune(folio, dir, p, c.seed, "--exhaustive", "--rounds", "1"); err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
		}
		return nil
	}
	t := table.New(w, "program", "grid: arms, time", "grid's best against default", "seed", "search: runs, time, part of the grid's",
		"answer", "answer against grid's best")
	for _, p := range progs {
		if strings.Contains(p.Name, c.only) {
			if err := c.compare(t, folio, dir, p); err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
		}
	}
	return nil
}

// programs prepares what is searched.
func (c config) programs(dir string) ([]programs.Program, error) {
	if c.builds == "" {
		return programs.Prepare(dir)
	}
	keep, err := filepath.Abs(c.builds)
	if err != nil {
		return nil, err
	}
	p, err := programs.Builds(context.Background(), keep)
	return []programs.Program{p}, err
}

// found is what a result file of folio tune says.
type found struct {
	Elapsed float64 `json:"elapsed_seconds"`
	Build   float64 `json:"build_seconds"` // not part of Elapsed
	Metric  struct {
		Name       string   `json:"name"`
		Benchmarks []string `json:"benchmarks"`
	} `json:"metric"`
	Arms []struct {
		Name    string          `json:"name"`
		Setting setting         `json:"setting"`
		Samples []*trial.Sample `json:"samples"`
	} `json:"arms"`
	Recommendations []struct {
		Goal    string  `json:"goal"`
		Setting setting `json:"setting"`
	} `json:"recommendations"`
	Answer struct {
		State string `json:"state"`
	} `json:"answer"`
}

type setting struct {
	GOGC     *string `json:"gogc"`
	MemLimit *uint64 `json:"gomemlimit_bytes"`
	THP      string  `json:"thp"`

	Build *variant.Build `json:"build"`
}

func (s setting) trial() (out trial.Setting) {
	if s.GOGC != nil {
		out.GOGC = *s.GOGC
	}
	if s.MemLimit != nil {
		out.MemLimit = *s.MemLimit
	}
	if s.THP == string(trial.THPOff) {
		out.THP = trial.THPOff
	}
	if s.Build != nil {
		out.Build = *s.Build
	}
	return out
}

// cost is what is optimized, of one sample.
func (f *found) cost(s *trial.Sample) float64 {
	if f.Metric.Name == metric.Bench {
		v, _ := metric.BenchMean(s.Metrics, f.Metric.Benchmarks)
		return v
	}
	return s.Wall
}

// best returns the arm with the least cost, rounds taken out, whether or not it
// is measurably better than the default: the best that the grid found.
func (f *found) best() trial.Setting {
	y := make(map[string]map[int]float64)
	for _, a := range f.Arms {
		y[a.Name] = make(map[int]float64)
		for _, s := range a.Samples {
			if s.OK() {
				y[a.Name][s.Round] = f.cost(s)
			}
		}
	}
	effects := stat.Effects(y)
	best := 0
	for i, a := range f.Arms {
		if e, ok := effects[a.Name]; ok && e < effects[f.Arms[best].Name] {
			best = i
		}
	}
	return f.Arms[best].Setting.trial()
}

// fastest returns the answer to the first goal as a setting.
func (f *found) fastest() (trial.Setting, error) {
	for _, r := range f.Recommendations {
		if r.Goal == "fastest" {
			return r.Setting.trial(), nil
		}
	}
	return trial.Setting{}, fmt.Errorf("no recommendation")
}

func (f *found) trials() (n int) {
	for _, a := range f.Arms {
		n += len(a.Samples)
	}
	return n
}

func (c config) tune(folio, dir string, p programs.Program, seed uint64, flags ...string) (*found, error) {
	file := filepath.Join(dir, "result.json")
	args := append([]string{"tune", "--json", file, "--seed", strconv.FormatUint(seed, 10)}, flags...)
	args = append(append(append(args, p.Flags...), "--"), p.Command...)
	cmd := exec.Command(folio, args...)
	cmd.Stderr = os.Stderr
	if p.Build != nil {
		cmd.Dir, cmd.Env = p.Build.Module, append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	}
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("folio tune: %w", err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	f := new(found)
	return f, json.Unmarshal(data, f)
}

// memory has half of the machine's spare memory touched: settings differ in how much of it
// they take, and where the host of a virtual machine has taken it back, that is slow at
// first.
func memory() error { return touch.Memory(context.Background(), procmem.New("").SpareMemory()/2) }

func (c config) compare(t *table.Table, folio, dir string, p programs.Program) error {
	if err := memory(); err != nil {
		return err
	}
	grid, err := c.tune(folio, dir, p, c.seed, "--exhaustive", "--rounds", strconv.Itoa(c.rounds))
	if err != nil {
		return err
	}
	best := grid.best()
	arms := []*trial.Arm{{Name: "default"}, {Name: best.String(), Setting: best}}
	var searches []*found
	var answers []*trial.Arm
	for i := range c.runs {
		flags := []string{"--budget", c.budget.String()}
		if c.final > 0 {
			flags = append(flags, "--rounds", strconv.Itoa(c.final))
		}
		if err := memory(); err != nil {
			return err
		}
		f, err := c.tune(folio, dir, p, c.seed+1+uint64(i), flags...)
		if err != nil {
			return err
		}
		s, err := f.fastest()
		if err != nil {
			return err
		}
		searches = append(searches, f)
		at := slices.IndexFunc(arms, func(a *trial.Arm) bool { return a.Setting.String() == s.String() })
		if at < 0 {
			at = len(arms)
			arms = append(arms, trial.NewArm(s))
		}
		answers = append(answers, arms[at])
	}
	if err := memory(); err != nil {
		return err
	}
	sched := trial.NewScheduler(judged(p), c.seed)
	if _, err := sched.Warmup(context.Background(), arms); err != nil {
		return err
	}
	for range c.judge {
		if err := sched.Round(context.Background(), arms); err != nil {
			return err
		}
	}
	return grid.table(t, p.Name, c.seed, searches, arms, answers)
}

// A judged program runs as answers say, without folio tune.
type judged programs.Program

func (j judged) Run(ctx context.Context, set trial.Setting, req trial.Request) (*trial.Sample, error) {
	command, err := programs.Program(j).Of(ctx, set)
	if err != nil {
		return nil, err
	}
	run := &trial.Program{Command: command, FS: procmem.New("")}
	return run.Run(ctx, set, req)
}

// table prints how the searches' answers compare with the grid's best.
func (f *found) table(t *table.Table, name string, seed uint64, searches []*found, arms, answers []*trial.Arm) error {
	cost := func(a *trial.Arm) (out []float64) {
		for _, s := range a.Samples {
			out = append(out, f.cost(s))
		}
		return out
	}
	against := func(base, a *trial.Arm) (ratio, lo, hi float64) {
		p := stat.ComparePairs(cost(base), cost(a))
		lo, hi, _ = p.Interval(stat.Alpha)
		if base == a {
			lo, hi = 1, 1
		}
		return p.Ratio, lo, hi
	}
	gain, gl, gh := against(arms[0], arms[1])
	if f.Build > 0 {
		fmt.Fprintf(os.Stderr, "%s: builds took %.0f s of the grid's run, besides its time, and %.0f s of the first search's\n", name, f.Build, searches[0].Build)
	}
	var ratios, parts []float64
	beyond := 0
	for i, s := range searches {
		r, lo, hi := against(arms[1], answers[i])
		ratios, parts = append(ratios, r), append(parts, s.Elapsed/f.Elapsed)
		if lo > 1.03 {
			beyond++
		}
		t.Rowf("%s | %d arms, %d runs, %.0f s | %s: %.3fx [%.3f, %.3f] | %d | %d runs, %.0f s, %.0f%%, %s | %s | %.3fx [%.3f, %.3f]",
			name, len(f.Arms), f.trials(), f.Elapsed, arms[1].Setting, gain, gl, gh,
			seed+1+uint64(i), s.trials(), s.Elapsed, 100*s.Elapsed/f.Elapsed, s.Answer.State, answers[i].Setting, r, lo, hi)
	}
	_, err := fmt.Fprintf(os.Stderr, "%s: median %.3fx of the grid's best, %d of %d intervals wholly above 1.03x, median %.0f%% of the grid's time\n",
		name, stat.Median(ratios), beyond, len(ratios), 100*stat.Median(parts))
	return err
}
