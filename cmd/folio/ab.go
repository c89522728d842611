package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/program/build"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/ab"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/cmd/internal/view/gobench"
	"github.com/foliomem/folio/cmd/internal/view/report"
	"github.com/foliomem/folio/cmd/internal/view/text"
)

type abFlags struct {
	programFlags
	revs   []string
	detect string
	failIf []string
	budget time.Duration
	rounds int
	seed   uint64
	show   bool
}

const abLong = `Compare two or more programs: time, memory, page faults, GC. The first is the base. Commands
follow --, with -- between them; each may start with variables (GOGC=800 ./prog) or with
folio exec [flags] --, for that command only.

With --rev folio builds a package at revisions of its git repository (. is the working tree),
and runs each with the arguments after --. With 'go test -bench' each benchmark is compared.

The programs run in rounds, in random order, until a difference of --detect would be found in
8 of 10 comparisons, or --budget is spent. For equal programs, at most one comparison in twenty
finds a difference. --fail-if is a gate for CI: NAME>+N or NAME<-N, N in percent of the base
or in units. It fails only if the whole 95% interval lies beyond the bound. NAME: wall, cpu,
user, system, peak_rss, faults, gc_cycles and others (docs/ab.md).

Exit codes: 0 compared, and every gate holds; 1 a gate, a program or a build fails; 2 wrong
usage, or the figure of a gate was not measured; 3 too noisy, or too few rounds, to judge a
gate; 126, 127 and 130 as in folio --help.`

func newAB(a *app) *cobra.Command {
	f := &abFlags{programFlags: programFlags{compares: true}}
	cmd := &cobra.Command{
		Use:   "ab [flags] -- command [args] -- command [args]",
		Short: "Compare two programs, or two revisions of one",
		Long:  abLong,
		Example: `  folio ab -- ./old args -- ./new args
  folio ab -- ./prog args -- GOGC=800 ./prog args
  folio ab --ready http://127.0.0.1:8080/ --rate 500 -- ./server -- GOGC=400 ./server
  folio ab --rev HEAD,. -- go test -bench Insert ./pkg
  folio ab --rev main,HEAD --fail-if 'wall>+3%' --fail-if 'peak_rss>+10%' ./cmd/prog -- args`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.ab(cmd.Context(), f, args, cmd.Flags().ArgsLenAtDash() == 0)
		},
	}
	fs := cmd.Flags()
	fs.SetInterspersed(false)
	fs.StringSliceVar(&f.revs, "rev", nil, "compare builds of these git `revisions`, such as main,HEAD")
	fs.StringArrayVar(&f.failIf, "fail-if", nil, "exit with 1 beyond this `bound`, such as 'wall>+3%' (repeatable)")
	fs.StringVar(&f.detect, "detect", "2%", "run until a difference of `n` percent would be detected")
	fs.DurationVar(&f.budget, "budget", 0, "maximum `duration`, without builds (default "+budgets(abBudget, loadedABBudget)+")")
	usage.Positive(fs, "budget")
	fs.IntVar(&f.rounds, "rounds", 0, "at most `n` rounds (default 1000)")
	seedFlag(fs, &f.seed)
	fs.BoolVar(&f.show, "show-output", false, "show the output of the programs, on standard error")
	usage.Group(fs, "The comparison")
	usage.Advanced(fs, "rounds", "seed")
	f.addRest(fs)
	return cmd
}

// options checks the flags: before anything is built or opened.
func (f *abFlags) options() (ab.Options, error) {
	o := ab.Options{Budget: f.budgetOr(f.budget, abBudget, loadedABBudget), MaxRounds: f.rounds, Seed: f.seed}
	number, ok := strings.CutSuffix(f.detect, "%")
	v, err := strconv.ParseFloat(number, 64)
	switch {
	case !ok || err != nil:
		return o, fmt.Errorf("--detect %q: want a percentage such as 2%%", f.detect)
	case !(v >= 0.01 && v <= 100):
		return o, fmt.Errorf("--detect %s: must be from 0.01%% to 100%%", f.detect)
	case f.given.Changed("rounds") && (f.rounds < 1 || f.rounds > ab.MostRounds):
		return o, fmt.Errorf("--rounds %d: must be from 1 to %d", f.rounds, ab.MostRounds)
	}
	o.Detect = v / 100
	for _, text := range f.failIf {
		b, err := ab.ParseBound(text)
		if err != nil {
			return o, err
		}
		o.Bounds = append(o.Bounds, b)
	}
	return o, nil
}

