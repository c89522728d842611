package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/base/scratch"
	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/result/analysis"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/cmd/internal/view/text"
)

type runFlags struct {
	programFlags
	count    int
	runtime  goFlags
	variants variantFlags
	duration time.Duration
}

const runLong = `Run a program and say what memory management costs it: the memory tax, by class and call
site, and what to do next. The program keeps its input, output, terminal and, without --count,
its exit code; the answer goes to standard error.

CPU time is sampled (no root where perf_event_paranoid is 2 or less), which slows programs
by a few percent (--sample-rate 0: off), and GC cycles are read from their memory.

A server (--ready) is started, put under load (--rate, or --load) and stopped: the figures
cover the time under load, and show what delays slow requests. --build runs a program that
folio builds, its heap on huge pages (--thp system turns that off).
See https://github.com/foliomem/folio/blob/main/docs/run.md`

func newRun(a *app) *cobra.Command { return runCommand(a, &runFlags{}) }

func runCommand(a *app, f *runFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run [flags] -- command [args]",
		Short: "Measure what memory management costs a program",
		Long:  runLong,
		Example: `  folio run -- ./prog args
  folio run --count 10 --gogc 400 -- ./prog args
  folio run --build ./cmd/prog -- args
  folio run --cgroup-memory 512MiB --cgroup-cpus 1.5 -- ./prog args
  folio run --pprof cpu.pprof -- ./prog && go tool pprof -top cpu.pprof
  folio run --ready http://127.0.0.1:8080/ --rate 500 -- ./server
  folio run --attach 1234 --duration 30s`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case cmd.Flags().Changed("attach"):
				return a.attach(cmd.Context(), f, args)
			case cmd.Flags().Changed("duration"):
				return misusef("--duration goes with --attach")
			case f.build != "" && !cmd.Flags().Changed("thp"):
				f.thp = string(trial.THPHeap) // it was built for that
			}
			return a.run(cmd.Context(), f, args)
		},
	}
	fs := cmd.Flags()
	fs.SetInterspersed(false)
	fs.IntVar(&f.count, "count", 1, "measure `n` runs")
	f.runtime.add(fs, false, "from the environment")
	f.add(fs)
	f.defaultTHP("system; heap with --build")
	f.variants.add(fs, false)
	usage.Group(fs, "Builds")
	fs.StringVar(&f.pprof, "pprof", "", "write the CPU samples of the last sampled run to `file`, for go tool pprof")
	usage.Group(fs, "Output")
	fs.IntVar(&f.pid, "attach", 0, "run no command: sample the process `pid`, and those it started")
	fs.DurationVar(&f.duration, "duration", 10*time.Second, "with --attach: sample for this `duration`")
	usage.Group(fs, "The program")
	return cmd
}

func (a *app) run(ctx context.Context, f *runFlags, args []string) (err error) {
	if f.count < 1 {
		return misusef("--count %d: must be 1 or more", f.count)
	}
	base, err := f.setting()
	if err != nil {
		return misuse(err)
	}
	early, stop := interruptible(ctx)
	p, built, err := a.oneBuild(early, f)
	if err != nil {
		stop()
		return err
	}
	defer func() { err = errors.Join(err, p.Release()) }()
	s, err := a.open(early, &f.programFlags, "run", args)
	if err != nil {
		stop()
		return err
	}
	defer func() { err = errors.Join(err, s.end(err)) }()
	base.THP, base.Env, base.Build = s.base.THP, s.base.Env, built
	s.base = base
	if f.count > 1 {
		err = s.takeInput(early, a)
	}
	if err == nil {
		s.file.RateSearch, err = s.findRate(early, a, &f.programFlags, s.program)
	}
	s.record(&s.file.Program, &f.programFlags)
	stop()
	if err == nil && context.Cause(early) == errInterrupted {
		err = errNothing
	}
	if err != nil {
		return err
	}
	if p != nil {
		for _, text := range p.Notes {
			s.notes.Add(text)
		}
	}
	s.notes.Add(s.procs(s.program.Command[0]).Text)
	if base.THP == trial.THPHeap {
		if err := s.getsHuge(); err != nil {
			s.notes.Add("thp=heap changes nothing here: " + err.Error())
		} else {
			s.notes.Add(trial.HeapHazard(s.program.FS))
		}
	}

	s.request.KeepSeries, s.request.KeepWaterfall, s.request.Delays = true, true, true
	s.program.Stdout, s.program.Stderr = a.stdout.Raw(), a.stderr.Raw()
	s.program.Direct = s.program.Metric == nil && f.count == 1 && f.bench == "" // no figure is found in its output
	if s.out.ToStdout() {
		s.program.Stdout = a.stderr.Raw() // standard output is the result's
	}
	arm := trial.NewArm(base)
	arm.SampledRuns = trial.IntervalRuns
	s.file.Arms = []result.Arm{{}}
	interrupted := false
	if f.count == 1 {
		err = a.runOnce(ctx, s, arm)
	} else {
		interrupted, err = a.runOften(ctx, s, f, arm)
	}
	s.keep(arm)
	switch {
	case interrupted && len(arm.Samples) == 0:
		return errors.Join(err, errNothing)
	case len(arm.Samples) == 0:
		return err
	}
	s.file.Complete = err == nil && !interrupted
	if failed := a.showRun(s, arm, f.full); failed != nil {
		err, s.file.Complete = errors.Join(err, failed), false
	}
	switch {
	case interrupted:
		return errors.Join(err, exitCode(exitInterrupted))
	case f.count == 1:
		return errors.Join(err, code(arm.Samples[0], s.program.Server != nil))
	case trial.AllFailed(arm.Samples):
		return errors.Join(err, inResult(trial.Failed(arm.Samples, f.count)))
	}
	return errors.Join(err, trial.Failed(arm.Samples, f.count))
}

