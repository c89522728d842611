package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/foliomem/folio/cmd/internal/base/guard"
	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/unit"
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
		text, err := trial.ParseGOGC(f.gogc)
		if err != nil || text == "" {
			return c, fmt.Errorf("--gogc %q: want off or a whole percentage such as 200", f.gogc)
		}
		percent := int32(-1)
		if text != trial.Off {
			n, _ := strconv.ParseInt(text, 10, 32) // it was checked
			percent = int32(n)
		}
		c.Percent = &percent
	}
	if f.given.Changed("memlimit") {
		limit := int64(math.MaxInt64)
		if f.memlimit != trial.Off {
			n, err := unit.ParseSize(f.memlimit)
			if err != nil {
				return c, fmt.Errorf("--memlimit: %w, or off", err)
			}
			limit = int64(min(n, math.MaxInt64))
		}
		c.Limit = &limit
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
	all, err := f.open(args)
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
		if err := errors.Join(p.Check(c)); err != nil {
			return fmt.Errorf("set: %w", err)
		}
	}
	for _, p := range all {
		if err := errors.Join(p.Hold(), p.Plan(c)); err != nil {
			return fmt.Errorf("set: %w", err)
		}
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	if f.duration == 0 {
		return a.apply(all, nil)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	g, err := guard.Start[livegc.Undo]([]string{self, "set", "guard"})
	if err != nil {
		return fmt.Errorf("set: %w", err)
	}
	if err := a.apply(all, g); err != nil {
		return errors.Join(err, g.Close())
	}
	return a.hold(ctx, f.duration, all, g)
}

// open opens the processes that are meant.
func (f *setFlags) open(args []string) (all []*livegc.Process, err error) {
	proc := procmem.New("")
	if len(args) == 1 {
		pid, _ := strconv.Atoi(args[0]) // it was checked
		p, err := livegc.Open(proc, pid)
		if err != nil {
			return nil, err
		}
		return []*livegc.Process{p}, nil
	}
	var pids []int
	if f.cgroup != "" {
		pids, err = inCgroup(f.cgroup)
	} else {
		pids, err = proc.PIDs()
	}
	if err != nil {
		return nil, err
	}
	var denied error
	for _, pid := range pids {
		if f.name != "" && !named(proc, pid, f.name) || pid == os.Getpid() {
			continue
		}
		switch p, err := livegc.Open(proc, pid); {
		case err == nil:
			all = append(all, p)
		case errors.Is(err, executable.ErrNotGo), errors.Is(err, os.ErrNotExist):
		default:
			denied = errors.Join(denied, err)
		}
	}
	switch {
	case denied != nil:
		return all, denied
	case len(all) == 0 && f.cgroup != "":
		return nil, fmt.Errorf("no Go program is in the cgroup %s", f.cgroup)
	case len(all) == 0:
		return nil, fmt.Errorf("no Go program is called %s", f.name)
	}
	return all, nil
}

// inCgroup lists the processes of a cgroup, and of those below it.
func inCgroup(dir string) (pids []int, err error) {
	if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err != nil {
		return nil, fmt.Errorf("--cgroup %s: not the directory of a cgroup: no cgroup.procs is in it", dir)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != "cgroup.procs" {
			return err
		}
		data, err := os.ReadFile(path)
		for _, word := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
		return err
	})
	slices.Sort(pids)
	return slices.Compact(pids), err
}

// named says whether a process is called so, by its command line.
func named(proc procmem.FS, pid int, name string) bool {
	command, err := proc.Cmdline(pid)
	return err == nil && len(command) > 0 && filepath.Base(command[0]) == name
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

// apply sets all, or none.
func (a *app) apply(all []*livegc.Process, g *guard.Guard[livegc.Undo]) error {
	for i, p := range all {
		var err error
		if g != nil {
			err = g.Keep(p.Undo)
		}
		if err == nil {
			err = p.Apply()
		}
		if err != nil {
			for _, before := range all[:i+1] {
				err = errors.Join(err, putBack(before, g))
			}
			return fmt.Errorf("set: %w", err)
		}
	}
	for _, p := range all {
		b, n := p.Undo.Before, p.Undo.After
		if err := a.stdout.Line("process %d (%s): GOGC %s -> %s, GOMEMLIMIT %s -> %s", p.PID, p.Name, livegc.GOGC(b.Percent), livegc.GOGC(n.Percent),
			livegc.GOMEMLIMIT(b.Limit), livegc.GOMEMLIMIT(n.Limit)); err != nil {
			return err
		}
	}
	return nil
}

// putBack takes back what was set in a process. The guard need not know that it is done: to
// do it twice does no harm.
func putBack(p *livegc.Process, g *guard.Guard[livegc.Undo]) error {
	if err := p.Undo.Undo(); err != nil {
		return err
	}
	if g != nil {
		_ = g.Drop(p.Undo)
	}
	return nil
}

// hold keeps the settings for a while, and puts back what was before. What a program has set
// itself meanwhile is left to it.
func (a *app) hold(ctx context.Context, d time.Duration, all []*livegc.Process, g *guard.Guard[livegc.Undo]) (err error) {
	end := time.After(d)
	look := time.NewTicker(time.Second)
	defer look.Stop()
	left := slices.Clone(all)
	for waiting := true; waiting && len(left) > 0; {
		select {
		case <-ctx.Done():
			waiting = false
		case <-end:
			waiting = false
		case <-look.C:
			left = slices.DeleteFunc(left, func(p *livegc.Process) bool {
				now, kept, lost := p.Kept()
				switch {
				case lost != nil:
					err = errors.Join(err, a.stdout.Line("process %d (%s) has ended", p.PID, p.Name))
				case !kept:
					err = errors.Join(err, a.stdout.Line("process %d (%s): the program has set GOGC %s, GOMEMLIMIT %s itself: it is left with that", p.PID, p.Name,
						livegc.GOGC(now.Percent), livegc.GOMEMLIMIT(now.Limit)))
				}
				return lost != nil || !kept
			})
		}
	}
	for _, p := range all {
		if failed := putBack(p, g); failed != nil {
			err = errors.Join(err, fmt.Errorf("set: put back what was before: %w", failed))
		} else if slices.Contains(left, p) {
			err = errors.Join(err, a.stdout.Line("process %d (%s): GOGC %s, GOMEMLIMIT %s again", p.PID, p.Name,
				livegc.GOGC(p.Undo.Before.Percent), livegc.GOMEMLIMIT(p.Undo.Before.Limit)))
		}
	}
	_ = g.Close() // if it was killed, all is done without it
	if ctx.Err() != nil {
		err = errors.Join(err, exitCode(exitInterrupted))
	}
	return err
}
