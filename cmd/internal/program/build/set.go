package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/toolchain"
	"github.com/foliomem/folio/cmd/internal/program/variant"
	"github.com/foliomem/folio/internal/base/unit"
)

// A Set are the builds of a plan.
type Set struct {
	*Plan
	builder Builder
	base    *Program // the default's
	made    map[variant.Build]*made
	took    time.Duration
}

// A made is a build that was tried.
type made struct {
	program *Program // nil where it failed
	took    time.Duration
	failed  string // why it could not be built
}

// NewSet returns the builds of a plan. The default is built already; the others are gone with
// it.
func NewSet(p *Plan, b Builder, base *Program) *Set {
	return &Set{Plan: p, builder: b, base: base, made: map[variant.Build]*made{{}: {program: base}}}
}

// Program returns a build; nil where it failed, or was not tried.
func (v *Set) Program(b variant.Build) *Program {
	if m := v.made[b]; m != nil {
		return m.program
	}
	return nil
}

// Took is how long a build took.
func (v *Set) Took(b variant.Build) time.Duration { return v.made[b].took }

// All is how long everything took; nil where nothing was built besides the default.
func (v *Set) All() *time.Duration {
	if len(v.made) < 2 {
		return nil
	}
	return new(v.downloaded + v.took)
}

// MakeAll builds all steps, after sample where a profile has to be made. What cannot be
// built is an arm that failed.
func (v *Set) MakeAll(ctx context.Context, sample func(context.Context) error) error {
	began := time.Now()
	progress := v.builder.Progress
	defer progress("")
	for i, b := range v.Steps {
		text := fmt.Sprintf("build %d of %d: %s", i+1, len(v.Steps), b)
		if done := time.Since(began); i > 0 {
			text += fmt.Sprintf(", about %s left", unit.About(done/time.Duration(i)*time.Duration(len(v.Steps)-i)))
		}
		if b.PGO == variant.PGOAuto {
			progress("")
			if err := sample(ctx); err != nil {
				return err
			}
		}
		progress(text)
		if _, err := v.Make(ctx, b); err != nil {
			return err
		}
	}
	var failed []string
	for _, b := range v.Steps {
		if m := v.made[b]; m.failed != "" {
			failed = append(failed, b.String()+": "+m.failed)
		}
	}
	if len(failed) > 0 && len(failed) == len(v.Steps) {
		return fmt.Errorf("none of the builds could be made: %s", failed[0])
	}
	for _, text := range failed {
		progress("")
		_ = v.builder.Stderr.Line("folio: %s", text)
	}
	return nil
}

// Make builds the program, unless it was.
func (v *Set) Make(ctx context.Context, b variant.Build) (failed string, err error) {
	m := v.made[b]
	if m == nil {
		m = &made{}
		began := time.Now()
		dir := filepath.Join(v.base.scratch.Path, fmt.Sprintf("%02d", len(v.made)))
		var said string
		m.program, said, err = v.builder.compile(ctx, dir, v.Source, v.Recipe(b))
		m.took = time.Since(began)
		v.took += m.took
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			why, _ := whyNot(said, err)
			m.failed = "build failed: " + why
			err = os.RemoveAll(dir)
		} else {
			m.program.Dir = v.base.Dir
		}
		v.made[b] = m
		if err != nil {
			return "", err
		}
	}
	return m.failed, nil
}

// fullDisk is what to do about one.
const fullDisk = "the disk is full: remove something ('folio cache clean'), or set XDG_CACHE_HOME and GOTMPDIR to another disk"

// whyNot says in a line why a build failed: what the compiler said first, or, where the
// cause is known not to be the program's, that and what to do.
func whyNot(said string, err error) (line string, known bool) {
	switch {
	case toolchain.IsFull(said), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fullDisk, true
	case strings.Contains(said, "C compiler") && strings.Contains(said, "not found"):
		return "it uses cgo, and the C compiler is not there: install one (gcc), or set CGO_ENABLED=0", true
	}
	if line = toolchain.FirstLine(said); line == "" {
		line = err.Error()
	}
	if more := newerGo(errors.New(line)).Error(); more != line {
		return more, true
	}
	const most = 200
	if r := []rune(line); len(r) > most {
		line = string(r[:most]) + "..."
	}
	return line, false
}

// newerGo adds what to do to an error of the go command by which a module needs a newer Go
// than there is.
func newerGo(err error) error {
	switch text := err.Error(); {
	case strings.Contains(text, " requires go >= ") && strings.Contains(text, "GOTOOLCHAIN=local"):
		return fmt.Errorf("%w: install that Go, or have the go command download it (GOTOOLCHAIN=auto)", err)
	case strings.Contains(text, " requires go >= "):
		return fmt.Errorf("%w: install that Go", err)
	case strings.Contains(text, "toolchain not available"):
		return fmt.Errorf("%w: go.mod or GOTOOLCHAIN asks for that Go: install it, or name one that there is", err)
	}
	return err
}
