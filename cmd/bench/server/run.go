package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/foliomem/folio/cmd/bench/internal/programs"
	"github.com/foliomem/folio/cmd/bench/internal/quiet"
	"github.com/foliomem/folio/cmd/bench/internal/touch"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/cgroup"
)

// A subject is a service that is being measured.
type subject struct {
	*bench
	service
	addr, bin, body string
	out             *Service
	roomy           *cgroup.Parent // for the arm without GC; nil without it
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

// generator is the load of the service.
func (s *subject) generator(t times) (*load.Options, error) {
	body, err := os.ReadFile(s.body)
	o := &load.Options{URLs: s.urls(s.addr), Body: body, GRPC: s.grpc, Rate: s.rate, Duration: t.duration, Warmup: t.warmup}
	return o, err
}

func (s *subject) command() []string {
	return []string{s.bin, "-listen", s.addr, "-cpu", strconv.Itoa(s.serverCPU)}
}

// limits are those of the container, its memory some times.
func (s *subject) limits(times uint64) cgroup.Limits {
	return cgroup.Limits{Memory: new(times * s.limit), CPUs: new(1.0)}
}

// roomy is how many times the memory of the container the arm without GC has.
const roomy = 4

// freePort is a port that is free now. The runs of a load that are merged must be of one.
func freePort() (addr string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// program is the service under its load, in cgroups of a parent.
func (s *subject) program(parent *cgroup.Parent) (*trial.Program, error) {
	ready, err := trial.ParseReady(s.ready(s.addr))
	if err != nil {
		return nil, err
	}
	o, err := s.generator(s.times)
	return &trial.Program{Command: s.command(), Env: environ(os.Environ()), ReadGC: true, IsGo: true,
		Cgroups: parent, Server: &trial.Server{Ready: ready, Generator: o}}, err
}

// measure runs all arms in rounds, and calls save after each run.
func (s *subject) measure(ctx context.Context, p *trial.Program, save func() error) error {
	for _, a := range s.out.Arms {
		if a.setting.THP == trial.THPHeap {
			if err := p.MayHeap(); err != nil {
				return err
			}
		}
	}
	w := quiet.Window{Most: s.within}
	err := quiet.Rounds(s.rounds, len(s.out.Arms), func(round, i int) error {
		if !w.Fits(round) {
			return quiet.ErrTime
		}
		a := s.out.Arms[i]
		if err := s.run(ctx, p, a, round); err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
		return save()
	})
	if errors.Is(err, quiet.ErrTime) {
		s.say("%s: %d rounds, the next would not end within %s", s.name, s.out.rounds(), unit.Span(s.within))
		err = nil
	}
	return err
}

// run makes a run of an arm that counts, or fails.
func (s *subject) run(ctx context.Context, p *trial.Program, a *Arm, round int) error {
	for try := 0; try <= trial.LateRepeats; try++ {
		r, err := s.once(ctx, p, a)
		if err != nil {
			return err
		}
		s.say("%s: round %d, %s: %s", s.name, round+1, a.Name, sayRun(r))
		if r.Sample.Late() { // else the server ended, late or not
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
func (s *subject) once(ctx context.Context, p *trial.Program, a *Arm) (*Run, error) {
	r := &Run{}
	err := s.machine.Trial(func() (err error) {
		// As much as the arm may use, whichever ran before: see package touch.
		most := s.limit
		if a.Name == nameNoGC {
			roomier := *p
			p, most = &roomier, roomy*s.limit
			p.Cgroups = s.roomy
		}
		if err := touch.Memory(ctx, most); err != nil {
			return err
		}
		if r.Sample, err = p.Run(ctx, a.setting, trial.Request{Profile: s.sampleRate, Delays: true}); err == nil {
			err = ctx.Err()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if g := r.Sample.GC; g != nil && r.Sample.GCCounted == trial.GCComplete && float64(g.Timed) >= mostTimed*float64(g.Cycles) {
		r.Collecting = new(g.Clock.Seconds() * float64(g.Cycles) / max(float64(g.Timed), 1))
	}
	return r, nil
}

// mostTimed is the part of the cycles whose start must have been seen.
const mostTimed = 0.9

// sayRun is a run in a line, for standard error.
func sayRun(r *Run) string {
	switch l := r.Sample.Load; {
	case r.Sample.Late():
		return "dropped: the load generator was late, the 99th percentile of its starts by " + seconds(l.Lateness.P99)
	case !r.Sample.OK():
		return r.Sample.Failure
	case l.Failed > 0:
		return fmt.Sprintf("p99 %s, %d of %d requests failed", seconds(l.Latency.P99), l.Failed, l.Intended)
	default:
		return "p99 " + seconds(l.Latency.P99)
	}
}

// fixedRate is the rate of a service, for all arms: that of -rate, else that of folio's
// --rate auto, with the default.
func (s *subject) fixedRate(ctx context.Context, p *trial.Program) error {
	if s.rate == 0 {
		s.say("%s: searching the rate", s.name)
		var found *load.RateSearch
		err := s.machine.Trial(func() (err error) {
			found, err = p.FindRate(ctx, trial.Setting{Env: plain}, func(step load.RateStep) { s.say("%s: %v", s.name, step) })
			return err
		})
		if err != nil {
			return err
		}
		s.rate, s.out.RateText, s.out.RateSteps = found.Rate, found.Text(), found.Steps
	}
	s.out.Rate, p.Server.Generator.Rate = s.rate, s.rate
	return p.Server.Generator.Check()
}
