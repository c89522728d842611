package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/system/procmem"
)

// attach samples a process that runs already.
func (a *app) attach(ctx context.Context, f *runFlags, args []string) (err error) {
	switch {
	case f.duration <= 0:
		return misusef("--duration %v: must be more than 0", f.duration)
	case f.sampleRate == 0:
		return misusef("--sample-rate 0: without samples there is nothing to see of a running process")
	}
	if err := f.attachedTo(f.pid, args, "duration", "sample-rate", "pprof"); err != nil {
		return misuse(err)
	}
	s := &session{}
	if err := s.begin(a, &f.programFlags, false, s.bench(&f.programFlags), asPprof(&f.programFlags)); err != nil {
		return err
	}
	s.about(result.KindAttach, commandOf(f.pid), fmt.Sprintf("/proc/%d/exe", f.pid))
	s.file.Program.Attached = f.pid
	defer func() { err = errors.Join(err, s.end(err)) }()

	ctx, stop := interruptible(ctx)
	defer stop()
	arm := trial.NewArm(trial.Setting{})
	sample, err := trial.Attach(ctx, s.program.FS, f.pid, f.sampleRate, f.duration, s.keeps())
	if err != nil {
		return err
	}
	arm.Samples = append(arm.Samples, sample)
	s.keep(arm)
	s.notes.Add(sample.Watched(f.pid))
	s.file.Complete = ctx.Err() == nil
	if err = a.showRun(s, arm, f.full); err != nil {
		s.file.Complete = false
	}
	return err
}

// attachedTo refuses what means nothing for a process that runs already: a command, and all flags
// but those of results and those named, by the beginnings of their names.
func (f *programFlags) attachedTo(pid int, args []string, flags ...string) (err error) {
	switch {
	case len(args) > 0:
		return fmt.Errorf("--attach %d: it takes no command: the process runs already", pid)
	case pid < 1:
		return fmt.Errorf("--attach %d: want the id of a process", pid)
	}
	flags = append(flags, "attach", "json", "html", "markdown", "bench", "redact", "full")
	f.given.Visit(func(flag *pflag.Flag) {
		if err == nil && !slices.ContainsFunc(flags, func(name string) bool { return strings.HasPrefix(flag.Name, name) }) {
			err = fmt.Errorf("--attach %d: --%s is for programs that folio starts", pid, flag.Name)
		}
	})
	return err
}

// commandOf returns the command line of a process, or its number if that is
// hidden.
func commandOf(pid int) []string {
	command, err := procmem.New("").Cmdline(pid)
	if err != nil || len(command) == 0 {
		return []string{fmt.Sprintf("process %d", pid)}
	}
	return command
}
