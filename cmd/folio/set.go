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
	"github.com/foliomem/folio/internal/system/procmem"
)

type setFlags struct {
	gogc, memlimit string
	duration       time.Duration
	cgroup, name   string
	given          *pflag.FlagSet
}

const setLong = `Set GOGC and GOMEMLIMIT of Go programs that run, from outside: without a restart, and
without stopping them. Without a setting, show what is in effect and where it comes from.

What debug.SetGCPercent and debug.SetMemoryLimit set in the process is written there, by
the layout of its runtime (Go 1.21 to 1.27, stripped or not), after a check that it is what
it should be, and read back. It holds at once: the next GC cycle begins by the new goal.

With --for, and at ctrl-C, what was before is put back, by another process if this one is
killed. Without, it stays until the program ends. What the program sets itself meanwhile is
left to it. GOGC=off needs a limit.

It needs the right to ptrace the process: your own processes, or CAP_SYS_PTRACE; with Yama
(kernel.yama.ptrace_scope) 1 or more, CAP_SYS_PTRACE for all.

Exit codes: 0 set; 1 failed, and nothing was changed; 2 wrong use; 130 interrupted, and put
back.`

func newSet(a *app) *cobra.Command {
	f := &setFlags{}
	cmd := &cobra.Command{
		Use:   "set [flags] pid",
		Short: "Set GOGC and GOMEMLIMIT of a process that runs",
		Long:  setLong,
		Example: `  folio set 1234
  folio set --gogc 400 1234
  folio set --gogc off --memlimit 2GiB --for 10m 1234
  folio set --gogc 200 --name server
  folio set --cgroup /sys/fs/cgroup/system.slice/orders.service`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.cgroup == "" && f.name == "" {
				return onePID(true)(cmd, args)
			}
			if len(args) > 0 || f.cgroup != "" && f.name != "" {
				return misusef("set: a process, or --name, or --cgroup: one of them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.set(cmd.Context(), f, args) },
	}
	fs := cmd.Flags()
	f.given = fs
	fs.StringVar(&f.gogc, "gogc", "", "GOGC: `n` percent, or off")
	fs.StringVar(&f.memlimit, "memlimit", "", "GOMEMLIMIT: a `size` such as 512MiB, or off")
	fs.DurationVar(&f.duration, "for", 0, "put back what was before after this `duration`, or at ctrl-C (default: it stays)")
	fs.StringVar(&f.cgroup, "cgroup", "", "the Go programs in the cgroup of this `directory`, and below it")
	fs.StringVar(&f.name, "name", "", "the Go programs of this `name`")
	usage.Positive(fs, "for")
	cmd.AddCommand(&cobra.Command{
		Use: "guard", Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			return guard.Main[livegc.Undo]([]string{"set", "guard"}, args, a.stdin, a.stdout)
		},
	})
	return cmd
}

// change is what the flags ask for.
func (f *setFlags) change() (c livegc.Change, err error) {
	if f.given.Changed("gogc") {
		if c.Percent, err = livegc.ParseGOGC(f.gogc); err != nil {
			return c, fmt.Errorf("--gogc %w", err)
		}
	}
	if f.given.Changed("memlimit") {
		if c.Limit, err = livegc.ParseGOMEMLIMIT(f.memlimit); err != nil {
			return c, fmt.Errorf("--memlimit: %w", err)
		}
	}
	if f.duration > 0 && c.IsZero() {
		return c, fmt.Errorf("--for %v: nothing is to be set: give --gogc or --memlimit", f.duration)
	}
	return c, nil
}

func (a *app) set(ctx context.Context, f *setFlags, args []string) (err error) {
	c, err := f.change()
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
		return fmt.Errorf("set: %w", err)
	case c.IsZero():
		return a.showSettings(all)
	}
	for _, p := range all {
		if err := errors.Join(p.Check(c), p.Hold(), p.Plan(c)); err != nil {
			return fmt.Errorf("set: %w", err)
		}
	}
	say := func(text string) error { return a.stdout.Line("%s", text) }
	ctx, stop := interruptible(ctx)
	defer stop()
	if f.duration == 0 {
		return livegc.SetAll(all, nil, say)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	g, err := guard.Start[livegc.Undo]([]string{self, "set", "guard"})
	if err != nil {
		return fmt.Errorf("set: %w", err)
	}
	if err := livegc.SetAll(all, g, say); err != nil {
		return errors.Join(err, g.Close())
	}
	err = livegc.Hold(ctx, f.duration, all, g, say)
	if ctx.Err() != nil {
		err = errors.Join(err, exitCode(exitInterrupted))
	}
	return err
}

// showSettings says what is in effect.
func (a *app) showSettings(all []*livegc.Process) error {
	for _, p := range all {
		s, err := p.State()
		if err != nil {
			return fmt.Errorf("set: %w", err)
		}
		if err := a.stdout.Line("process %d (%s): GOGC %s, %s; GOMEMLIMIT %s, %s", p.PID, p.Name, livegc.GOGC(s.Percent), s.PercentBy,
			livegc.GOMEMLIMIT(s.Limit), s.LimitBy); err != nil {
			return err
		}
	}
	return nil
}
