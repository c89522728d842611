package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/lab/workload"
	"github.com/foliomem/folio/cmd/internal/program/overlay"
	"github.com/foliomem/folio/cmd/internal/trial"
)

// How long building a program may take. A patched runtime has all of the standard
// library compiled anew the first time, and modules may have to be downloaded.
const (
	workloadTime      = 15 * time.Minute
	workloadTimeQuick = 5 * time.Minute
)

// A workloadBuild is one way to build a program of package workload: Task.How of
// the arms names it. It is stock, or patches and withAuto, with + between them.
type workloadBuild struct {
	dir     string // of the source, and of the program
	env     []string
	patches []string
	auto    bool
	source  *workload.Source
}

func newWorkloadBuild(how, dir string) *workloadBuild {
	b := &workloadBuild{dir: filepath.Join(dir, how)}
	for part := range strings.SplitSeq(how, "+") {
		switch part {
		case stock:
		case withAuto:
			b.auto = true
		default:
			b.patches = append(b.patches, part)
		}
	}
	// The user's own toolchain and module proxy, but none of the flags and
	// workspaces that are meant for his own module. All arms must be built by the
	// same toolchain, so go may not choose another for one of them.
	b.env = []string{"GOFLAGS=", "GOWORK=off", "GO111MODULE=on", "CGO_ENABLED=0", "GOOS=" + runtime.GOOS,
		"GOARCH=" + runtime.GOARCH, "GOTOOLCHAIN=" + fixedToolchain(os.Getenv("GOTOOLCHAIN"))}
	return b
}

// fixedToolchain returns the GOTOOLCHAIN with which go does not choose by go.mod.
func fixedToolchain(user string) string {
	name, _, _ := strings.Cut(user, "+")
	if name == "" || name == "auto" || name == "path" {
		return "local"
	}
	return name
}

// toolchain is what the program is built with.
func (b *workloadBuild) toolchain(ctx context.Context) (*overlay.Toolchain, error) {
	return overlay.FindToolchain(ctx, "go", b.dir, slices.Concat(os.Environ(), b.env))
}

// temp is where the go command works: it leaves its directories when it is killed.
func (b *workloadBuild) temp() string { return filepath.Join(b.dir, "tmp") }

// program is where the built program is.
func (b *workloadBuild) program() string { return filepath.Join(b.dir, "program.exe") }

// buildWorkload builds the program of an arm below a directory, unless another arm
// has it already. Write puts its source there. Without the arm that the others are
// compared with the experiment has no answer.
func buildWorkload(ctx context.Context, a *Arm, dir string, quick bool, write func(*workloadBuild) error) error {
	b := newWorkloadBuild(a.Task.How, dir)
	a.Task.Program = b.program()
	if _, err := os.Stat(a.Task.Program); err == nil {
		return nil
	}
	err := b.build(ctx, quick, write)
	if err != nil && a.Name == stock {
		a.Missing = true
	}
	return err
}

func (b *workloadBuild) build(ctx context.Context, quick bool, write func(*workloadBuild) error) error {
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("it needs the go command, which is not on PATH")
	}
	if err := os.MkdirAll(b.temp(), 0o777); err != nil {
		return err
	}
	if err := write(b); err != nil {
		return err
	}
	err := b.compile(ctx, quick)
	if err == nil {
		if _, err = os.Stat(b.program()); err != nil {
			err = fmt.Errorf("go build made nothing: %w", err)
		}
	}
	return err
}

// compile runs the go command.
func (b *workloadBuild) compile(ctx context.Context, quick bool) error {
	if len(b.patches) == 0 {
		return runGo(ctx, b.dir, append(slices.Clone(b.env), "GOTMPDIR="+b.temp()), quick,
			slices.Concat([]string{"build"}, b.source.Flags, []string{"-o", b.program(), "."}))
	}
	within, cancel := context.WithTimeout(ctx, limit(quick))
	defer cancel()
	_, err := overlay.Build(within, overlay.BuildOptions{
		Dir: b.dir, Env: slices.Concat(os.Environ(), b.env), Flags: b.source.Flags, Package: ".", Out: b.program(), Patches: b.patches,
		Temp: func(string) (string, error) { return b.temp(), nil },
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() == nil && within.Err() != nil:
		return overdue(quick)
	}
	text, ran := strings.CutPrefix(err.Error(), "go build .: ")
	said := head{text: []byte(text)}
	if !ran { // a patch was refused
		return errors.New(said.line())
	}
	return fmt.Errorf("go build: %s", said.line())
}

// limit is how long one build may take.
func limit(quick bool) time.Duration {
	if quick {
		return workloadTimeQuick
	}
	return workloadTime
}

func overdue(quick bool) error {
	return fmt.Errorf("go build took more than %v: run the lab again, what was built is kept", limit(quick))
}

// runGo runs the go command. What fails is told by what go says first: what follows
// is often no more than "too many errors".
func runGo(ctx context.Context, dir string, env []string, quick bool, args []string) error {
	var said head
	p := &trial.Program{Command: append([]string{"go"}, args...), Dir: dir, Stderr: &said}
	s, err := p.Run(ctx, trial.Setting{Env: env}, trial.Request{Timeout: limit(quick)})
	switch {
	case err != nil:
		return fmt.Errorf("go build: %w", err)
	case s.TimedOut:
		return overdue(quick)
	case !s.OK():
		why := said.line()
		if why == "" {
			why = s.Failure
		}
		return fmt.Errorf("go build: %s", why)
	}
	return nil
}

// head keeps the beginning of what was written to it.
type head struct{ text []byte }

func (h *head) Write(p []byte) (int, error) {
	const most = 16 << 10
	if room := most - len(h.text); room > 0 {
		h.text = append(h.text, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

// line is the first line that says what went wrong: go tells what it downloads,
// too, and in a line that begins with # of which package it speaks.
func (h *head) line() string {
	for line := range strings.Lines(string(h.text)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "go: downloading ") &&
			!strings.HasPrefix(line, "go: finding ") {
			if r := []rune(line); len(r) > 300 {
				line = string(r[:300]) + "..."
			}
			return line
		}
	}
	return ""
}
