package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/process/collapser"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/cmd/internal/view/text"
	"github.com/foliomem/folio/internal/base/unit"
)

type collapseFlags struct {
	density          float64
	maxSize, maxRate string
	dryRun           bool
	watch            time.Duration
	all              bool
	resultFlags
}

const collapseLong = `Put the heap of a running Go program on huge pages. The program is not changed. A
goroutine that touches a window during its collapse waits about 0.5 ms.

Windows (the aligned range of one huge page, 2 MiB on amd64) of which at least
--min-density is in memory are collapsed, the densest first. A sparse window never
is: RSS would grow by the rest of the 2 MiB. Collapsed windows stay huge until the
program releases part of them. --watch follows the growth of the heap. No setting is
changed.

It needs Linux 6.1 and CAP_SYS_NICE, and CAP_SYS_PTRACE for processes of other users.
Run it with sudo, or
  sudo setcap cap_sys_nice,cap_sys_ptrace+ep "$(command -v folio)"
  docker run --cap-add SYS_NICE --cap-add SYS_PTRACE ...
It works whatever the system's policy for transparent huge pages is, but not for a
process that opted out of them (PR_SET_THP_DISABLE).

Exit codes: 0 done, or --watch ended; 1 failed; 2 wrong usage; 130 interrupted.`

func newCollapse(a *app) *cobra.Command {
	f := &collapseFlags{}
	cmd := &cobra.Command{
		Use:   "collapse [flags] pid",
		Short: "Put the heap of a running program on huge pages",
		Long:  collapseLong,
		Example: `  folio collapse --dry-run 1234
  sudo folio collapse 1234
  sudo folio collapse --max-rate 64MiB --max-size 4GiB 1234
  sudo folio collapse --watch 1234
  sudo folio collapse --all-anonymous 1234`,
		Args: onePID(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			pid, _ := strconv.Atoi(args[0]) // it was checked
			return a.collapse(cmd.Context(), f, pid)
		},
	}
	fs := cmd.Flags()
	fs.Float64Var(&f.density, "min-density", inspect.MinDensity, "collapse windows with at least this `share` in memory, 0.5 to 1")
	fs.StringVar(&f.maxSize, "max-size", "", "collapse at most this `size`, the densest windows first (default no limit)")
	fs.StringVar(&f.maxRate, "max-rate", unit.Exact(collapser.DefaultRate), "collapse at most this `size` per second, evenly, so that few requests wait; off: no limit")
	fs.BoolVar(&f.dryRun, "dry-run", false, "show what would be done, and do nothing; needs no CAP_SYS_NICE")
	watchFlag(fs, &f.watch, "1s", "follow the growth of the program, reading every `interval`, until it ends or ctrl-C (default 1s)")
	fs.BoolVar(&f.all, "all-anonymous", false, "collapse all private anonymous memory but stacks of threads, of any program")
	f.add(fs, "what was done")
	return cmd
}

func (f *collapseFlags) options() (o collapser.Options, err error) {
	o = collapser.Options{MinDensity: f.density, All: f.all}
	if f.maxSize != "" {
		if o.Budget, err = unit.ParseSize(f.maxSize); err != nil {
			return o, fmt.Errorf("--max-size: %w", err)
		}
	}
	if f.maxRate != trial.Off {
		if o.Rate, err = unit.ParseSize(f.maxRate); err != nil {
			return o, fmt.Errorf("--max-rate: %w; off means no limit", err)
		}
	}
	switch {
	case !(f.density >= inspect.LeastDensity && f.density <= 1):
		return o, fmt.Errorf("--min-density %v: must be from %v to 1: a window less than half full is never collapsed, it would more than double", f.density, inspect.LeastDensity)
	case f.watch > 0 && f.dryRun:
		return o, errors.New("--dry-run does nothing, so there is nothing to --watch")
	}
	return o, nil
}

func (a *app) collapse(ctx context.Context, f *collapseFlags, pid int) (err error) {
	o, err := f.options()
	if err != nil {
		return misuse(err)
	}
	out, err := a.openOutputs(f.files()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	ctx, stop := interruptible(ctx)
	defer stop()
	s := inspect.New()
	c, err := collapser.Open(s, pid, o, f.dryRun)
	if err != nil {
		return err
	}
	defer c.Close()
	progress := newProgress(a.stderr)
	c.Progress = func(done collapser.Outcome, left int) {
		progress.Show(fmt.Sprintf("%s collapsed, %s left", unit.Size(done.Bytes), unit.Plural(left, "window")))
	}
	r, failed := result.RunCollapse(ctx, s, c, pid, f.dryRun, f.watch, func(o collapser.Outcome) {
		progress.Clear()
		if o.Collapsed > 0 || len(o.Refused) > 0 {
			_ = a.stderr.Line("%s", document.CollapseLine(o))
		}
	})
	progress.Clear()
	if r == nil {
		return fmt.Errorf("collapse process %d: %w", pid, failed)
	} else if failed != nil {
		failed = fmt.Errorf("collapse process %d: %w", pid, failed)
	} else if r.Interrupted && !r.Watched {
		failed = exitCode(exitInterrupted)
	}
	return errors.Join(finish(a, out, result.NewCollapse(version(), r), f.resultFlags, io.Discard, text.Options{}), failed)
}
