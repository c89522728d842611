package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/foliomem/folio/cmd/bench/internal/programs"
	"github.com/foliomem/folio/cmd/bench/internal/quiet"
	"github.com/foliomem/folio/cmd/bench/internal/touch"
	"github.com/foliomem/folio/cmd/internal/base/scratch"
	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/system/cgroup"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/pin"
)

// times are those of a load.
type times struct{ duration, warmup time.Duration }

type bench struct {
	rounds, sampleRate int
	times, tuneTimes   times
	tuneBudget         time.Duration
	within             time.Duration // for the rounds of a service; 0 for no bound
	metric             string
	arms               []string // names
	before             *File    // the rates and answers that it has are not searched again
	begun              []byte   // the file of -json with -add; nil for none

	serverCPU int
	folio     string
	dir       *scratch.Dir
	machine   quiet.Machine
	err       io.Writer
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintln(b.err, "server: "+console.Line(fmt.Sprintf(format, args...)))
}

func main() {
	if touch.Asked() {
		if err := touch.Main(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// Whatever happens here must not leave a server running.
	defer func() {
		if v := recover(); v != nil {
			trial.EndAll()
			scratch.RemoveAll()
			panic(v)
		}
	}()
	err := command(os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(os.Stderr, "server: interrupted (%s): the file of -json has what was measured\n", strings.ReplaceAll(err.Error(), "\n", "; "))
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

// fullFlags are what -full says.
var fullFlags = map[string]string{"only": "", "arms": strings.Join(armNames[:len(armNames)-1], ","), "rounds": "8", "time": "20s", "warmup": "10s",
	"tune": "15m", "tune-time": "5s", "tune-warmup": "3s"}

func isSet(fs *flag.FlagSet, name string) (set bool) {
	fs.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

func command(args []string, stdout, stderr io.Writer) error {
	b := &bench{err: stderr}
	fs := flag.NewFlagSet("server", flag.ExitOnError)
	fs.IntVar(&b.rounds, "rounds", 6, "rounds: `n` runs of each arm; 0 for rates and answers of folio tune alone, for -with")
	fs.DurationVar(&b.within, "within", 0, "`duration` for the rounds of a service: one that would not end within it does not begin (default no bound)")
	with := fs.String("with", "", "take rates and answers of folio tune from these `files`, separated by commas, instead of searching")
	add := fs.Bool("add", false, "add the rounds to those that the file of -json has, with its rates and answers of folio tune")
	short := fs.Bool("short", false, "short runs and a short search: shows that it works, no more")
	full := fs.Bool("full", false, "what the goals ask for, in two and a half hours: all services and arms, 8 rounds, loads of 20s after 10s, searches of 15m with loads of 5s after 3s; other flags go before these")
	only := fs.String("only", "api,series", "only these `services`, separated by commas: "+names())
	arms := fs.String("arms", strings.Join([]string{nameDefault, nameOff, nameAuto, nameTune}, ","), "only these `arms`, separated by commas, the first of which is default: "+strings.Join(armNames, ", "))
	rate := fs.String("rate", "", "requests per second of services, such as `api=900,cache=1200` (default what folio's --rate auto finds)")
	limit := fs.String("limit", "", "memory limits of services instead of theirs, such as `api=1GiB,rpc=1GiB`")
	fs.DurationVar(&b.times.duration, "time", 5*time.Second, "`duration` of what is measured of each load")
	fs.DurationVar(&b.times.warmup, "warmup", 2*time.Second, "`duration` of the load before it")
	fs.DurationVar(&b.tuneBudget, "tune", 2*time.Minute, "`budget` of each search of folio tune; 0 for none")
	fs.DurationVar(&b.tuneTimes.duration, "tune-time", 2*time.Second, "`duration` of what is measured of each load of folio tune")
	fs.DurationVar(&b.tuneTimes.warmup, "tune-warmup", 500*time.Millisecond, "`duration` of the load before it")
	fs.StringVar(&b.metric, "metric", metric.P99, "what folio tune makes small: `figure` as of its --metric")
	fs.IntVar(&b.sampleRate, "sample-rate", 99, "CPU samples per CPU-second, in `Hz`, for the share of the GC")
	file := fs.String("json", "server.json", "`file` that gets all that was measured, after each run")
	read := fs.String("read", "", "measure nothing: write the tables of these `files`, separated by commas")
	_ = fs.Parse(args) // ends the program itself
	if *full {
		for name, value := range fullFlags {
			if !isSet(fs, name) {
				_ = fs.Set(name, value) // these are right
			}
		}
	}
	if *short {
		b.times, b.tuneTimes = times{3 * time.Second, time.Second}, times{time.Second, 500 * time.Millisecond}
		b.tuneBudget = min(b.tuneBudget, time.Minute)
	}
	switch {
	case fs.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case b.rounds < 0:
		return fmt.Errorf("-rounds %d: must be 0 or more", b.rounds)
	case b.within < 0:
		return fmt.Errorf("-within %v: must be 0 or more", b.within)
	}
	if *read != "" {
		f, err := readFiles("-read", *read)
		if err == nil {
			err = write(stdout, f)
		}
		return err
	}
	if *with != "" {
		var err error
		if b.before, err = readFiles("-with", *with); err != nil {
			return err
		}
	}
	if *add {
		f, err := readFile("-add", *file)
		if err == nil {
			b.begun, err = json.Marshal(f)
		}
		if err != nil {
			return err
		}
		if b.before == nil {
			b.before = f
		}
	}
	list, err := choose(*only)
	if err == nil {
		b.arms, err = chooseArms(*arms)
	}
	if err == nil {
		err = rates(list, *rate)
	}
	if err == nil {
		err = limits(list, *limit)
	}
	if err != nil {
		return err
	}
	out, err := result.OpenOutput("-json", *file, stdout)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err = errors.Join(b.run(ctx, list, stdout, out), out.Close())
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = errors.Join(err, ctx.Err()) // a command that was ended for it says something else
	}
	return err
}

// prepare builds folio, and pins this process and what it starts.
func (b *bench) prepare(ctx context.Context) (err error) {
	if b.dir, err = scratch.New(""); err != nil {
		return err
	}
	if b.folio, err = programs.Folio(b.dir.Path); err != nil {
		return fmt.Errorf("build folio (run it from the root of the repository): %w", err)
	}
	return ctx.Err()
}

// split gives the server a CPU, and this process another.
func (b *bench) split() error {
	cpus, err := pin.Allowed()
	if err != nil {
		return err
	}
	if len(cpus) < 2 {
		return fmt.Errorf("this process may run on %d CPU: the server and its load need one each", len(cpus))
	}
	b.serverCPU = cpus[0]
	return pin.Process(cpus[1])
}

func (b *bench) run(ctx context.Context, list []service, w io.Writer, out *result.Output) (err error) {
	cgroup.Sweep(procmem.FS{})
	f := &File{Schema: schema, Begun: time.Now().UTC(), Rounds: b.rounds, Duration: b.times.duration.Seconds(), Warmup: b.times.warmup.Seconds()}
	var notes []string
	f.Host, notes = host.Read(procmem.FS{})
	for _, n := range notes {
		b.say("%s", n)
	}
	defer func() {
		if b.dir != nil {
			err = errors.Join(err, b.dir.Remove())
		}
	}()
	if err := b.prepare(ctx); err != nil {
		return err
	}
	var subjects []*subject
	for _, s := range list {
		sub, err := b.build(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		subjects = append(subjects, sub)
	}
	if err := b.split(); err != nil {
		return err
	}
	defer b.machine.Release()
	all := f // with what the file of -add has
	save := func() (err error) {
		if b.begun != nil {
			if all, err = f.after(b.begun); err != nil {
				return err
			}
		}
		data, err := json.Marshal(all)
		if err != nil {
			return err
		}
		return out.Write(append(data, '\n'))
	}
	// One that cannot be measured does not keep the others from it: they take hours.
	var errs []error
	for _, s := range subjects {
		if ctx.Err() != nil {
			break
		}
		s.out = &Service{Name: s.name, Limit: s.limit, Rate: s.rate, Arms: []*Arm{},
			Duration: b.times.duration.Seconds(), Warmup: b.times.warmup.Seconds()}
		f.Services = append(f.Services, s.out)
		if err := s.all(ctx, save); err != nil {
			s.say("%s: %v", s.name, err)
			s.out.Stopped = err.Error()
			errs = append(errs, fmt.Errorf("%s: %w", s.name, err), save())
		}
	}
	return errors.Join(errors.Join(errs...), write(w, all))
}

// takeFrom takes the rate and the answer of folio tune from what was measured before; nil
// for nothing. A rate that was given is kept, and with it no answer for another is taken, nor
// one for another limit.
func (s *subject) takeFrom(f *File) {
	if f == nil {
		return
	}
	for _, o := range f.Services {
		if o.Name == s.name && o.Limit == s.limit && o.Rate > 0 && (s.rate == 0 || s.rate == o.Rate) {
			s.rate, s.out.RateText, s.out.RateSteps, s.out.Tune = o.Rate, o.RateText, o.RateSteps, o.Tune
		}
	}
}

// all measures a service.
func (s *subject) all(ctx context.Context, save func() error) (err error) {
	if s.addr, err = freePort(); err != nil {
		return err
	}
	parent, err := cgroup.Open(procmem.FS{}, s.limits(1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, parent.Close()) }()
	if slices.Contains(s.arms, nameNoGC) {
		if s.roomy, err = cgroup.Open(procmem.FS{}, s.limits(roomy)); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.roomy.Close()) }()
	}
	p, err := s.program(parent)
	if err != nil {
		return err
	}
	s.takeFrom(s.before)
	if err := s.fixedRate(ctx, p); err != nil {
		return err
	}
	if s.out.Tune == nil && s.tuneBudget > 0 && slices.Contains(s.arms, nameTune) {
		if s.out.Tune, err = s.tune(ctx); err != nil {
			return err
		}
	}
	if s.rounds == 0 {
		return save()
	}
	s.out.Arms = arms(s.arms, s.limit, s.out.Tune.setting())
	for _, a := range s.out.Arms {
		a.Setting, a.Runs = result.NewSetting(a.setting), []*Run{}
	}
	// What cannot be added to the file is said before anything is measured.
	if err := save(); err != nil {
		return err
	}
	return s.measure(ctx, p, save)
}
