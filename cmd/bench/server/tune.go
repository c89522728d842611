package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/input"
	"github.com/foliomem/folio/internal/base/unit"
)

// tune has folio tune search for settings, as a user would.
func (s *subject) tune(ctx context.Context) (*Tuned, error) {
	file := filepath.Join(s.dir.Path, "tune.json")
	args := []string{s.folio, "tune", "--budget", s.tuneBudget.String(), "--seed", "1", "--sample-rate", "0",
		"--ready", s.ready(s.addr), "--metric", s.metric, "--json", file,
		"--rate", strconv.FormatFloat(s.rate, 'g', -1, 64), "--load-body", s.body,
		"--load-duration", s.tuneTimes.duration.String(), "--load-warmup", s.tuneTimes.warmup.String()}
	for _, u := range s.urls(s.addr) {
		args = append(args, "--target", u)
	}
	if s.grpc != "" {
		args = append(args, "--load-grpc", s.grpc)
	}
	args = append(args, s.limits(1).Flags()...)
	args = append(args, "--gomaxprocs", "2") // it cannot know that the service pins itself to one CPU
	for _, kv := range plain {
		args = append(args, "--env", kv)
	}
	args = append(append(args, "--"), s.command()...)
	out := &Tuned{}
	for i, a := range args {
		if i > 0 {
			out.Command += " "
		}
		out.Command += trial.Quote(a)
	}
	s.say("%s: folio tune, for %s at most", s.name, unit.Span(s.tuneBudget))
	err := s.machine.Trial(func() error { return s.runTune(ctx, args) })
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		out.Error = err.Error()
		s.say("%s: no answer: %v", s.name, err)
		return out, nil
	}
	data, err := input.ReadFile(file, input.MaxResult)
	if err != nil {
		return nil, err
	}
	r, err := result.Read(file, data)
	if err != nil {
		return nil, err
	}
	out.answer(r.Program())
	s.say("%s: folio tune: %s (%s)", s.name, out.Arm, out.State)
	return out, nil
}

// runTune runs the command. A signal is passed on, and it ends what it started.
func (s *subject) runTune(ctx context.Context, args []string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = environ(os.Environ())
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	// The signal comes when the thread ends that forked.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	dieWithUs(cmd)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	if text := strings.TrimSpace(stderr.String()); err != nil && text != "" {
		lines := strings.Split(text, "\n")
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(lines[len(lines)-1]))
	}
	return err
}

// answer takes the first recommendation, which is the one for the metric.
func (t *Tuned) answer(f *result.File) {
	t.Seconds = f.ElapsedSeconds
	if f.Answer != nil {
		t.State = string(f.Answer.State)
	}
	if len(f.Recommendations) == 0 {
		t.Error = "it recommends nothing: " + f.Ended
		return
	}
	r := f.Recommendations[0]
	t.Arm, t.Setting = r.Arm, &r.Setting
}

// setting is that of the answer; nil for none.
func (t *Tuned) setting() *trial.Setting {
	if t == nil || t.Setting == nil {
		return nil
	}
	return new(t.Setting.Trial())
}
