package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/program/build"
	"github.com/foliomem/folio/cmd/internal/program/gosetting"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/result/kubernetes"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/cmd/internal/view/text"
	"github.com/foliomem/folio/internal/base/unit"
)

type tuneFlags struct {
	programFlags
	mem        string
	maxP99     time.Duration
	maxErrors  string
	budget     time.Duration
	rounds     int
	try        tried
	seed       uint64
	exhaustive bool
	show       bool
	kubernetes string
	target     kubernetes.Target // from kubernetes
	block      time.Duration     // of a process that runs
	variants   variantFlags
}

const tuneLong = `Find the settings of Go's runtime that make a program fastest (wall time, or another --metric):
GOGC, GOMEMLIMIT, huge pages for the heap (thp=heap, see folio exec), and GOMAXPROCS if asked.
The program must do the same work every time. It runs until the answer is conclusive, often
several hundred times, with its output hidden and the same standard input (--input).

A race of a few rounds drops the settings that look worst. In the final the default, the best and its
rivals run again, at least ten times each, until the answer is conclusive or --budget is
spent; all figures are of the final. GOGC is never off without a memory limit.

--build, and with it --go, --goexperiment, --goamd64, --pgo and --patch, search how the program
is built. For a server under load, tune minimizes p99 latency; for a process as it runs
(--attach), CPU time per GiB allocated, or what --metric URL#NAME says.
See https://github.com/foliomem/folio/blob/main/docs/tune.md (exit codes: folio --help)`

func newTune(a *app) *cobra.Command {
	f := &tuneFlags{programFlags: programFlags{compares: true}}
	cmd := &cobra.Command{
		Use:   "tune [flags] -- command [args]",
		Short: "Find the settings that get the time back",
		Long:  tuneLong,
		Example: `  folio tune -- gofmt -l "$(go env GOROOT)/src/net"
  folio tune --max-rss 1GiB --metric 'op/s=([0-9.,]+) op/s' --higher-is-better -- ./prog
  folio tune --cgroup-memory 512MiB --cgroup-cpus 1.5 -- ./prog args
  folio tune --build ./cmd/server --go go1.26.8,go1.27.4 --pgo auto -- -n 1000
  folio tune -- go test -run '^$' -bench Insert ./pkg
  folio tune --ready http://127.0.0.1:8080/ --rate 500 --max-p99 20ms -- ./server
  folio tune --attach 1234`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.given.Changed("attach"):
				return a.tuneRunning(cmd.Context(), f, args)
			case f.given.Changed("block"):
				return misusef("--block goes with --attach")
			}
			return a.tune(cmd.Context(), f, args)
		},
	}
	fs := cmd.Flags()
	fs.SetInterspersed(false)
	fs.StringVar(&f.mem, "max-rss", "", "drop settings whose peak RSS exceeds `size`")
	fs.DurationVar(&f.maxP99, "max-p99", 0, "with --rate: largest p99 latency allowed, a `duration` such as 20ms")
	fs.StringVar(&f.maxErrors, "max-errors", "", "with --rate: at most `n` failed requests, or percent, such as 0.1%")
	fs.DurationVar(&f.budget, "budget", 0, "maximum `duration`, without builds (default "+budgets(tuneBudget, loadedTuneBudget)+")")
	usage.Positive(fs, "budget")
	fs.IntVar(&f.rounds, "rounds", 0, "at most `n` rounds of the final (default 10 or more, until the answer is conclusive)")
	f.try.add(cmd)
	seedFlag(fs, &f.seed)
	fs.BoolVar(&f.exhaustive, "exhaustive", false, "no race: run every setting in the final; ignores --budget")
	kubernetesFlag(fs, &f.kubernetes)
	fs.IntVar(&f.pid, "attach", 0, "try settings on the running process `pid`, and restore its own")
	fs.DurationVar(&f.block, "block", 10*time.Second, "with --attach: the `duration` for which a setting counts at a time")
	usage.Positive(fs, "block")
	fs.BoolVar(&f.show, "show-output", false, "show the program's output, on standard error")
	usage.Group(fs, "The search")
	usage.Advanced(fs, "max-errors", "gomaxprocs", "rounds", "seed", "exhaustive", "show-output", "block")
	f.add(fs)
	f.defaultTHP("tune searches it")
	f.variants.add(fs, true)
	usage.Group(fs, "Builds")
	return cmd
}

// source returns what folio builds where builds are searched: a package, or what go test
// builds; nil where they are not.
func (f *tuneFlags) source(args []string) (*build.Source, error) {
	flag := f.variants.given(f.given)
	switch {
	case flag == "":
		return nil, nil
	case f.build != "":
		return &build.Source{Package: f.build}, f.variants.Check()
	case len(args) < 2 || args[0] != "go" || args[1] != "test":
		return nil, fmt.Errorf("%s goes with --build PACKAGE, or with -- go test -bench Name ./pkg: folio has to build the program", flag)
	}
	src, err := build.GoTest(args[2:])
	if err != nil {
		return nil, err
	}
	return src, f.variants.Check()
}

