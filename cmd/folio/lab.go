package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/base/terminal"
	"github.com/foliomem/folio/cmd/internal/lab"
	"github.com/foliomem/folio/cmd/internal/lab/settings"
	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/cmd/internal/view/gobench"
	"github.com/foliomem/folio/cmd/internal/view/output"
	"github.com/foliomem/folio/cmd/internal/view/text"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/cgroup"
	"github.com/foliomem/folio/internal/system/procmem"
)

type labFlags struct {
	quick       bool
	size        string
	rounds      int
	allowSystem bool
	seed        uint64
	resultFlags
	bench  string
	limits limitFlags
	given  *pflag.FlagSet
}

const labLong = `Measure what pages, page faults, returning memory to the OS, allocation and GC
cost on this machine.

Each experiment compares several ways (arms) to do the same work, in fresh
processes and random order. The result has medians, intervals, and what they mean
on this machine. Without a name, all experiments run except index, malloc and
assist, which build programs with the go command; "folio lab list" lists them.

Some arms need settings of the whole system: reserved huge pages, the policy for
transparent huge pages, khugepaged, a memory cgroup. With --allow-system they run,
as root: each setting is printed before, and put back after each run of the arm,
even if folio is interrupted or killed. Until then, other programs are affected.

Exit codes: 0 measured; 1 an experiment failed; 2 wrong usage; 130 interrupted,
after printing what was measured so far.`

