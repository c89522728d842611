//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/foliomem/folio/cmd/bench/internal/table"
)

// counted are the programs of -cycles: ten that are real, of which some start the go command, and
// one whose GC runs hundreds of times a second.
func counted() (all []program) {
	for _, p := range shown {
		if p.flags == nil && p.name != "nats-server" { // whose output is in files
			all = append(all, program{name: p.name, prepare: p.prepare})
		}
	}
	i := slices.IndexFunc(programs, func(p program) bool { return p.name == "prometheus tsdb" })
	return append(all, programs[i],
		program{name: "go test -v -vet=off go/printer", prepare: goCommand("test", "-v", "-vet=off", "go/printer")},
		program{name: "gofmt, GOGC=2", prepare: func(context.Context, string) ([]string, error) {
			goroot := output(exec.Command("go", "env", "GOROOT"))
			return []string{"env", "GOGC=2", "gofmt", "-l", filepath.Join(goroot, "src", "net")}, nil
		}})
}

var gcLine = regexp.MustCompile(`(?m)^gc [0-9]+ @[0-9.]+s `)

// traced stands in for the go command in PATH: its trace, and that of the tools that it runs, would
// be kept by who starts it.
const traced = `#!/bin/sh
exec "$TRACED_GO" "$@" 2>>"$TRACES/$$"
`

// cycles compares the GC cycles that folio run counts with the runtime's own trace, which the
// programs write beside: of all processes of each command. A process can end between the count of
// a cycle and its line, so that there is one line less. With telemetry gopls would start a process
// whose output is nowhere.
func cycles(ctx context.Context, dir string, names []string) error {
	folio, err := built(ctx, dir)
	if err != nil {
		return err
	}
	real, err := exec.LookPath("go")
	if err != nil {
		return err
	}
	shims, traces := filepath.Join(dir, "shims"), filepath.Join(dir, "traces")
	config := filepath.Join(dir, "config")
	if err := errors.Join(write(shims, map[string]string{"go": traced}), write(config, map[string]string{"go/telemetry/mode": "off\n"})); err != nil {
		return err
	}
	if err := os.Chmod(filepath.Join(shims, "go"), 0o755); err != nil {
		return err
	}
	t := table.New(os.Stdout, "program", "cycles by folio run", "by gctrace")
	var differ error
	for _, p := range programs {
		if len(names) > 0 && !slices.Contains(names, p.name) {
			continue
		}
		command, err := p.prepare(ctx, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		work := filepath.Join(dir, "work")
		for _, d := range []string{work, traces} {
			if err := errors.Join(os.RemoveAll(d), os.MkdirAll(d, 0o755)); err != nil {
				return err
			}
		}
		said, err := os.Create(filepath.Join(traces, "said"))
		if err != nil {
			return err
		}
		result := filepath.Join(dir, "cycles.json")
		cmd := exec.CommandContext(ctx, folio, append([]string{"run", "--sample-rate", "0", "--env", "GODEBUG=gctrace=1", "--json", result, "--"}, command...)...)
		cmd.Env = append(os.Environ(), "TRACED_GO="+real, "XDG_CONFIG_HOME="+config, "TRACES="+traces, "PATH="+shims+":"+os.Getenv("PATH"), "GOCACHE="+filepath.Join(work, "cache"))
		cmd.Stdout, cmd.Stderr = said, said
		err = errors.Join(cmd.Run(), said.Close())
		if err != nil {
			return fmt.Errorf("%s: %w: see %s", p.name, err, said.Name())
		}
		of, err := countedIn(result)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		trace, err := tracedIn(traces)
		if err != nil {
			return err
		}
		t.Rowf("%s | %d | %d", p.name, of, trace)
		if of < trace {
			differ = errors.New("folio run missed cycles")
		}
	}
	return differ
}

// countedIn are the GC cycles of a result of folio run.
func countedIn(path string) (int, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var r struct {
		Arms []struct {
			Samples []struct {
				Cycles *int `json:"gc_cycles"`
			} `json:"samples"`
		} `json:"arms"`
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return 0, err
	}
	if len(r.Arms) != 1 || len(r.Arms[0].Samples) != 1 || r.Arms[0].Samples[0].Cycles == nil {
		return 0, fmt.Errorf("%s has no GC cycles", path)
	}
	return *r.Arms[0].Samples[0].Cycles, nil
}

// tracedIn counts the lines of traces in the files of a directory.
func tracedIn(dir string) (n int, err error) {
	files, err := os.ReadDir(dir)
	for _, f := range files {
		data, e := os.ReadFile(filepath.Join(dir, f.Name()))
		err = errors.Join(err, e)
		n += len(gcLine.FindAll(data, -1))
	}
	return n, err
}
