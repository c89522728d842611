package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/foliomem/folio/cmd/internal/base/guard"
	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/cmd/internal/process/thrash"
	"github.com/foliomem/folio/internal/system/procmem"
)

type setFlags struct {
	gogc, memlimit string
	duration       time.Duration
	cgroup, name   string
	watch          bool
	then, save     string
	given          *pflag.FlagSet
}

const setLong = `Change GOGC and GOMEMLIMIT of running Go programs, without a restart and without
stopping them. Without a setting, show the settings in effect and where they come from.

The change takes effect at once, as with debug.SetGCPercent and debug.SetMemoryLimit in the
program: the next GC cycle starts at the new heap goal. Supported: Go 1.21 to 1.27, amd64
and arm64, stripped or not. A process whose memory does not look as expected is refused.

With --for, the settings are restored when the time is up, on ctrl-C, and if folio is
killed. Otherwise they stay until the program ends. Settings that the program changes
itself are left alone. GOGC=off needs a memory limit.

With --watch, nothing is changed until GOMEMLIMIT leaves a live heap so little room that the
GC runs all the time: an effective GOGC below 10 for 30 seconds. Then evidence is saved, as
inspect --oom does, and --then raises the limit, within that of the container, or sends TERM.

You need the right to ptrace the process: run folio as its user (enough unless
kernel.yama.ptrace_scope is 1 or more), or with CAP_SYS_PTRACE, for example with sudo.

Exit codes: 0 done; 1 failed, nothing changed; 2 wrong usage; 130 interrupted, settings
restored. --watch ends with the process, or on ctrl-C, with 0.`

func newSet(a *app) *cobra.Command {
	f := &setFlags{}
	cmd := &cobra.Command{
		Use:   "set [flags] pid",
		Short: "Change GOGC and GOMEMLIMIT of a running program",
		Long:  setLong,
		Example: `  folio set 1234
  folio set --gogc 400 1234
  folio set --gogc off --memlimit 2GiB --for 10m 1234
  folio set --gogc 200 --name server
  folio set --memlimit 512MiB --cgroup orders.service
  folio set --watch --then raise=64MiB --save /var/tmp 1234`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.cgroup == "" && f.name == "" {
				return onePID(true)(cmd, args)
			}
			if len(args) > 0 || f.cgroup != "" && f.name != "" {
				return misusef("set: give one of a PID, --name and --cgroup")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.set(cmd.Context(), f, args) },
	}
	fs := cmd.Flags()
	f.given = fs
	fs.StringVar(&f.gogc, "gogc", "", "GOGC: `n` percent, or off (needs a memory limit)")
	fs.StringVar(&f.memlimit, "memlimit", "", "GOMEMLIMIT: a `size` such as 512MiB, or off")
	fs.DurationVar(&f.duration, "for", 0, "restore the settings after this `duration`, or on ctrl-C (default for good)")
	fs.StringVar(&f.cgroup, "cgroup", "", "all Go programs in this `cgroup` and below, by its directory, its name or the id of a process in it")
	fs.StringVar(&f.name, "name", "", "all Go programs with this `name`")
	fs.BoolVar(&f.watch, "watch", false, "save evidence when GOMEMLIMIT makes the GC run all the time; ends with the process,\nor by ctrl-C")
	fs.StringVar(&f.then, "then", "", "with --watch: `action` to take then: raise=SIZE or raise=N% raises GOMEMLIMIT by at most\nso much in all, term sends TERM (default none)")
	fs.StringVar(&f.save, "save", ".", "with --watch: `directory` for evidence")
	usage.Positive(fs, "for")
	cmd.AddCommand(&cobra.Command{
		Use: "guard", Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			return guard.Main[livegc.Undo]([]string{"set", "guard"}, args, a.stdin, a.stdout)
		},
	})
	return cmd
}

func (a *app) set(ctx context.Context, f *setFlags, args []string) (err error) {
	then, err := thrash.ParseFlags(f.watch, f.then, f.given.Changed)
	if err != nil {
		return misuse(err)
	}
	c, err := livegc.ParseChange(f.gogc, f.memlimit, f.given.Changed)
	if f.duration > 0 && c.IsZero() && err == nil {
		err = fmt.Errorf("--for %v: no setting to change; add --gogc or --memlimit", f.duration)
	}
	if err != nil {
		return misuse(err)
	}
	w := livegc.Which{Cgroup: f.cgroup, Name: f.name}
	if len(args) > 0 {
		w.PID, _ = strconv.Atoi(args[0]) // it was checked
	}
	all, err := livegc.OpenAll(procmem.New(""), w)
	defer func() {
		for _, p := range all {
			err = errors.Join(err, p.Close())
		}
	}()
	switch {
	case err != nil:
		return err
	case f.watch:
		ctx, stop := interruptible(ctx)
		defer stop()
		return thrash.Watch(ctx, all, thrash.Options{Times: thrash.DefaultTimes, Then: then, Evidence: a.evidence(f.save, false)})
	case c.IsZero():
		return a.showSettings(all)
	}
	for _, p := range all {
		if err := errors.Join(p.Check(c), p.Hold(), p.Plan(c)); err != nil {
			return err
		}
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	if f.duration == 0 {
		if err := livegc.SetAll(all, nil); err != nil {
			return err
		}
		return a.showChanges(all, c)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	g, err := guard.Start[livegc.Undo]([]string{self, "set", "guard"})
	if err != nil {
		return fmt.Errorf("set: %w", err)
	}
	if err := livegc.SetAll(all, g); err != nil {
		return errors.Join(err, g.Close())
	}
	if err := a.showChanges(all, c); err != nil {
		return errors.Join(err, livegc.Hold(ctx, 0, all, g, a.line))
	}
	err = livegc.Hold(ctx, f.duration, all, g, a.line)
	if ctx.Err() != nil {
		err = errors.Join(err, exitCode(exitInterrupted))
	}
	return err
}

func (a *app) line(format string, args ...any) error { return a.stdout.Line(format, args...) }

// showSettings prints the settings in effect.
func (a *app) showSettings(all []*livegc.Process) error {
	for _, p := range all {
		text, err := p.Say()
		if err == nil {
			err = a.line("%s", text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// showChanges prints what was changed, and what in the program may change it again.
func (a *app) showChanges(all []*livegc.Process, c livegc.Change) error {
	for _, p := range all {
		for _, text := range p.SayChange(c) {
			if err := a.line("%s", text); err != nil {
				return err
			}
		}
	}
	return nil
}
