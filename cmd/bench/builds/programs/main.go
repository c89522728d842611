// Command programs measures what a new Go, experiments, GOAMD64, PGO, huge pages and GOGC
// give six real programs, alone and together: the tables in docs/lab-notes/builds.md.
//
//	go run ./cmd/bench/builds/programs [-rounds 10] -keep DIR [-prepare] [program...]
//
// It downloads the programs' modules, and builds them below DIR in every way (-prepare does
// no more than that). Each arm then runs once a round, in random order, each time in a fresh
// process and with a fresh directory. Ratios are taken within rounds, with their 95%
// confidence interval. What was measured stays in DIR/results: the tables have all programs
// of it, also those of runs before.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	measured "github.com/foliomem/folio/cmd/bench/internal/programs"
	"github.com/foliomem/folio/cmd/bench/internal/quiet"
	"github.com/foliomem/folio/cmd/bench/internal/touch"
	"github.com/foliomem/folio/cmd/internal/program/variant"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/system/procmem"
)

func main() {
	if touch.Asked() {
		if err := touch.Main(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	rounds := flag.Int("rounds", 10, "rounds")
	keep := flag.String("keep", "", "build in this `directory`, and keep programs and results there")
	prepare := flag.Bool("prepare", false, "build, run each program once, and end")
	flag.Parse()
	if err := run(context.Background(), *rounds, *keep, *prepare, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "programs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds int, dir string, prepare bool, names []string) error {
	if rounds < 1 {
		return fmt.Errorf("-rounds %d: want at least 1", rounds)
	}
	if dir == "" {
		return fmt.Errorf("-keep: want a directory")
	}
	for _, n := range names {
		if !slices.ContainsFunc(programs, func(p program) bool { return p.name == n }) {
			return fmt.Errorf("no program %q", n)
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "results"), 0o755); err != nil {
		return err
	}
	for _, p := range programs {
		if len(names) > 0 && !slices.Contains(names, p.name) {
			continue
		}
		s, err := p.prepare(ctx, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if prepare {
			rounds = 0
		}
		if err := s.race(ctx, rounds); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if prepare {
			s.say(os.Stderr)
		} else if err := s.write(); err != nil {
			return err
		}
	}
	if prepare {
		return nil
	}
	return tables(os.Stdout, filepath.Join(dir, "results"))
}

// What is compared: each thing alone, builds and settings together, and all.
const (
	newer = measured.Newer
	level = "v3"
	gogc  = "400"
	noTea = "nogreenteagc"
	pgo   = variant.PGOAuto
)

var arms = []struct {
	name    string
	setting trial.Setting
}{
	{"default", trial.Setting{}},
	{newer, trial.Setting{Build: variant.Build{Go: newer}}},
	{"Green Tea off", trial.Setting{Build: variant.Build{Experiments: noTea}}},
	{"PGO", trial.Setting{Build: variant.Build{PGO: pgo}}},
	{"GOAMD64=" + level, trial.Setting{Build: variant.Build{AMD64: level}}},
	{"builds together", trial.Setting{Build: together}},
	{"thp=heap", trial.Setting{THP: trial.THPHeap}},
	{"GOGC=" + gogc, trial.Setting{GOGC: gogc}},
	{"settings together", trial.Setting{THP: trial.THPHeap, GOGC: gogc}},
	{"all together", trial.Setting{Build: together, THP: trial.THPHeap, GOGC: gogc}},
}

// together are the builds that are said to be faster. Green Tea is on by default.
var together = variant.Build{Go: newer, PGO: pgo, AMD64: level}

// A series is a program that is measured, and what its arms gave.
type series struct {
	Name     string    `json:"name"`
	Packages int       `json:"packages"`
	Builds   float64   `json:"build_cpu_seconds"` // of all builds
	Arms     []*figure `json:"arms"`

	dir, work string
	args      []string
	files     map[variant.Build]string
}

// A figure is what the runs of an arm gave, a value each round.
type figure struct {
	Name string    `json:"name"`
	Wall []float64 `json:"wall_seconds"`
	CPU  []float64 `json:"cpu_seconds"`
	Peak []float64 `json:"peak_bytes"`
}

// prepare builds a program in all ways.
func (p program) prepare(ctx context.Context, dir string) (*series, error) {
	module, work := filepath.Join(dir, "src", p.name), filepath.Join(dir, "work", p.name)
	if err := p.source(ctx, module); err != nil {
		return nil, err
	}
	s := &series{Name: p.name, dir: dir, work: work, files: make(map[variant.Build]string)}
	var err error
	if s.args, err = p.args(dir, work); err != nil {
		return nil, err
	}
	list, err := measured.Output(ctx, module, nil, "go", "list", "-deps", p.pkg)
	if err != nil {
		return nil, err
	}
	s.Packages = strings.Count(string(list), "\n")
	b := &measured.Builder{Module: module, Package: p.pkg, Dir: dir, Name: p.name, Profile: filepath.Join(dir, p.name+".pgo")}
	for _, a := range arms {
		build := a.setting.Build
		if s.files[build] != "" {
			continue
		}
		if build.PGO != "" {
			err := measured.Profile(ctx, b.Profile, func() (*trial.Sample, error) { return s.once(ctx, trial.Setting{}, true) })
			if err != nil {
				return nil, err
			}
		}
		built, err := b.Build(ctx, build)
		if err != nil {
			return nil, err
		}
		s.files[build], s.Builds = built.File, s.Builds+built.CPU
	}
	return s, nil
}

// once runs the program under a setting.
func (s *series) once(ctx context.Context, set trial.Setting, sampled bool) (*trial.Sample, error) {
	if err := os.RemoveAll(s.work); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.work, 0o755); err != nil {
		return nil, err
	}
	p := &trial.Program{Command: append([]string{s.files[set.Build]}, s.args...), FS: procmem.New(""), IsGo: true}
	req := trial.Request{Timeout: time.Minute}
	if sampled {
		req.Profile, req.Keep = measured.SampleRate, trial.Keep{Samples: true}
	}
	set.Env = []string{"STATICCHECK_CACHE=" + s.work, "XDG_CACHE_HOME=" + s.work, "GOFLAGS="}
	out, err := p.Run(ctx, set, req)
	if err == nil && !out.OK() {
		err = fmt.Errorf("%s: %s: %s", set, out.Failure, out.Tail)
	}
	return out, err
}

// race runs all arms, after a first run of each that does not count.
func (s *series) race(ctx context.Context, rounds int) error {
	s.Arms = nil
	for _, a := range arms {
		s.Arms = append(s.Arms, &figure{Name: a.name})
	}
	keep := func(_, i int) error {
		sm, err := s.once(ctx, arms[i].setting, false)
		if err != nil {
			return err
		}
		peak, _ := sm.MostMemory()
		f := s.Arms[i]
		f.Wall, f.CPU, f.Peak = append(f.Wall, sm.Wall), append(f.CPU, sm.CPU), append(f.Peak, peak)
		return nil
	}
	if err := quiet.Rounds(1, len(arms), keep); err != nil || rounds == 0 {
		return err
	}
	if err := touch.Memory(ctx, procmem.New("").SpareMemory()/4); err != nil {
		return err
	}
	for _, f := range s.Arms {
		f.Wall, f.CPU, f.Peak = nil, nil, nil
	}
	return quiet.Rounds(rounds, len(arms), keep)
}

// write keeps the figures.
func (s *series) write() error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, "results", s.Name+".json"), data, 0o644)
}

func goroot() (string, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