// revisionArms returns the arms of revisions.
func revisionArms(built *build.Built, src *build.Revisions) (out []abArm) {
	used := make(map[string]int)
	for _, r := range built.Revisions {
		name := r.Name
		if used[name]++; used[name] > 1 {
			name += fmt.Sprintf(" (%d)", used[name])
		}
		out = append(out, abArm{name: name, command: r.Command, show: r.Show, dir: r.Dir, source: &result.Source{
			Revision: r.Name, Commit: r.Commit, Dirty: r.Dirty, Package: src.Package, Test: src.Test}})
	}
	return out
}

// An abSession is a comparison put to work.
type abSession struct {
	measurement
	file  result.AB
	arms  []*trial.Arm
	start time.Time
	wrote time.Time
	revs  *build.Built // nil without --rev
}

func (a *app) ab(ctx context.Context, f *abFlags, args []string, dashed bool) (err error) {
	opts, err := f.options()
	if err != nil {
		return misuse(err)
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	s, err := a.openAB(ctx, f, args, dashed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end(err)) }()
	first := s.arms[0].Runner.(*trial.Program)
	if s.file.RateSearch, err = s.findRate(ctx, a, &f.programFlags, first); err != nil {
		return err
	}
	for i := range s.file.Arms {
		s.record(&s.file.Arms[i].Program, &f.programFlags)
	}
	progress := newProgress(a.stderr)
	defer progress.Clear()
	opts.Metric = s.program.Metric
	opts.Request = s.request
	opts.Request.KeepSeries = s.request.Keep.Stacks
	opts.Progress = func(p ab.Progress) { progress.Show(p.String()) }
	var writeErr error
	opts.Partial = func(result func() *ab.Result) {
		if len(s.out) == 0 || time.Since(s.wrote) < time.Second {
			return
		}
		s.keep(result())
		writeErr = errors.Join(writeErr, s.write())
		s.wrote = time.Now()
	}
	s.start = time.Now()
	res, err := ab.Compare(ctx, s.arms, opts)
	progress.Clear()
	interrupted := ctx.Err() != nil
	var unknown *ab.UnknownFigureError
	switch {
	case errors.As(err, &unknown):
		err = misuse(err)
	case interrupted:
		err = nil
	}
	s.keep(res)
	switch {
	case interrupted && !s.file.Measured():
		return errNothing
	case interrupted && res == nil:
		return errors.Join(errors.New("interrupted before the first round was over: nothing was compared"), exitCode(exitInterrupted))
	case res == nil:
		return err
	}
	var all []*trial.Sample
	for _, a := range s.arms {
		all = append(all, a.Samples...)
	}
	trial.AddNotesOfArms(&s.notes, all)
	s.file.Notes = s.notes.Texts()
	s.file.Complete = err == nil && !interrupted
	out := io.Writer(a.stdout)
	if s.out.ToStdout() {
		out = a.stderr
	}
	file, textErr := shown(&s.file, s.redact)
	err = errors.Join(err, textErr, show(out, file, text.Options{Full: s.full}), writeErr)
	if interrupted {
		return errors.Join(err, exitCode(exitInterrupted))
	}
	if err != nil {
		return err
	}
	return gated(file)
}

// gated is the error of the bounds of --fail-if: of those that fail, else of those that
// cannot be judged, else of those of which it is not known.
func gated(f *result.AB) error {
	says := make(map[ab.Verdict][]error)
	for i := range f.Result.Gates {
		g := &f.Result.Gates[i]
		bound, verdict, why := report.ABGate(f, g)
		says[g.Verdict] = append(says[g.Verdict], fmt.Errorf("%s: %s: %s", bound, verdict, why))
	}
	switch {
	case len(says[ab.Beyond]) > 0:
		return errors.Join(says[ab.Beyond]...)
	case len(says[ab.Unknown]) > 0:
		return errors.Join(append(says[ab.Unknown], exitCode(exitMisuse))...)
	case len(says[ab.Noisy]) > 0:
		return errors.Join(append(says[ab.Noisy], exitCode(exitNoisy))...)
	}
	return nil
}

