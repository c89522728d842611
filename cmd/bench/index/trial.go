package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/bench/internal/touch"
	"github.com/foliomem/folio/cmd/internal/program/overlay"
	"github.com/foliomem/folio/cmd/internal/trial"
)

// result is what one process measured, by the keys that it prints; killed is a process that
// the OOM killer ended, and measured nothing.
type result struct {
	figures map[string]float64
	killed  bool
}

const most = 5 * time.Minute // for one trial

func (b *bench) trial(ctx context.Context, a arm) (r result, err error) {
	err = b.machine.Trial(func() error {
		if err := touch.Memory(ctx, max(b.limit, 2<<30)); err != nil {
			return err
		}
		r, err = b.alone(ctx, a)
		return err
	})
	return r, err
}

func (b *bench) alone(ctx context.Context, a arm) (result, error) {
	env := append([]string{"GOGC=", "GOMEMLIMIT=", "GODEBUG=", "FOLIO=", overlay.HugePagesVariable + "="}, a.env...)
	if b.verbose && a.build == auto {
		said := "FOLIO=log=on"
		for _, v := range a.env {
			if strings.HasPrefix(v, "FOLIO=") {
				said = v + ",log=on"
			}
		}
		env = append(env, said)
	}
	var stdout, stderr bytes.Buffer
	p := &trial.Program{
		Command: []string{b.programs[a.build], "index", "0", b.list}, FS: b.fs, Stdout: &stdout, Stderr: &stderr,
		Cgroups: b.cgroups,
	}
	s, err := p.Run(ctx, trial.Setting{Env: env}, trial.Request{Timeout: most})
	if b.verbose {
		fmt.Fprintf(os.Stderr, "%s: %s%s", a.name, stdout.Bytes(), stderr.Bytes())
	}
	switch {
	case err != nil:
		return result{}, err
	case s.Counts != nil && s.Counts.OOMKills != nil && *s.Counts.OOMKills > 0:
		return result{killed: true}, nil
	case !s.OK():
		return result{}, fmt.Errorf("%s: %s", s.Failure, stderr.Bytes())
	}
	r := result{figures: map[string]float64{}}
	words := strings.Fields(stdout.String())
	for i := 2; i+1 < len(words); i += 2 {
		v, err := strconv.ParseFloat(words[i], 64)
		if err != nil {
			return result{}, fmt.Errorf("read %q: %w", stdout.Bytes(), err)
		}
		r.figures[words[i+1]] = v
	}
	if len(r.figures) == 0 {
		return result{}, errors.New("the program printed no figures")
	}
	if s.Counts != nil && s.Counts.CgroupPeak != nil {
		r.figures["cgroup_peak_bytes"] = float64(*s.Counts.CgroupPeak)
	}
	return r, nil
}