func newLab(a *app) *cobra.Command {
	f := &labFlags{}
	cmd := &cobra.Command{
		Use:   "lab [flags] [experiment...]",
		Short: "Measure what pages, faults and returning memory to the OS cost here",
		Long:  labLong,
		Example: `  folio lab list
  folio lab --quick
  folio lab pages faults
  folio lab arenas
  folio lab index
  folio lab --allow-system --json lab.json pages
  folio lab --bench lab.txt madvise && benchstat -col arm lab.txt`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.lab(cmd.Context(), f, args) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, e := range lab.Experiments() {
				names = append(names, e.Name+"\t"+e.Question)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&f.quick, "quick", false, "less memory and fewer rounds: all default experiments within two minutes")
	fs.StringVar(&f.size, "size", "", "`size` of the memory to measure with, or the largest of several (default each experiment's\nown, as far as memory allows)")
	fs.IntVar(&f.rounds, "rounds", 0, "`n` runs of each arm (default each experiment's own)")
	fs.BoolVar(&f.allowSystem, "allow-system", false, "run arms that change system settings, and restore them")
	seedFlag(fs, &f.seed)
	f.given = fs
	f.limits.add(fs)
	f.add(fs, "all samples and summaries")
	fs.StringVar(&f.bench, "bench", "", "write all samples to `file` in the Go benchmark format, for benchstat (- for standard output)")
	cmd.AddCommand(&cobra.Command{
		Use: "list [experiment...]", Short: "List the experiments, or the arms of some", Args: cobra.ArbitraryArgs,
		ValidArgsFunction: cmd.ValidArgsFunction,
		RunE: func(_ *cobra.Command, names []string) error {
			all, err := choose(names)
			if err != nil {
				return misuse(err)
			}
			if len(names) == 0 {
				all = lab.Experiments()
			}
			return text.Render(a.stdout, document.Experiments(result.Experiments(all, lab.ReadMachine()), len(names) > 0), text.Options{Width: terminal.Columns(a.stdout), Full: true})
		},
	}, &cobra.Command{
		Use: "arm", Hidden: true, DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error { return a.labArm(args) },
	}, &cobra.Command{
		Use: "guard", Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error { return a.labGuard(args) },
	})
	return cmd
}

func (f *labFlags) options() (lab.Options, error) {
	o := lab.Options{Quick: f.quick, Rounds: f.rounds, AllowSystem: f.allowSystem, Seed: f.seed}
	var err error
	if f.size != "" {
		if o.Size, err = unit.ParseSize(f.size); err != nil {
			return o, fmt.Errorf("--size: %w", err)
		}
	}
	if o.Limits, err = f.limits.parse(f.given); err != nil {
		return o, err
	}
	if f.rounds < 0 || f.rounds == 0 && f.given.Changed("rounds") {
		return o, fmt.Errorf("--rounds %d: must be 1 or more", f.rounds)
	}
	return o, nil
}

// choose returns the experiments of the names, and what is wrong with the
// others.
func choose(names []string) (chosen []*lab.Experiment, err error) {
	for _, name := range names {
		all, lerr := lab.Select(name)
		for _, e := range all {
			if !slices.Contains(chosen, e) {
				chosen = append(chosen, e)
			}
		}
		err = errors.Join(err, lerr)
	}
	return chosen, err
}

// A labRun is a lab's command line put to work.
type labRun struct {
	file result.Lab
	out  output.List
	resultFlags
	written error // what went wrong as files were written: measuring goes on
}

func (a *app) lab(ctx context.Context, f *labFlags, names []string) (err error) {
	opts, err := f.options()
	if err != nil {
		return misuse(err)
	}
	var unknown error
	if opts.Experiments, unknown = choose(names); unknown != nil {
		if len(opts.Experiments) == 0 {
			return misuse(unknown)
		}
		exit(a.stderr, unknown) // now, not after all the others
		unknown = exitCode(exitFailure)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find folio's own program: %w", err)
	}
	opts.Self = []string{self, "lab", "guard"}
	l := &labRun{resultFlags: f.resultFlags}
	info, unread := host.Read(procmem.New(""))
	l.file = result.Lab{Header: result.NewHeader(result.Schema, result.KindLab, version()), Host: info, Limits: opts.Limits.OrNil(), Quick: f.quick}
	notes := &stat.Notes{}
	for _, text := range unread {
		notes.Add(text)
	}
	if l.out, err = a.openOutputs(append(f.files(), asBench(f.bench, &l.file, f.redact, gobench.Lab))...); err != nil {
		return err
	}
	defer func() {
		l.file.Error = reason(err)
		err = errors.Join(err, l.write(), l.out.Close())
	}()

	ctx, stop := interruptible(ctx)
	defer stop()
	sweep()
	cgroups, err := cgroup.Open(procmem.New(""), opts.Limits)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cgroups.Close()) }()
	opts.Runner = lab.Process([]string{self, "lab", "arm"}, cgroups)
	progress := newProgress(a.stderr)
	defer progress.Clear()
	opts.Progress = func(p lab.Progress) { progress.Show(p.String()) }
	opts.Announce = func(experiment string, changes []settings.Change) {
		progress.Clear()
		for _, c := range changes {
			_ = a.stderr.Line("%s: --allow-system: %s, put back after each run", experiment, c)
		}
	}
	opts.Partial = func(r *lab.Result) {
		l.file.Keep(r)
		l.written = errors.Join(l.written, l.write())
	}
	res, err := lab.Run(ctx, opts)
	progress.Clear()
	if len(res.Outcomes) == 0 {
		return err
	}
	l.file.Keep(res)
	if res.Interrupted && !slices.ContainsFunc(res.Outcomes, func(o *lab.Outcome) bool { return o.Rounds > 0 }) {
		return errors.Join(err, errNothing)
	}
	out := io.Writer(a.stdout)
	if l.out.ToStdout() {
		out = a.stderr
	}
	document.SetLabNotes(&l.file, notes.Texts())
	file, textErr := shown(&l.file, l.redact)
	err = errors.Join(err, textErr, show(out, file, text.Options{Full: l.full}), l.written)
	l.file.Complete = err == nil && !slices.ContainsFunc(res.Outcomes, func(o *lab.Outcome) bool { return !o.Complete })
	for _, o := range res.Outcomes {
		err = errors.Join(err, o.Err)
	}
	if res.Interrupted {
		err = errors.Join(exitCode(exitInterrupted), err)
	}
	return errors.Join(err, unknown)
}

// write brings the result files up to date. Before anything was measured, an
// older result is worth more than an empty one.
func (l *labRun) write() error {
	empty := !slices.ContainsFunc(l.file.Experiments, func(e result.LabExperiment) bool {
		return slices.ContainsFunc(e.Arms, func(a result.LabArm) bool { return len(a.Samples) > 0 })
	})
	return l.out.Write(empty, jsonOf(&l.file, l.redact))
}

// labArm is the process of an arm: see lab.Work.
func (a *app) labArm(args []string) error {
	t, err := lab.ParseTask(args)
	if err != nil {
		return misusef("lab arm: %w", err)
	}
	if err = lab.Work(t, a.stdout); err != nil {
		return errors.Join(exitCode(lab.ExitCode(err)), err)
	}
	return nil
}

// labGuard is the process that puts settings back.
func (a *app) labGuard(args []string) error {
	return settings.Main([]string{"lab", "guard"}, args, a.stdin, a.stdout)
}