// options checks the flags: before anything is built or opened.
func (f *tuneFlags) options() (tune.Options, error) {
	o := tune.Options{Budget: f.budgetOr(f.budget, tuneBudget, loadedTuneBudget), MaxRounds: f.rounds,
		Exhaustive: f.exhaustive, Seed: f.seed, Package: f.build, FixedTHP: f.given.Changed("thp")}
	limits, err := f.limits.parse(f.given)
	if err != nil {
		return o, err
	}
	if o.Limits, err = f.bounds(); err != nil {
		return o, err
	}
	for _, name := range []string{"max-p99", "max-errors"} {
		if f.given.Changed(name) && !f.given.Changed("rate") {
			return o, fmt.Errorf("--%s goes with --rate, whose latencies it bounds", name)
		}
	}
	switch {
	case limits.Memory != nil && o.Limits.RSS > *limits.Memory:
		return o, fmt.Errorf("--max-rss %s: more than --cgroup-memory %s allows: give a smaller one, or none", f.mem, f.limits.memory)
	}
	if o.Try, err = f.try.settings(); err != nil {
		return o, err
	}
	if err := gosetting.CheckFlag("--env", f.env); err != nil {
		return o, err
	}
	for i, v := range trial.GoVariables {
		kv := f.envOf(v.Name)
		if searched := v.Searched || len(f.try[i]) > 0; kv != "" && searched {
			return o, fmt.Errorf("--env %s: tune searches %s itself; for another default, set it before: %s folio tune", kv, v.Name, kv)
		}
	}
	return o, nil
}

// bounds are what a setting must keep to.
func (f *tuneFlags) bounds() (l tune.Limits, err error) {
	if f.mem != "" {
		if l.RSS, err = unit.ParseSize(f.mem); err != nil {
			return l, fmt.Errorf("--max-rss: %w", err)
		}
	}
	if f.rounds < 1 && f.given.Changed("rounds") {
		return l, fmt.Errorf("--rounds %d: must be 1 or more", f.rounds)
	}
	if l.P99 = f.maxP99; f.maxP99 <= 0 && f.given.Changed("max-p99") {
		return l, fmt.Errorf("--max-p99 %v: must be more than 0", f.maxP99)
	}
	if f.maxErrors != "" {
		l.Errors, err = tune.ParseMaxErrors(f.maxErrors)
	}
	return l, err
}

// search adds to the options what the program and the machine have to do with them.
func (s *session) search(o tune.Options) tune.Options {
	o.Base, o.Env, o.Metric, o.Request = s.base, trial.BaselineSetting(), s.program.Metric, s.request
	o.Request.KeepSeries, o.Request.Delays = s.request.Keep.Stacks, true
	o.ReadGC = s.program.ReadGC
	o.Collapse = trial.MayCollapse() == nil
	o.THPAlways = s.host.THPEnabled != nil && *s.host.THPEnabled == "always"
	// Of what is not a Go program, the warm-up sees whether it starts some.
	if (s.program.IsGo || trial.SeesTree() == nil) && s.base.THP == trial.THPSystem && !o.FixedTHP {
		if err := errors.Join(s.getsHuge(), s.program.MayHeap()); err != nil {
			s.notes.Add("thp=heap was not tried: " + strings.ReplaceAll(strings.TrimPrefix(err.Error(), "--thp heap: "), "\n", "; "))
		} else {
			o.Heap = true
		}
	}
	o.SampleWarmup = o.Heap || !s.program.IsGo // what page faults take; it may start Go programs
	o.SafeMemory = s.program.FS.SpareMemory()
	if m := s.limits.Memory; m != nil {
		if o.Limit = *m; *m > o.SafeMemory {
			s.notes.Add(fmt.Sprintf("the machine can spare %s, less than --cgroup-memory %s: a run that takes more is ended",
				unit.Size(o.SafeMemory), unit.Exact(*m)))
		}
	}
	if p := s.procs(s.program.Command[0]); p.Known {
		s.notes.Add(p.Text)
		if !slices.ContainsFunc(o.Try, func(s trial.Setting) bool { return s.GOMAXPROCS != 0 }) {
			for _, n := range p.Others {
				o.Try = append(o.Try, trial.Setting{GOMAXPROCS: n})
			}
		}
	}
	return o
}

