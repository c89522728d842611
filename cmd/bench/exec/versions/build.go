package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// releases are the last ones of each line, and those on either side of the
// first that can be patched.
var releases = []string{"1.21.5", "1.21.6", "1.21.13", "1.22.12", "1.23.12", "1.24.13", "1.25.14", "1.26.11", "1.27.4"}

// A mode is a way to build a program.
type mode struct {
	arch, name string
	cgo        bool
	flags      []string
	env        []string
}

// modes are the ways in which Go programs are shipped.
func modes() []mode {
	strip := []string{"-trimpath", "-ldflags=-s -w"}
	pie := []string{"-buildmode=pie"}
	static := []string{"-ldflags=-linkmode=external -extldflags=-static"}
	staticPIE := []string{"-buildmode=pie", "-ldflags=-linkmode=external -extldflags=-static-pie"}
	return []mode{
		{arch: "amd64", name: "static"},
		{arch: "amd64", name: "stripped", flags: strip},
		{arch: "amd64", name: "v3", env: []string{"GOAMD64=v3"}},
		{arch: "amd64", name: "pie", flags: pie},
		{arch: "amd64", name: "pie, stripped", flags: append([]string{"-buildmode=pie"}, strip...)},
		{arch: "amd64", name: "cgo", cgo: true},
		{arch: "amd64", name: "cgo, pie", cgo: true, flags: pie},
		{arch: "amd64", name: "cgo, static", cgo: true, flags: static},
		{arch: "amd64", name: "cgo, static pie", cgo: true, flags: staticPIE},
		{arch: "amd64", name: "race", cgo: true, flags: []string{"-race"}},
		{arch: "arm64", name: "static"},
		{arch: "arm64", name: "stripped", flags: strip},
		{arch: "arm64", name: "pie", flags: pie},
		{arch: "arm64", name: "cgo", cgo: true},
		{arch: "arm64", name: "cgo, pie", cgo: true, flags: pie},
		{arch: "arm64", name: "race", cgo: true, flags: []string{"-race"}},
	}
}

// stored tells whether the program is one that the tests of package codepatch
// see.
func (m mode) stored() bool {
	switch m.name {
	case "static", "pie", "cgo", "cgo, static pie", "race":
		return true
	}
	return false
}

// crossCC is the compiler for programs of arm64 with C in them.
const crossCC = "aarch64-linux-gnu-gcc"

// build builds the probe.
func build(ctx context.Context, release string, m mode, source, dir string) (string, error) {
	out := filepath.Join(dir, strings.NewReplacer(", ", "-", " ", "-").Replace(release+"-"+m.arch+"-"+m.name))
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"build", "-o", out}, m.flags...), ".")...)
	cmd.Dir = source
	cgo := "0"
	if m.cgo {
		cgo = "1"
	}
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=go"+release, "GOARCH="+m.arch, "CGO_ENABLED="+cgo)
	if m.cgo && m.arch == "arm64" {
		cmd.Env = append(cmd.Env, "CC="+crossCC)
	}
	cmd.Env = append(cmd.Env, m.env...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build with go%s, %s, %s: %w: %s", release, m.arch, m.name, err, bytes.TrimSpace(text))
	}
	return out, nil
}

// copySource puts the probe where no module is around it, with C or without.
func copySource(dir string, cgo bool) (string, error) {
	dir = filepath.Join(dir, fmt.Sprintf("source-%v", cgo))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, name := range []string{"main.go", "go.mod"} {
		data, err := os.ReadFile(filepath.Join("cmd/bench/exec/versions/testdata/probe", name))
		if err != nil {
			return "", fmt.Errorf("%w: run it in the root of the module", err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return "", err
		}
	}
	if cgo {
		return dir, os.WriteFile(filepath.Join(dir, "c.go"), []byte("package main\n\nimport \"C\"\n"), 0o644)
	}
	return dir, nil
}
