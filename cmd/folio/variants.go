package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/process/host"
	"github.com/foliomem/folio/internal/program/toolchain"
	"github.com/foliomem/folio/internal/program/variant"
	"github.com/foliomem/folio/internal/result"
	"github.com/foliomem/folio/internal/trial"
	"github.com/foliomem/folio/internal/trial/tune"
)

// variants are the builds of a search. They run trials: of each setting the program that
// was built for it.
type variants struct {
	*plan
	a       *app
	session *session // whose program is the default's
	made    map[variant.Build]*made
	took    time.Duration
}

// A made is a build that was tried.
type made struct {
	built  *built
	took   time.Duration
	failed string // why it could not be built
	about  *result.ArmBuild
}

// newVariants returns the builds of a plan. The default is built already.
func (a *app) newVariants(p *plan, s *session) *variants {
	v := &variants{plan: p, a: a, session: s, made: make(map[variant.Build]*made)}
	v.made[variant.Build{}] = &made{built: s.built}
	s.notes = append(s.notes, p.notes...)
	return v
}

// makeAll builds all steps. What cannot be built is an arm that failed.
func (v *variants) makeAll(ctx context.Context, f *programFlags) error {
	began := time.Now()
	progress := newProgress(v.a.stderr)
	defer progress.clear()
	for i, b := range v.steps {
		text := fmt.Sprintf("build %d of %d: %s", i+1, len(v.steps), b)
		if done := time.Since(began); i > 0 {
			text += fmt.Sprintf(", about %s left", unit.About(done/time.Duration(i)*time.Duration(len(v.steps)-i)))
		}
		if b.PGO == variant.PGOAuto {
			progress.clear()
			if err := v.sample(ctx, f); err != nil {
				return err
			}
		}
		progress.line(text)
		if _, err := v.make(ctx, b); err != nil {
			return err
		}
	}
	var failed []string
	for _, b := range v.steps {
		if m := v.made[b]; m.failed != "" {
			failed = append(failed, b.String()+": "+m.failed)
		}
	}
	if len(failed) > 0 && len(failed) == len(v.steps) {
		return fmt.Errorf("none of the builds could be made: %s", failed[0])
	}
	for _, text := range failed {
		progress.clear()
		_ = v.a.stderr.Line("folio: %s", text)
	}
	return nil
}

// make builds the program, unless it was.
func (v *variants) make(ctx context.Context, b variant.Build) (failed string, err error) {
	m := v.made[b]
	if m == nil {
		m = &made{}
		began := time.Now()
		dir := filepath.Join(v.session.built.scratch.Path, fmt.Sprintf("%02d", len(v.made)))
		var said string
		m.built, said, err = v.a.compile(ctx, dir, v.src, v.recipe(b))
		m.took = time.Since(began)
		v.took += m.took
		if err == errNothing {
			return "", err
		}
		if err != nil {
			why, _ := whyNot(said, err)
			m.failed = "build failed: " + why
			err = os.RemoveAll(dir)
		} else {
			m.built.dir = v.session.built.dir
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

// Run runs the program that was built for a setting.
func (v *variants) Run(ctx context.Context, set trial.Setting, req trial.Request) (*trial.Sample, error) {
	if set.Build.IsZero() {
		return v.session.program.Run(ctx, set, req)
	}
	b := v.made[set.Build].built
	return v.session.program.Of(append([]string{b.file}, v.session.program.Command[1:]...), b.patched()).Run(ctx, set, req)
}

// options are what the search needs of the builds.
func (v *variants) options() tune.Builds {
	out := tune.Builds{Steps: v.steps, Make: func(ctx context.Context, b variant.Build) (string, error) {
		failed, err := v.make(ctx, b)
		if err == errNothing {
			err = ctx.Err()
		}
		return failed, err
	}, Places: tune.Places{Package: quoted(v.src.pkg), Profile: v.profiles[variant.PGOAuto], Test: v.src.test, Experiments: v.base.Experiment}}
	if v.chooser != nil {
		out.Places.Toolchain = v.chooser.Line
	}
	if !v.src.test && !v.foreign {
		out.Places.Main = v.mainDir
		if wd, err := os.Getwd(); err == nil {
			if rel, err := filepath.Rel(wd, v.mainDir); err == nil && filepath.IsLocal(rel) {
				out.Places.Main = rel
			}
		}
	}
	return out
}

// quoted quotes each word of what --build takes.
func quoted(pkg string) string {
	words := strings.Fields(pkg)
	for i, w := range words {
		words[i] = trial.Quote(w)
	}
	return strings.Join(words, " ")
}

// record puts into the result what identifies each build.
func (v *variants) record(f *result.File) {
	for i := range f.Arms {
		a := &f.Arms[i]
		a.Build = v.about(a.Setting.Trial().Build)
	}
	if file := v.profiles[variant.PGOAuto]; file != "" && f.Program.Build != nil {
		f.Program.Build.Profile = file
	}
	if len(v.made) > 1 {
		f.BuildSeconds = new((v.downloaded + v.took).Seconds())
	}
}

// about returns what identifies a build; nil where it failed. It is read from the program
// once: between runs nothing should take time.
func (v *variants) about(b variant.Build) *result.ArmBuild {
	m := v.made[b]
	switch {
	case m == nil, m.built == nil:
		return nil
	case m.about != nil:
		return m.about
	}
	out := &result.ArmBuild{Patches: m.built.patches(), AMD64: b.AMD64}
	if !b.IsZero() {
		out.Seconds = new(m.took.Seconds())
	}
	out.GoVersion, _, _ = host.Program(m.built.file)
	_, out.BuildID = host.Build(m.built.file)
	for _, kv := range v.recipe(b).set {
		if value, ok := strings.CutPrefix(kv, "GOEXPERIMENT="); ok {
			out.Experiments = value
		}
	}
	if hash := v.hashes[b.PGO]; hash != "" {
		out.PGO = &hash
	}
	if info, err := os.Stat(m.built.file); err == nil {
		out.Bytes = uint64(info.Size())
	}
	m.about = out
	return out
}