func (a *app) tune(ctx context.Context, f *tuneFlags, args []string) (err error) {
	opts, err := f.options()
	if err != nil {
		return misuse(err)
	}
	src, err := f.source(args)
	if err != nil {
		return misuse(err)
	}
	if f.kubernetes != "" {
		if f.target, err = kubernetesTarget(f.kubernetes); err != nil {
			return err
		}
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	var p *build.Plan
	if src != nil {
		if p, err = build.NewPlan(ctx, &f.variants.Wanted, *src); err != nil {
			return orNothing(ctx, err)
		}
		defer func() { err = errors.Join(err, p.Release()) }()
		p.Exhaustive = f.exhaustive
		g := a.builder()
		if err := p.Prepare(ctx, &g); err != nil {
			return orNothing(ctx, err)
		}
		if src.Test {
			f.test = src
		}
	}
	s, err := a.open(ctx, &f.programFlags, "tune", args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end(err)) }()
	if err := s.takeInput(ctx, a); err != nil {
		return err
	}
	opts = s.search(opts)
	s.program.MaxMemory = opts.SafeMemory
	if f.show {
		s.program.Stdout, s.program.Stderr = a.stderr.Raw(), a.stderr.Raw()
	}
	s.file.Seed = &f.seed
	if s.file.RateSearch, err = s.findRate(ctx, a, &f.programFlags, s.program); err != nil {
		return err
	}
	s.record(&s.file.Program, &f.programFlags)
	runner := trial.Runner(s.program)
	progress := newProgress(a.stderr)
	var builds *result.Builds
	if p != nil {
		v := tune.NewVariants(build.NewSet(p, a.builder(), s.built), s.program)
		for _, text := range p.Notes {
			s.notes.Add(text)
		}
		if err := v.MakeAll(ctx, func(ctx context.Context) error {
			note, err := v.Sample(ctx, s.base, s.request.Timeout, progress.Show)
			s.notes.Add(note)
			return err
		}); err != nil {
			return orNothing(ctx, err)
		}
		builds, runner, opts.Builds = result.NewBuilds(v.Set), v, v.Builds()
	}

	var writeErr error
	opts.Progress = func(p tune.Progress) {
		if p.Sample == nil { // else the next trial's start follows at once
			progress.Show(p.String())
		}
	}
	opts.Partial = func(r *tune.Result) {
		s.keepTune(r, builds)
		writeErr = errors.Join(writeErr, s.write())
	}
	res, err := tune.Search(ctx, runner, opts)
	progress.Clear()
	return errors.Join(a.showSearch(ctx, s, f, res, builds, err), writeErr)
}

// showSearch keeps and prints what a search found, or says why it found nothing.
func (a *app) showSearch(ctx context.Context, s *session, f *tuneFlags, res *tune.Result, builds *result.Builds, err error) error {
	if res != nil {
		s.keepTune(res, builds)
	}
	if !s.measured() {
		if ctx.Err() != nil {
			return errNothing
		}
		return err
	}
	s.file.Complete = err == nil && !res.Interrupted
	textErr := a.showTune(s, f, res)
	if err == nil && !res.Interrupted && res.Answer.State == tune.TooLittle {
		err = res.Nothing()
		s.file.Complete = false
	}
	err = errors.Join(err, textErr, res.NoGo())
	if res.Interrupted {
		err = errors.Join(err, exitCode(exitInterrupted))
	}
	return err
}

// showTune prints the result.
func (a *app) showTune(s *session, f *tuneFlags, res *tune.Result) error {
	notes := &s.notes
	if b := s.file.Program.Environment; len(b) > 0 {
		notes.Add("the default has " + strings.Join(b, " ") + " from the environment")
	}
	if w := trial.Profile(res.Arms[0].Samples); w != nil {
		notes.Add(w.UncertainNames)
	}
	var all []*trial.Sample
	for _, a := range res.Arms {
		all = append(all, a.Samples...)
	}
	trial.AddNotesOfArms(notes, all)
	if i := slices.IndexFunc(res.Answer.Recommended, func(r tune.Recommendation) bool { return r.Arm.Setting.THP == trial.THPHeap }); i >= 0 {
		notes.Add(trial.HeapHazard(s.program.FS))
		if f := res.Answer.Recommended[i].Arm.Final; f != nil && f.Memory != nil && *f.Memory < inspect.LittleHeap {
			notes.Add(fmt.Sprintf("peak RSS is below %s: with less work than in these runs, thp=heap may gain nothing",
				unit.Exact(inspect.LittleHeap)))
		}
	}
	notes.Add(res.ByLargest())
	out := io.Writer(a.stdout)
	if s.out.ToStdout() {
		out = a.stderr
	}
	document.SetNotes(&s.file, notes.Texts())
	file, err := shown(&s.file, s.redact)
	if err != nil {
		return err
	}
	if err := show(out, file, text.Options{Full: f.full}); err != nil || f.kubernetes == "" || res.Answer.State == tune.TooLittle || res.Answer.State == tune.NoEffect {
		return err
	}
	if _, err := io.WriteString(out, "\n"); err != nil {
		return err
	}
	return a.kubernetesPatch(out, file, f.target, "the search")
}

// measured says whether any run counts towards the result.
func (s *session) measured() bool {
	return slices.ContainsFunc(s.file.Arms, func(a result.Arm) bool { return len(a.Samples) > 0 })
}

// keepTune puts what is known so far into the result file.
func (s *session) keepTune(r *tune.Result, builds *result.Builds) {
	s.file.SetTune(r)
	builds.Record(&s.file)
	if s.file.Metric == nil {
		s.file.Metric = result.NewTarget(s.program.Metric, nil)
	}
	if len(r.Notes) > 0 {
		s.file.Notes = r.Notes
	}
}
