package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"go/version"
	"os"
	"path/filepath"
	"strings"

	"github.com/foliomem/folio/cmd/bench/internal/programs"
)

var (
	//go:embed testdata/say/say.go.txt
	say []byte
	//go:embed testdata/etcd/main.go.txt
	etcdMain []byte
)

// A program is a server of others.
type program struct {
	name, module, at string
	pkg              string // of the module: its main package
	main             []byte // instead of that
	args             func(dir, addr string) []string
	load             func(ctx context.Context, l *loader) error
}

var all = []program{
	{name: "esbuild", module: "github.com/evanw/esbuild", at: "v0.28.2", pkg: "cmd/esbuild", load: esbuild,
		args: func(dir, addr string) []string {
			return []string{filepath.Join(dir, "app.js"), "--bundle", "--outdir=" + filepath.Join(dir, "out"), "--serve=" + addr}
		}},
	{name: "nats-server", module: "github.com/nats-io/nats-server/v2", at: "v2.15.2", load: nats,
		args: func(dir, addr string) []string {
			host, port, _ := strings.Cut(addr, ":")
			return []string{"-a", host, "-p", port, "-js", "-sd", dir}
		}},
	{name: "caddy", module: "github.com/caddyserver/caddy/v2", at: "v2.11.9", pkg: "cmd/caddy", load: caddy,
		args: func(dir, addr string) []string { return []string{"file-server", "--listen", addr, "--root", dir} }},
	{name: "etcd", module: "go.etcd.io/etcd/server/v3", at: "v3.7.3", main: etcdMain, load: etcd,
		args: func(dir, addr string) []string {
			return []string{"--data-dir", dir, "--listen-client-urls", "http://" + addr, "--advertise-client-urls", "http://" + addr,
				"--listen-peer-urls", "http://127.0.0.1:0", "--log-level", "error"}
		}},
	{name: "victoria-metrics", module: "github.com/VictoriaMetrics/VictoriaMetrics", at: "v1.148.8", pkg: "app/victoria-metrics", load: victoria,
		args: func(dir, addr string) []string { return []string{"-storageDataPath=" + dir, "-httpListenAddr=" + addr} }},
	{name: "gopls", module: "golang.org/x/tools/gopls", at: "v0.21.1", load: gopls,
		args: func(_, addr string) []string { return []string{"serve", "-listen=" + addr} }},
}

// A way is how a program is built.
type way struct {
	name string
	args []string
}

var ways = []way{{"plain", nil}, {"stripped", []string{"-ldflags=-s -w"}}, {"stripped, pie", []string{"-ldflags=-s -w", "-buildmode=pie"}}}

// needsError says that a module wants a later release of Go.
type needsError struct{ release string }

func (e needsError) Error() string { return "its module wants " + e.release }

// build builds a program with the file of say into dir, and returns where it is. release is of
// Go; "" for the one that is here.
func (p program) build(ctx context.Context, dir, release string, w way) (string, error) {
	bin := filepath.Join(dir, "bin", strings.ReplaceAll(strings.Join([]string{p.name, release, w.name}, "-"), ", ", "-"))
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	source := filepath.Join(dir, "source", p.name)
	if _, err := os.Stat(filepath.Join(source, "go.mod")); err != nil {
		if err := p.source(ctx, dir, source); err != nil {
			return "", err
		}
	}
	env := []string{"GOFLAGS=-mod=mod"}
	if release != "" {
		env = append(env, "GOTOOLCHAIN="+release)
		out, err := programs.Output(ctx, source, []string{"GOTOOLCHAIN=auto"}, "go", "mod", "edit", "-json")
		var mod struct{ Go string }
		if err != nil || json.Unmarshal(out, &mod) != nil {
			return "", fmt.Errorf("go mod edit: %v: %s", err, out)
		}
		if version.Compare("go"+mod.Go, release) > 0 {
			return "", needsError{"go" + mod.Go}
		}
	}
	args := append([]string{"go", "build", "-p", "1", "-o", bin}, w.args...)
	_, err := programs.Output(ctx, source, env, append(args, "./"+p.pkg)...)
	return bin, err
}

// source makes the source of a program, to which the file of say was added.
func (p program) source(ctx context.Context, dir, source string) error {
	if p.main != nil {
		if err := os.MkdirAll(source, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(source, "main.go"), p.main, 0o644); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(source, "say.go"), say, 0o644); err != nil {
			return err
		}
		for _, args := range [][]string{{"go", "mod", "init", "bench"}, {"go", "get", p.module + "@" + p.at}, {"go", "mod", "tidy"}} {
			if _, err := programs.Output(ctx, source, nil, args...); err != nil {
				os.Remove(filepath.Join(source, "go.mod"))
				return err
			}
		}
		return nil
	}
	out, err := programs.Output(ctx, dir, nil, "go", "mod", "download", "-json", p.module+"@"+p.at)
	if err != nil {
		return err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return err
	}
	if err := os.CopyFS(source, os.DirFS(module.Dir)); err != nil {
		return err
	}
	if err := filepath.WalkDir(source, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o755)
	}); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(source, p.pkg, "folio_bench_say.go"), say, 0o644)
}
