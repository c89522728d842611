package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/foliomem/folio/bench/internal/programs"
	"github.com/foliomem/folio/bench/internal/quiet"
	"github.com/foliomem/folio/bench/internal/touch"
	"github.com/foliomem/folio/internal/base/input"
	"github.com/foliomem/folio/internal/result"
	"github.com/foliomem/folio/internal/system/cgroup"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/trial"
)

// A subject is a service that is being measured.
type subject struct {
	*bench
	service
	addr, bin, body string
	out             *Service
}

// build builds a service, and writes the body of its requests.
func (b *bench) build(ctx context.Context, s service) (*subject, error) {
	dir := b.dir.Path
	out := &subject{bench: b, service: s, bin: filepath.Join(dir, s.name), body: filepath.Join(dir, s.name+".body")}
	if _, err := programs.Output(ctx, "", nil, "go", "build", "-C", filepath.Join("bench", "server", s.name), "-o", out.bin, "."); err != nil {
		return nil, fmt.Errorf("build the service (run it from the root of the repository): %w", err)
	}
	body, err := programs.Output(ctx, dir, plain, out.bin, "-body")
	if err != nil {
		return nil, err
	}
	return out, os.WriteFile(out.body, body, 0o600)
}

// loadCommand is the shell command of a load; its result goes to file, if that is not "".
func (s *subject) loadCommand(t times, file string) string {
	args := []string{s.folio, "load", "--rate", strconv.FormatFloat(s.rate, 'g', -1, 64), "--duration", t.duration.String(),
		"--warmup", t.warmup.String()}
	if file != "" {
		args = append(args, "--json", file)
	}
	args = append(args, s.requests(s.addr, s.body)...)
	for i, a := range args {
		args[i] = trial.Quote(a)
	}
	return strings.Join(args, " ")
}

func (s *subject) command() []string {
	return []string{s.bin, "-listen", s.addr, "-cpu", strconv.Itoa(s.serverCPU)}
}

func (s *subject) limits() cgroup.Limits { return cgroup.Limits{Memory: &s.limit, CPUs: new(1.0)} }

// freePort is a port that is free now. The runs of a load that are merged must be of one.
func freePort() (addr string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// measure runs all arms in rounds, and calls save after each run.
func (s *subject) measure(ctx context.Context, save func() error) (err error) {
	parent, err := cgroup.Open(procmem.FS{}, s.limits())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, parent.Close()) }()
	ready, err := trial.ParseReady(s.ready(s.addr))
	if err != nil {
		return err
	}
	file := filepath.Join(s.dir.Path, "load.json")
	p := &trial.Program{Command: s.command(), Env: environ(os.Environ()), Trace: true, IsGo: true, Profile: s.sampleRate, Cgroups: parent,
		Server: &trial.Server{Ready: ready, Load: s.loadCommand(s.times, file)}}
	for _, a := range s.out.Arms {
		if a.setting.THP == trial.THPHeap {
			if err := p.MayHeap(); err != nil {
				return err
			}
		}
	}
	return quiet.Rounds(s.rounds, len(s.out.Arms), func(round, i int) error {
		a := s.out.Arms[i]
		if err := s.run(ctx, p, a, round, file); err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
		return save()
	})
}

// repeats is how often a run is repeated whose generator was late.
const repeats = 3

// run makes a run of an arm that counts, or fails.
func (s *subject) run(ctx context.Context, p *trial.Program, a *Arm, round int, file string) error {
	for try := 0; try <= repeats; try++ {
		r, err := s.once(ctx, p, a, file)
		if err != nil {
			return err
		}
		s.say("%s: round %d, %s: %s", s.name, round+1, a.Name, sayRun(r))
		if r.Load != nil && r.Load.Late && r.Sample.OK() {
			a.Late++
			continue
		}
		r.Round = round
		a.Runs = append(a.Runs, r)
		return nil
	}
	return nil // all were late, and say so in the table
}

// once makes a run, the machine held.
func (s *subject) once(ctx context.Context, p *trial.Program, a *Arm, file string) (*Run, error) {
	r := &Run{}
	err := s.machine.Trial(func() (err error) {
		// As much as the arm may use, whichever ran before: see package touch.
		if err := touch.Memory(ctx, s.limit); err != nil {
			return err
		}
		if err := os.RemoveAll(file); err != nil {
			return err
		}
		if r.Sample, err = p.Run(ctx, a.setting); err == nil {
			err = ctx.Err()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if g := r.Sample.GC; g != nil && r.Sample.GCTrace == trial.TraceComplete {
		r.Collecting = new(g.Clock.Seconds())
	}
	data, err := input.ReadFile(file, input.MaxResult)
	if errors.Is(err, os.ErrNotExist) && !r.Sample.OK() {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	read, err := result.Read(file, data)
	if err != nil {
		return nil, err
	}
	r.Load = &read.Load.Result
	return r, nil
}

// sayRun is a run in a line, for standard error.
func sayRun(r *Run) string {
	switch {
	case !r.Sample.OK():
		return r.Sample.Failure
	case r.Load.Late:
		return "late: dropped"
	case r.Load.Failed > 0:
		return fmt.Sprintf("p99 %s, %d of %d requests failed", seconds(r.Load.Latency.P99), r.Load.Failed, r.Load.Intended)
	}
	return "p99 " + seconds(r.Load.Latency.P99)
}

// hasGRPC says whether folio load can call methods of gRPC.
func (b *bench) hasGRPC(ctx context.Context) (bool, error) {
	help, err := programs.Output(ctx, "", nil, b.folio, "load", "--help")
	return slices.Contains(strings.Fields(string(help)), "--grpc"), err
}
