package programs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/toolchain"
	"github.com/foliomem/folio/cmd/internal/program/variant"
)

// A Builder builds a package of a module in the ways that variants name, with nothing of
// Folio in it.
type Builder struct {
	Module  string // the directory of the module
	Package string
	Dir     string // where programs and the build cache go
	Name    string // of the program, in Dir
	Profile string // the file of variant.PGOAuto
}

// A BuiltProgram is a program, and what building it took.
type BuiltProgram struct {
	File string
	CPU  float64 // seconds of CPU time of the go command, once
}

// Build builds the program, unless it is there.
func (b *Builder) Build(ctx context.Context, v variant.Build) (*BuiltProgram, error) {
	name := b.Name
	if v.PGO != "" && v.PGO != variant.PGOAuto {
		return nil, fmt.Errorf("pgo=%s: want %s", v.PGO, variant.PGOAuto)
	}
	if !v.IsZero() {
		name += "-" + strings.ReplaceAll(v.String(), " ", "-")
	}
	out := &BuiltProgram{File: filepath.Join(b.Dir, "bin", name)}
	record := out.File + ".json"
	if data, err := os.ReadFile(record); err == nil {
		return out, json.Unmarshal(data, out)
	}
	goCommand, env, err := b.toolchain(ctx, v)
	if err != nil {
		return nil, err
	}
	args := []string{"build", "-trimpath", "-o", out.File}
	if v.PGO != "" {
		args = append(args, "-pgo="+b.Profile)
	}
	if v.Experiments != "" {
		env = append(env, "GOEXPERIMENT="+v.Experiments)
	}
	if v.AMD64 != "" {
		env = append(env, "GOAMD64="+v.AMD64)
	}
	cmd := exec.CommandContext(ctx, goCommand, append(args, b.Package)...)
	cmd.Dir, cmd.Env = b.Module, append(append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOCACHE="+filepath.Join(b.Dir, "gocache")), env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("build %s: %w: %s", name, err, said.Bytes())
	}
	out.CPU = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	data, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	return out, os.WriteFile(record, data, 0o644)
}

// toolchain returns the go command of a variant, and the environment that has it.
func (b *Builder) toolchain(ctx context.Context, v variant.Build) (goCommand string, env []string, err error) {
	if v.Patches != "" {
		return "", nil, errors.New("patches are not built here")
	}
	if v.Go == "" {
		return "go", nil, nil
	}
	f, err := toolchain.NewFinder(ctx)
	if err != nil {
		return "", nil, err
	}
	root := f.Have(v.Go)
	if root == "" {
		if root, err = f.Download(ctx, v.Go); err != nil {
			return "", nil, err
		}
	}
	return filepath.Join(root, "bin", "go"), []string{"GOROOT=" + root, "GOTOOLCHAIN=local"}, nil
}
