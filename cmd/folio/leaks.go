package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/base/usage"
	"github.com/foliomem/folio/internal/process/inspect"
	"github.com/foliomem/folio/internal/process/leak"
	"github.com/foliomem/folio/internal/result"
	"github.com/foliomem/folio/internal/view/report"
)

type leaksFlags struct {
	duration, interval time.Duration
	json               string
	redact             bool
}

const leaksLong = `Watch a process, and say what of it grows without end: lines of the program whose
objects stay, goroutines by their go statement, memory outside of the Go heap. Each
with its slope, the interval of that, and a confidence. Or say that nothing does, or
what is not known. How RSS grows is said in any case.

The lines come from the runtime's own heap profile, which is read from outside, once
after each GC cycle. A steady leak is found from 5 GC cycles on; what rises and falls
takes 12. The program has to link runtime.MemProfile, as all with net/http/pprof do; where it does not, a note says so, and
goroutines and memory are watched all the same. Go 1.21 to 1.27, stripped or not.

What grows and then stays (a cache that fills), and what rises and falls does not count.
What would end only after the time that is watched does.

The process is not stopped, and nothing is changed. It needs the right to ptrace it.`

// defaultReadings is into how many readings the time is divided.
const defaultReadings = 60

func newLeaks(a *app) *cobra.Command {
	f := &leaksFlags{}
	cmd := &cobra.Command{
		Use:   "leaks [flags] pid",
		Short: "Say which lines, goroutines and memory of a process grow without end",
		Long:  leaksLong,
		Example: `  folio leaks 1234
  folio leaks --duration 5m 1234
  folio leaks --duration 1h --json leaks.json 1234`,
		Args: onePID(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			pid, _ := strconv.Atoi(args[0]) // it was checked
			return a.leaks(cmd.Context(), f, pid)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.DurationVar(&f.duration, "duration", 5*time.Minute, "watch for this `duration`; ctrl-C ends it earlier, with what was read")
	fs.DurationVar(&f.interval, "interval", 0, "read about every `interval` (default 1/60 of the duration)")
	usage.Positive(fs, "duration", "interval")
	fs.StringVar(&f.json, "json", "", "write what grows to `file` as JSON (- for standard output)")
	redactFlag(fs, &f.redact)
	return cmd
}

func (f *leaksFlags) check() error {
	if f.interval == 0 {
		f.interval = f.duration / defaultReadings
	}
	if f.interval > f.duration/leak.Least {
		return fmt.Errorf("--interval %v: %v has room for %d readings; at least %d are needed to judge", f.interval, f.duration, f.duration/f.interval, leak.Least)
	}
	return nil
}

func (a *app) leaks(ctx context.Context, f *leaksFlags, pid int) (err error) {
	if err := f.check(); err != nil {
		return misuse(err)
	}
	out, err := a.openSnapshot(f.json, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	ctx, stop := interruptible(ctx)
	defer stop()
	s := inspect.New()
	p, err := s.Process(pid, inspect.Options{MinDensity: inspect.MinDensity})
	if err != nil {
		return fmt.Errorf("watch process %d: %w", pid, err)
	}
	progress := newProgress(a.stderr)
	r, err := leak.Watch(ctx, s, pid, f.duration, f.interval, func(elapsed time.Duration) {
		progress.line(fmt.Sprintf("watching process %d: %s left", pid, unit.Elapsed(max(f.duration-elapsed, 0).Round(time.Second))))
	})
	progress.clear()
	if err != nil {
		return fmt.Errorf("watch process %d: %w", pid, err)
	}
	file := result.NewSites(version(), result.KindLeaks, pid, p.Command, p.GoVersion)
	file.SetLeaks(r)
	if file, err = shown(file, f.redact); err != nil {
		return err
	}
	if err := out.write(file.JSON); err != nil || out.toStdout() {
		return err
	}
	return report.Sites(a.stdout, file, 0)
}
