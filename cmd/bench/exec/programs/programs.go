//go:build linux

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	measured "github.com/foliomem/folio/cmd/bench/internal/programs"
	"github.com/foliomem/folio/cmd/internal/lab/workload"
)

// A program does some real work, alone and offline, and ends.
type program struct {
	name string
	// prepare builds it below dir, with its input, and returns its command line.
	// Work that it leaves goes to dir/work, which is empty for each run.
	prepare func(ctx context.Context, dir string) ([]string, error)
	tree    bool // what it starts does the work
}

var programs = []program{
	{name: "compile go/types", prepare: compile},
	{name: "link folio", prepare: link},
	{name: "staticcheck go/types", prepare: func(ctx context.Context, dir string) ([]string, error) {
		bin, err := measured.Install(ctx, dir, measured.Staticcheck, "")
		return []string{bin, "-checks", "all", "-fail", "none", "go/types"}, err
	}},
	{name: "esbuild, 26 MB", prepare: esbuild},
	{name: "gopls check", prepare: func(ctx context.Context, dir string) ([]string, error) {
		bin, err := measured.Install(ctx, dir, measured.Gopls, measured.GoplsNeeds)
		return []string{bin, "check", "cmd/internal/trial/setting.go", "cmd/folio/run.go"}, err
	}},
	{name: "prometheus tsdb", prepare: func(ctx context.Context, dir string) ([]string, error) {
		bin, err := module(ctx, dir, "tsdb")
		return []string{bin, filepath.Join(dir, "work"), "50000", "100"}, err
	}},
	{name: "bleve", prepare: bleve},
	{name: "badger", prepare: func(ctx context.Context, dir string) ([]string, error) {
		bin, err := module(ctx, dir, "badger")
		return []string{bin, filepath.Join(dir, "work"), "1000000"}, err
	}},
}

// goCache is the user's: what programs ask the go command for is there after their
// first run.
var goCache = output(exec.Command("go", "env", "GOCACHE"))

func output(cmd *exec.Cmd) string {
	out, _ := cmd.Output()
	return strings.TrimSpace(string(out))
}

// module builds a program of testdata, once.
func module(ctx context.Context, dir, name string) (string, error) {
	bin, source := filepath.Join(dir, "bin", name), filepath.Join(dir, "src", name)
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	if err := measured.Source(name, source); err != nil {
		return "", err
	}
	_, err := measured.Output(ctx, source, nil, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, ".")
	return bin, err
}

// tool is a program of the toolchain, as it was distributed.
func tool(ctx context.Context, dir, name string) (string, error) {
	out, err := measured.Output(ctx, dir, nil, "go", "tool", "-n", name)
	return strings.TrimSpace(string(out)), err
}

// exports writes the list of export data that compiler and linker read.
func exports(ctx context.Context, dir, file string, args ...string) error {
	format := "{{if .Export}}packagefile {{.ImportPath}}={{.Export}}{{end}}"
	out, err := measured.Output(ctx, "", nil, append([]string{"go", "list", "-export", "-deps", "-f", format}, args...)...)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, file), out, 0o644)
}

func compile(ctx context.Context, dir string) ([]string, error) {
	compiler, err := tool(ctx, dir, "compile")
	if err != nil {
		return nil, err
	}
	if err := exports(ctx, dir, "types.cfg", "go/types"); err != nil {
		return nil, err
	}
	out, err := measured.Output(ctx, "", nil, "go", "list", "-f", `{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}} {{end}}`, "go/types")
	args := []string{compiler, "-p", "go/types", "-complete", "-std", "-importcfg", filepath.Join(dir, "types.cfg"),
		"-o", filepath.Join(dir, "work", "types.a")}
	return append(args, strings.Fields(string(out))...), err
}

func link(ctx context.Context, dir string) ([]string, error) {
	linker, err := tool(ctx, dir, "link")
	if err != nil {
		return nil, err
	}
	if err := exports(ctx, dir, "link.cfg", "./cmd/folio"); err != nil {
		return nil, err
	}
	out, err := measured.Output(ctx, "", nil, "go", "list", "-export", "-f", "{{.Export}}", "./cmd/folio")
	return []string{linker, "-importcfg", filepath.Join(dir, "link.cfg"), "-o", filepath.Join(dir, "work", "folio"),
		strings.TrimSpace(string(out))}, err
}

func bleve(ctx context.Context, dir string) ([]string, error) {
	source, bin := filepath.Join(dir, "src", "bleve"), filepath.Join(dir, "bin", "bleve")
	list := filepath.Join(dir, "documents")
	docs, err := workload.Documents(output(exec.Command("go", "env", "GOROOT")), 1000, 8<<20)
	if err == nil {
		err = workload.WriteDocuments(list, docs)
	}
	if err == nil {
		err = os.MkdirAll(source, 0o755)
	}
	if err != nil {
		return nil, err
	}
	if _, err := workload.Index(source, nil); err != nil {
		return nil, err
	}
	_, err = measured.Output(ctx, source, nil, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, ".")
	return []string{bin, "Index", "8MiB", list}, err
}

// esbuild bundles many copies of a library.
func esbuild(ctx context.Context, dir string) ([]string, error) {
	bin, err := measured.Install(ctx, dir, measured.Esbuild, "")
	if err != nil {
		return nil, err
	}
	main, err := measured.Scripts(filepath.Join(dir, "js"), 200)
	return append([]string{bin}, measured.Bundle(main, filepath.Join(dir, "work", "out.js"))...), err
}
