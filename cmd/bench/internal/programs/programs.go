// Package programs prepares the real programs that the benchmarks measure: ones
// that nobody wrote for Folio, and that every machine with Go can get.
package programs

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/variant"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A Program is a command to measure.
type Program struct {
	Name    string // for tables
	Command []string
	Flags   []string // flags of folio tune that the program needs

	// Build builds the program where its builds are searched: Flags name the package then,
	// Command has arguments only, and both are meant in the directory of its module. Else nil.
	Build *Builder
}

// Of returns the command line of the program under a setting.
func (p Program) Of(ctx context.Context, set trial.Setting) ([]string, error) {
	if p.Build == nil {
		return p.Command, nil
	}
	v := set.Build
	if v.PGO == p.Build.Profile {
		v.PGO = variant.PGOAuto
	}
	built, err := p.Build.Build(ctx, v)
	if err != nil {
		return nil, err
	}
	return append([]string{built.File}, p.Command...), nil
}

// btree is the module whose benchmark is measured.
const btree = "github.com/google/btree@v1.1.3"

// Prepare builds the programs in dir, which must outlive them.
func Prepare(dir string) ([]Program, error) {
	gofmt, err := Gofmt()
	if err != nil {
		return nil, err
	}
	compile, err := compiler(dir)
	if err != nil {
		return nil, err
	}
	bench, err := benchmark(dir)
	if err != nil {
		return nil, err
	}
	return []Program{gofmt, compile, bench}, nil
}

// Newer is the release of Go that the default's is compared with.
const Newer = "go1.27.4"

// Builds prepares a program whose builds are searched too, below dir.
func Builds(ctx context.Context, dir string) (Program, error) {
	const pkg = "github.com/evanw/esbuild/cmd/esbuild"
	b := &Builder{Module: filepath.Join(dir, "src", "esbuild"), Package: pkg, Dir: dir, Name: "esbuild",
		Profile: filepath.Join(dir, "esbuild.pgo")}
	p := Program{Name: "esbuild, 1.3 MB", Build: b, Flags: []string{"--build", pkg, "--go", Newer, "--pgo", b.Profile, "--thp", "system"}}
	if err := Require(ctx, b.Module, Esbuild); err != nil {
		return p, err
	}
	main, err := Scripts(filepath.Join(dir, "few"), 10)
	if err != nil {
		return p, err
	}
	p.Command = Bundle(main, filepath.Join(dir, "out.js"))
	return p, Profile(ctx, b.Profile, func() (*trial.Sample, error) {
		command, err := p.Of(ctx, trial.Setting{})
		if err != nil {
			return nil, err
		}
		run := &trial.Program{Command: command, FS: procmem.New(""), IsGo: true}
		return run.Run(ctx, trial.Setting{}, trial.Request{Profile: SampleRate, Keep: trial.Keep{Samples: true}})
	})
}

// Gofmt lists badly formatted files of the standard library's net tree.
func Gofmt() (Program, error) {
	root, err := output("", "go", "env", "GOROOT")
	if err != nil {
		return Program{}, err
	}
	return Program{Name: "gofmt -l net/...", Command: []string{filepath.Join(root, "bin", "gofmt"), "-l",
		filepath.Join(root, "src", "net")}}, nil
}

// compiler compiles the standard library's encoding/json, the way the go command does.
func compiler(dir string) (Program, error) {
	const pkg = "encoding/json"
	tool, err := output("", "go", "tool", "-n", "compile")
	if err != nil {
		return Program{}, err
	}
	cfg, err := output("", "go", "list", "-export", "-deps", "-f", "{{if .Export}}packagefile {{.ImportPath}}={{.Export}}{{end}}", pkg)
	if err != nil {
		return Program{}, err
	}
	file := filepath.Join(dir, "importcfg")
	if err := os.WriteFile(file, []byte(cfg+"\n"), 0o644); err != nil {
		return Program{}, err
	}
	src, err := output("", "go", "list", "-f", `{{range .GoFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}`, pkg)
	if err != nil {
		return Program{}, err
	}
	command := []string{tool, "-o", filepath.Join(dir, "pkg.a"), "-p", pkg, "-std", "-complete", "-importcfg", file, "-pack"}
	return Program{Name: "compile encoding/json", Command: append(command, strings.Fields(src)...)}, nil
}

// benchmark is a Go benchmark of a module that many programs use.
func benchmark(dir string) (Program, error) {
	mod := filepath.Join(dir, "btree")
	if err := os.MkdirAll(mod, 0o755); err != nil {
		return Program{}, err
	}
	if err := os.WriteFile(filepath.Join(mod, "go.mod"), []byte("module bench\n\ngo 1.26\n"), 0o644); err != nil {
		return Program{}, err
	}
	if _, err := output(mod, "go", "get", btree); err != nil {
		return Program{}, err
	}
	test := filepath.Join(dir, "btree.test")
	path, _, _ := strings.Cut(btree, "@")
	if _, err := output(mod, "go", "test", "-c", "-o", test, path); err != nil {
		return Program{}, err
	}
	return Program{
		Name:    "btree benchmarks",
		Command: []string{test, "-test.run", "^$", "-test.bench", "Insert$|CloneEachTime$", "-test.benchtime", "100000x"},
	}, nil
}

// Folio builds the command in dir and returns its path.
func Folio(dir string) (string, error) {
	path := filepath.Join(dir, "folio")
	_, err := output("", "go", "build", "-o", path, "./cmd/folio")
	return path, err
}

func output(dir string, args ...string) (string, error) {
	out, err := Output(context.Background(), dir, nil, args...)
	return strings.TrimSpace(string(out)), err
}