// errNothing ends a measurement that was interrupted too early.
var errNothing = errors.Join(errors.New("interrupted before anything was measured"), exitCode(exitInterrupted))

// runOnce runs the program as if folio were not there: its input is ours, and
// signals are its own business.
func (a *app) runOnce(ctx context.Context, s *session, arm *trial.Arm) error {
	signals := make(chan os.Signal, 4)
	notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	p := *s.program
	p.Signals = signals
	if p.Server == nil {
		p.Stdin = a.stdin
	}
	sample, err := p.Run(ctx, arm.Setting, s.request)
	if sample != nil {
		sample.Round, sample.Sequence = 1, 1
		arm.Samples = append(arm.Samples, sample)
	}
	return err
}

// runOften runs the program count times after a warm-up.
func (a *app) runOften(ctx context.Context, s *session, f *runFlags, arm *trial.Arm) (interrupted bool, err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	sched := trial.NewScheduler(s.program, 0)
	sched.Request = func(arm *trial.Arm, round int) trial.Request {
		return s.request.Of(arm, round, round > 0 && arm.WantsProfile())
	}
	arms := []*trial.Arm{arm}
	var writeErr error // measuring goes on: the sheet can still be shown
	_, err = sched.Warmup(ctx, arms)
	for range f.count {
		if err != nil {
			break
		}
		if err = sched.Round(ctx, arms); err == nil {
			s.keep(arm)
			writeErr = errors.Join(writeErr, s.keepProfile(arm.Samples), s.write())
		}
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		interrupted, err = true, nil
	}
	return interrupted, errors.Join(err, writeErr)
}

// notify is signal.Notify for those signals that folio was not told to ignore:
// under nohup, neither folio nor its program may hear of a hangup.
func notify(c chan<- os.Signal, signals ...os.Signal) {
	for _, s := range signals {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
}

// interruptible returns a context that ends with the first signal that asks
// folio to, its cause errInterrupted; a second one ends folio at once, after its
// processes. No signal is lost that came before stop.
func interruptible(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, ok := <-signals; !ok {
			return
		}
		cancel(errInterrupted)
		if _, ok := <-signals; ok {
			trial.EndAll()
			scratch.RemoveAll()
			os.Exit(exitInterrupted)
		}
	}()
	return ctx, sync.OnceFunc(func() {
		signal.Stop(signals)
		close(signals)
		<-done
		cancel(nil)
	})
}

var errInterrupted = errors.New("interrupted")

// keep puts the samples so far into the result file.
func (s *session) keep(arm *trial.Arm) {
	s.file.Rounds, s.file.ElapsedSeconds = len(arm.Samples), time.Since(s.file.Created).Seconds()
	s.file.Metric = result.NewTarget(s.program.Metric, nil)
	s.file.Arms = []result.Arm{{
		Name: arm.Name, Setting: result.NewSetting(arm.Setting), Samples: arm.Samples, Summary: result.Summarize(arm.Samples),
		Load: result.SummarizeLoads(arm.Samples), Tree: trial.Tree(arm.Samples),
		Waterfall: result.PeakWaterfall(arm.Samples),
	}}
}

// mayHeap says why the program, or with wrapped any program, cannot be started with its heap
// on huge pages here.
func (s *session) mayHeap(wrapped bool) error {
	if wrapped || s.file.Program.Attached != 0 {
		return trial.MayTrace()
	}
	return s.program.MayHeap()
}

// showRun analyzes what was measured, once, and shows the result.
func (a *app) showRun(s *session, arm *trial.Arm, full bool) error {
	trial.AddNotes(&s.notes, arm.Samples, s.program.ReadGC)
	analysis.Run(&s.file, s.mayHeap)
	document.SetNotes(&s.file, s.notes.Texts())
	profErr := errors.Join(s.keepProfile(arm.Samples), s.noProfile())
	file, err := shown(&s.file, s.redact)
	if err != nil {
		return errors.Join(err, profErr)
	}
	return errors.Join(show(a.stderr, file, text.Options{Full: full}), profErr)
}

// code returns the program's own exit code as folio's. A server that was
// stopped as it should be has none that means anything.
func code(s *trial.Sample, server bool) error {
	switch {
	case server && s.OK():
		return nil
	case s.FailureKind == trial.FailedInterrupted:
		return exitCode(exitInterrupted)
	case server && s.Late():
		return trial.ErrLate
	case server:
		return inResult(errors.New(s.Failure))
	case s.ExitCode != nil && *s.ExitCode != 0:
		return exitCode(*s.ExitCode)
	case s.Signal != "":
		return exitCode(128 + s.SignalNumber)
	case !s.OK():
		return inResult(errors.New(s.Failure))
	}
	return nil
}
