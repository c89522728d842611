package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/base/terminal"
	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/result/diagnose"
	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/cmd/internal/view/text"
	"github.com/foliomem/folio/internal/system/procmem"
)

type doctorFlags struct {
	watch  time.Duration
	skip   []string
	strict bool
	resultFlags
}

const doctorLong = `Check this machine, and a process, for what makes memory slow.

Each check looks for one known hazard: huge pages that are off, that stall, or
that re-populate released memory; reserved memory that is not used; swap; a
container limit that the Go runtime does not know; GC cycles one after another
for a tiny heap. Findings are printed with what was read, what it means, how to
fix it, and where to read on, the worst first. --full lists what could not be
checked, with the reason. Nothing is changed.

Without a PID the machine is checked, and the container that folio is in; with
one, the container of that process, and the process. A process of another user
needs root (CAP_SYS_PTRACE). "folio doctor list" explains the checks.

It takes a second: counters are read twice (--duration).

Exit codes: 0 the checks ran, whatever they found; 1 failed, or with --strict
something was found; 2 wrong usage; 130 interrupted.`

func newDoctor(a *app) *cobra.Command {
	f := &doctorFlags{}
	cmd := &cobra.Command{
		Use:   "doctor [flags] [pid]",
		Short: "Check this machine and a process for what makes memory slow",
		Long:  doctorLong,
		Example: `  folio doctor
  sudo folio doctor 4242
  folio doctor --strict --skip swappiness,thp-always
  folio doctor --html doctor.html 4242
  folio doctor --json - 4242
  folio doctor list`,
		Args: onePID(false),
		RunE: func(cmd *cobra.Command, args []string) error { return a.doctor(cmd.Context(), f, args) },
	}
	fs := cmd.Flags()
	fs.DurationVar(&f.watch, "duration", time.Second, "`duration` over which counters are read; 0 skips the checks that need it")
	fs.StringSliceVar(&f.skip, "skip", nil, "skip these `checks` (repeatable, or with commas)")
	fs.BoolVar(&f.strict, "strict", false, "exit with 1 if anything is found, even a note")
	f.add(fs, "the findings and all checks")
	cmd.AddCommand(&cobra.Command{
		Use: "list", Short: "Explain the checks", Args: usage.OnlyCommands,
		RunE: func(*cobra.Command, []string) error {
			return text.Render(a.stdout, document.Checks(diagnose.Rules()), text.Options{Width: a.width(), Full: true})
		},
	})
	return cmd
}

// width returns how many columns text for standard output may have.
func (a *app) width() int {
	if n := terminal.Columns(a.stdout); n > 0 {
		return min(n, 120) // longer lines are hard to read
	}
	return 80
}

func (a *app) doctor(ctx context.Context, f *doctorFlags, args []string) (err error) {
	pid := 0
	if len(args) > 0 {
		pid, _ = strconv.Atoi(args[0]) // it was checked
	}
	if f.watch < 0 {
		return misusef("--duration %v: must not be negative", f.watch)
	}
	if err := diagnose.CheckRules(f.skip); err != nil {
		return misusef("--skip: %w", err)
	}
	files, err := a.openOutputs(f.files()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()

	ctx, stop := interruptible(ctx)
	defer stop()
	facts, err := diagnose.ReadFacts(ctx, procmem.New(""), &diagnose.ReadOptions{PID: pid, Watch: f.watch})
	if errors.Is(err, context.Canceled) {
		return errors.Join(exitCode(exitInterrupted), errors.New("interrupted before anything was found"))
	}
	if err != nil {
		return err
	}
	d := facts.Diagnose(f.skip...)

	info, notes := host.Read(procmem.New(""))
	file := result.NewDoctor(version(), facts, d)
	file.Host = info
	file.Notes = append(file.Notes, notes...)
	if err := finish(a, files, file, f.resultFlags, a.stderr, text.Options{}); err != nil {
		return err
	}
	if f.strict && len(d.Findings) > 0 {
		return exitCode(exitFailure)
	}
	return nil
}