// openAB checks everything that can be checked before measuring, and builds what is to
// be built.
func (a *app) openAB(ctx context.Context, f *abFlags, args []string, dashed bool) (_ *abSession, err error) {
	s := &abSession{}
	var arms []abArm
	var source *build.Revisions
	if f.given.Changed("rev") {
		source, err = build.ParseRevisions(f.revs, args, dashed)
	} else {
		arms, err = abCommands(args)
	}
	if err != nil {
		return nil, err
	}
	if err := s.begin(a, &f.programFlags, true, asBench(f.bench, &s.file, f.redact, gobench.AB)); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.revs.Remove(), s.program.Cgroups.Close())
		}
	}()
	if source != nil {
		if s.revs, err = source.Build(ctx, a.builder()); err != nil {
			return nil, orNothing(ctx, err)
		}
		for _, text := range s.revs.Notes {
			s.notes.Add(text)
		}
		arms = revisionArms(s.revs, source)
	}
	if f.show {
		s.program.Stdout, s.program.Stderr = a.stderr.Raw(), a.stderr.Raw()
	}
	if err := s.takeInput(ctx, a); err != nil {
		return nil, err
	}
	s.file = result.AB{
		Header: result.NewHeader(result.Schema, result.KindAB, version()), Host: s.host, Seed: f.seed,
		Metric: result.NewTarget(s.program.Metric, nil), Input: f.input, Setting: result.NewSetting(s.base),
	}
	for _, arm := range arms {
		if err := s.add(arm, f); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// add adds an arm.
func (s *abSession) add(arm abArm, f *abFlags) error {
	p := *s.program
	p.Command, p.Dir = arm.command, arm.dir
	about, isGo := result.NewProgram(arm.show, arm.command[0])
	p.IsGo, p.Heap = isGo, trial.ReadHeap(arm.command[0])
	if err := p.Check(); err != nil {
		return err
	}
	s.record(&about, &f.programFlags)
	if !sets(arm.env, "GOMAXPROCS=") {
		s.notes.Add(s.procs(arm.command[0]).Text)
	}
	setting := s.base
	// Its own variables replace those of --env.
	setting.Env = slices.DeleteFunc(slices.Clone(setting.Env), func(kv string) bool { return sets(arm.env, kv) })
	setting.Env = append(setting.Env, arm.env...)
	s.noteSettings(setting, &about)
	if arm.thp != trial.THPSystem {
		setting.THP = arm.thp
	}
	switch setting.THP { // now, not after the warm-up
	case trial.THPCollapse:
		if err := trial.MayCollapse(); err != nil {
			return err
		}
	case trial.THPHeap:
		if err := p.MayHeap(); errors.Is(err, trial.ErrOwnHeap) {
			s.notes.Add(err.Error())
		} else if err != nil {
			return err
		} else if err := trial.WhyNotHuge(p.FS, setting.Environ(os.Environ())); err != nil {
			s.notes.Add("thp=heap changes nothing here: " + err.Error())
		}
	}
	about.Tree = arm.tree
	s.arms = append(s.arms, &trial.Arm{Name: arm.name, Setting: setting, Runner: &p})
	s.file.Arms = append(s.file.Arms, result.ABArm{Name: arm.name, Program: about, Env: arm.env, THP: string(arm.thp), Source: arm.source})
	return nil
}

// keep puts what was measured so far into the result.
func (s *abSession) keep(res *ab.Result) {
	s.file.ElapsedSeconds, s.file.Result = time.Since(s.start).Seconds(), res
	for i, arm := range s.arms {
		s.file.Arms[i].Samples, s.file.Arms[i].Summary = arm.Samples, result.Summarize(arm.Samples)
		s.file.Arms[i].Load = result.SummarizeLoads(arm.Samples)
		s.file.Arms[i].Profile, s.file.Arms[i].Tree = trial.Profile(arm.Samples), trial.Tree(arm.Samples)
	}
	if s.program.Metric != nil || res == nil || len(res.Comparisons) == 0 {
		return
	}
	var bench []string
	for _, f := range res.Comparisons[0].Figures {
		if f.Primary && strings.HasSuffix(f.Key, " "+metric.Bench) {
			bench = append(bench, f.Key)
		}
	}
	if f := res.Comparisons[0].Find("wall_seconds"); len(bench) > 0 && f == nil {
		s.file.Metric = result.NewTarget(&metric.Spec{Name: metric.Bench}, bench)
	}
}

func (s *abSession) write() error {
	return s.out.Write(!s.file.Measured(), jsonOf(&s.file, s.redact))
}

// end writes the last version, with the reason of a failure, and closes the files.
func (s *abSession) end(err error) error {
	if s.file.Error = reason(err); s.file.Complete {
		s.file.Error = "" // a gate that failed is an answer
	}
	return errors.Join(s.write(), s.close(), s.revs.Remove())
}
