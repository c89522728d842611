package main

import (
	_ "embed"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/foliomem/folio/cmd/bench/internal/programs"
)

// program is a command to sample.
type program struct {
	name    string
	command []string
	server  []string // flags of folio run for a server; nil for other programs
}

// comm is what the kernel calls the program.
func (p *program) comm() string {
	name := filepath.Base(p.command[0])
	return name[:min(len(name), 15)]
}

// bleve is the module that indexes documents in memory.
const bleve = "github.com/blevesearch/bleve/v2@v2.4.4"

//go:embed testdata/indexer/main.go
var indexerSource []byte

// indexer builds the program that indexes, and returns its path.
func indexer(dir string) (string, error) {
	mod := filepath.Join(dir, "indexer.mod")
	if err := os.MkdirAll(mod, 0o755); err != nil {
		return "", err
	}
	for name, text := range map[string][]byte{"go.mod": []byte("module indexer\n\ngo 1.26\n"), "main.go": indexerSource} {
		if err := os.WriteFile(filepath.Join(mod, name), text, 0o600); err != nil {
			return "", err
		}
	}
	path := filepath.Join(dir, "indexer")
	if err := goCommand(mod, "get", bleve); err != nil {
		return "", err
	}
	return path, goCommand(mod, "build", "-o", path, ".")
}

func goCommand(dir string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// prepare builds the programs: one that nobody wrote for Folio and that lives on
// memory, one that mostly computes, and a service.
func prepare(dir, index string) ([]program, error) {
	gofmt, err := programs.Gofmt()
	if err != nil {
		return nil, err
	}
	server, load := filepath.Join(dir, "jsonserver"), filepath.Join(dir, "loadgen")
	if err := goCommand("", "build", "-o", server, "./examples/jsonserver"); err != nil {
		return nil, err
	}
	if err := goCommand("", "build", "-o", load, "./examples/jsonserver/loadgen"); err != nil {
		return nil, err
	}
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	// Few records: perf cannot leave the time out that making them takes, Folio does.
	const records = "-records=1000"
	return []program{
		{name: "bleve, index in memory", command: []string{index, "-docs", "1000"}},
		{name: gofmt.Name, command: gofmt.Command},
		{name: "JSON server", command: []string{server, "-addr", addr, records}, server: []string{
			"--ready", "http://" + addr + "/healthz", "--load", load + " -url http://" + addr + " -requests 12000 " + records,
		}},
	}, nil
}

// freeAddress returns an address that is not in use.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
