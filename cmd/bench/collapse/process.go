package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/internal/base/unit"
)

// process is a target that runs.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   io.Reader
	lines *bufio.Scanner
}

// start starts a target and waits until it is ready.
func (b *bench) start(ctx context.Context, args ...string) (*process, error) {
	t := &process{cmd: exec.CommandContext(ctx, b.target, args...)}
	t.cmd.Stderr = os.Stderr
	var err error
	if t.in, err = t.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if t.out, err = t.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	t.lines = bufio.NewScanner(t.out)
	if !t.lines.Scan() || t.lines.Text() != "ready" {
		return nil, errors.Join(fmt.Errorf("the target said %q", t.lines.Text()), t.end())
	}
	return t, nil
}

// end ends it: its input does.
func (t *process) end() error {
	t.in.Close()
	_, _ = io.Copy(io.Discard, t.out)
	return t.cmd.Wait()
}

// inspect measures what a look at a process takes, in CPU time.
func (b *bench) inspect(ctx context.Context, size string, w io.Writer) error {
	bytes, err := unit.ParseSize(size)
	if err != nil {
		return err
	}
	var took []float64
	for range b.rounds {
		err := b.machine.Trial(func() (err error) {
			t, err := b.start(ctx, "-touch", strconv.FormatUint(bytes, 10))
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, t.end()) }()
			begin := processorTime()
			p, err := inspect.New().Process(t.cmd.Process.Pid, inspect.Options{Bloat: true})
			if err != nil {
				return err
			}
			took = append(took, (processorTime() - begin).Seconds())
			if p.Windows == nil || p.Windows.Resident < bytes/2 {
				return fmt.Errorf("it was not seen: %v", p.Notes)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	s := stat.Summarize(took)
	verdict := "met"
	if s.Median >= 0.5 {
		verdict = "not met"
	}
	table.New(w, "process", "CPU time of folio inspect", "n", "at most 0.5 s").Rowf("%s on base pages | %s %s | %d | %s", size, unit.Seconds(s.Median), s.SpreadText(), s.N, verdict)
	return nil
}
