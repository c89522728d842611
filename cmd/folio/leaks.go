package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/leak"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/text"
	"github.com/foliomem/folio/internal/base/unit"
)

type leaksFlags struct {
	duration, interval time.Duration
	resultFlags
}

const leaksLong = `Watch a process, and report what keeps growing in it: lines of the program whose
objects stay, goroutines by their go statement, memory outside of the Go heap. Each has a
slope, its 95% interval and a confidence level. If nothing grows, or it is too early to
tell, leaks says so. RSS at first and at last is always shown.

The lines come from the runtime's heap profile, read from outside after each
GC cycle. A line is judged from 12 GC cycles on, the live heap as a whole from 5
(12 if they come at regular intervals). The program must link
runtime.MemProfile, as all with net/http/pprof do; if not, a note says so, and
goroutines and memory are still watched. Go 1.21 to 1.27, stripped or not.

Without --duration it watches for 5 minutes, and on until the Go heap can be judged, for
30 minutes at most.

Not reported: memory that grows and then stays flat (a cache that fills), or that rises and
falls. Reported, even if it would stop later: what still grows when the watch ends.

folio does not stop or change the process. It needs permission to ptrace it.

Exit codes: 0 watched, whatever grows; 1 failed; 2 wrong usage; 130 interrupted, after
printing what was read so far.`

// Without --duration a process is watched for shortLeaks, and on until its heap can be
// judged, for longLeaks at most.
const (
	shortLeaks = 5 * time.Minute
	longLeaks  = 30 * time.Minute
)

// defaultReadings is into how many readings the time is divided.
const defaultReadings = 60

func newLeaks(a *app) *cobra.Command {
	f := &leaksFlags{}
	cmd := &cobra.Command{
		Use:   "leaks [flags] pid",
		Short: "Say which lines, goroutines and memory of a process keep growing",
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
	fs.DurationVar(&f.duration, "duration", 0, "watch for exactly this `duration` (default 5m, or up to 30m until the Go heap can be judged)")
	fs.DurationVar(&f.interval, "interval", 0, "read about every `interval` (default 1/60 of the duration)")
	usage.Positive(fs, "duration", "interval")
	f.add(fs, "what grows")
	return cmd
}

// options returns how long and how often the process is read.
func (f *leaksFlags) options() (o leak.Options, err error) {
	o = leak.Options{Duration: f.duration, Most: f.duration, Interval: f.interval}
	if o.Duration == 0 {
		o.Duration, o.Most = shortLeaks, longLeaks
	}
	if o.Interval == 0 {
		o.Interval = o.Duration / defaultReadings
	}
	if o.Interval > o.Duration/leak.Least {
		return o, fmt.Errorf("--interval %v: %v has room for %d readings; at least %d are needed to judge", o.Interval, o.Duration, o.Duration/o.Interval, leak.Least)
	}
	return o, nil
}

func (a *app) leaks(ctx context.Context, f *leaksFlags, pid int) (err error) {
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
	p, err := s.Process(pid, inspect.Options{MinDensity: inspect.MinDensity})
	if err == nil && p.Denied != "" {
		err = errors.New(p.Denied)
	}
	if err != nil {
		return fmt.Errorf("watch process %d: %w", pid, err)
	}
	progress := newProgress(a.stderr)
	noted := false
	r, err := leak.Watch(ctx, s, pid, o, func(elapsed time.Duration, notes []string) {
		if !noted { // what cannot be watched, before the time is spent
			for _, note := range notes {
				_ = a.stderr.Line("folio: note: %s", note)
			}
			noted = true
		}
		left, until := o.Duration-elapsed, ""
		if left <= 0 && o.Most > o.Duration {
			left, until = o.Most-elapsed, "until its Go heap can be judged, at most "
		}
		progress.Show(fmt.Sprintf("watching process %d: %s%s left", pid, until, unit.Elapsed(max(left, 0).Round(time.Second))))
	})
	progress.Clear()
	if err != nil {
		return fmt.Errorf("watch process %d: %w", pid, err)
	}
	file := result.NewSites(version(), result.KindLeaks, pid, p.Command, p.GoVersion)
	file.SetLeaks(r)
	if err = finish(a, out, file, f.resultFlags, io.Discard, text.Options{}); r.Interrupted {
		err = errors.Join(err, exitCode(exitInterrupted))
	}
	return err
}
