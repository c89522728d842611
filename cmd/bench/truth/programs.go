package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/bench/internal/programs"
)

// A program is what is run.
type program struct {
	name    string
	command []string
	dir     string
	env     []string
	// traced asks for the trace, to count its lines. A go command would keep those of
	// its compilers in the build cache.
	traced bool
	// number is the argument that gets the number of the run; 0 for none.
	number int
}

// of is the command of a run.
func (p program) of(run int) []string {
	if p.number == 0 {
		return p.command
	}
	out := append([]string(nil), p.command...)
	out[p.number] = fmt.Sprintf(out[p.number], strconv.Itoa(os.Getpid())+"."+strconv.Itoa(run))
	return out
}

// prepare builds the programs, those whose name has the text only.
func prepare(dir, only string) (out []program, err error) {
	three, err := programs.Prepare(dir) // gofmt, compile, btree benchmarks
	if err != nil {
		return nil, err
	}
	for _, p := range three {
		out = append(out, program{name: p.Name, command: p.Command, traced: true})
	}
	out = append(out, program{name: "gofmt of nothing", command: three[0].Command[:1], traced: true})
	bin := filepath.Join(dir, "bin")
	for pkg, release := range map[string]string{programs.Esbuild: "", programs.Gopls: programs.GoplsNeeds, programs.Staticcheck: ""} {
		if !strings.Contains(pkg, only) {
			continue
		}
		if _, err := programs.Install(context.Background(), dir, pkg, release); err != nil {
			return nil, err
		}
	}
	for _, pkg := range []string{"own", "cgo"} {
		if err := build("", nil, "go", "build", "-o", filepath.Join(dir, pkg), "./cmd/bench/truth/"+pkg); err != nil {
			return nil, err
		}
	}
	module, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	script, err := scriptIn(dir, filepath.Join(module, "cmd/internal/view/html/app.js"))
	if err != nil {
		return nil, err
	}
	cache := filepath.Join(dir, "cache")
	if strings.Contains(programs.Staticcheck, only) { // what it depends on is known then, as on every day but the first
		if err := build("", []string{"STATICCHECK_CACHE=" + cache}, filepath.Join(bin, "staticcheck"), "./cmd/internal/base/stat"); err != nil {
			return nil, err
		}
	}
	// With telemetry gopls starts a process that it does not wait for: folio counts it,
	// the witness does not.
	config := filepath.Join(dir, "config")
	if err := os.MkdirAll(filepath.Join(config, "go/telemetry"), 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(config, "go/telemetry/mode"), []byte("off\n"), 0o600); err != nil {
		return nil, err
	}
	own := filepath.Join(dir, "own")
	out = append(out,
		program{name: "esbuild", command: []string{filepath.Join(bin, "esbuild"), "--minify",
			"--outfile=" + filepath.Join(dir, "out.js"), "--log-level=error", script}, traced: true},
		program{name: "gopls check", command: []string{filepath.Join(bin, "gopls"), "check",
			"cmd/internal/base/stat/stat.go"}, dir: module, env: []string{"XDG_CONFIG_HOME=" + config}},
		program{name: "staticcheck", command: []string{filepath.Join(bin, "staticcheck"), "./cmd/internal/base/stat"},
			dir: module, env: []string{"STATICCHECK_CACHE=" + cache}},
		program{name: "go vet", command: []string{"go", "vet", "./cmd/internal/base/stat"}, dir: module},
		program{name: "go build, which links", command: []string{"go", "build", "-ldflags", "-X main.run=%s", "-o",
			filepath.Join(dir, "built"), "./cmd/folio"}, dir: module, number: 3},
		program{name: "own: trees", command: []string{own, "trees", "9000"}},
		program{name: "own: json", command: []string{own, "json", "200000"}},
		program{name: "own: cgo", command: []string{filepath.Join(dir, "cgo"), "1600000"}},
	)
	var chosen []program
	for _, p := range out {
		if strings.Contains(p.name, only) {
			chosen = append(chosen, p)
		}
	}
	return chosen, nil
}

// scriptIn makes a large script of many copies of a small one.
func scriptIn(dir, of string) (string, error) {
	text, err := os.ReadFile(of)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "export function copy%d() {\n%s\n}\n", i, strings.ReplaceAll(string(text), "export ", ""))
	}
	path := filepath.Join(dir, "large.js")
	return path, os.WriteFile(path, []byte(b.String()), 0o600)
}

// witness builds the one in C.
func witness(dir string) (string, error) {
	path := filepath.Join(dir, "witness")
	return path, build("", nil, "cc", "-O2", "-static", "-o", path, "cmd/bench/truth/c/witness.c")
}

func build(dir string, env []string, command ...string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, out)
	}
	return nil
}
