package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/fleet/internal/command"
	"github.com/foliomem/folio/cmd/internal/test/commandtest"
)

// program is folio-fleet, for tests of what it refuses.
var program = commandtest.Program{
	Name: name,
	Root: newRoot(io.Discard, io.Discard),
	Run:  func(args []string) (int, string, string) { return fleet(args...) },
}

// fleet runs a command line.
func fleet(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = command.Run(context.Background(), name, args, &out, &errs, newRoot)
	return code, out.String(), errs.String()
}

func TestMisuse(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"x\x1b[2J"}, `unknown command x\x1b[2J`},
		{[]string{"recomend"}, "unknown command recomend: did you mean recommend?"},
		{[]string{"help", "nosuch"}, "unknown command nosuch: see 'folio-fleet --help'"},
		{[]string{"rules", "x"}, "folio-fleet: rules takes no arguments: got x\n"},
		{[]string{"rules", "--interval", "10m"}, "--interval 10m0s: want"},
		{[]string{"rules", "--interval", "2"}, `--interval "2": want a duration`},
		{[]string{"rules", "--sources", "kube"}, "want agent or application"},
		{[]string{"rules", "--sources", "agent,x"}, `--sources "x": want some of agent, application, cadvisor, kube`},
		{[]string{"rules", "--format", "xml"}, "want prometheus or operator"},
		{[]string{"dashboard", "x"}, "folio-fleet: dashboard takes no arguments: got x\n"},
		{[]string{"top", "x"}, "folio-fleet: top takes no arguments: got x\n"},
		{[]string{"top", "--limit", "abc"}, `--limit "abc": want a whole number`},
		{[]string{"top", "--window", "5m"}, `--window "5m": want 10m to 92d`},
		{[]string{"top", "--window", "x"}, `--window "x": want 10m to 92d`},
		{[]string{"top", "--sort", "name"}, "want money, cores or gib"},
		{[]string{"top", "--limit", "-1"}, "want 0 (all) or more"},
		{[]string{"top", "--price-core-hour", "-1"}, "want prices"},
		{[]string{"top", "--price-gib-hour", "NaN"}, "want prices"},
		{[]string{"top", "--prometheus", "127.0.0.1:9090"}, "want http://"},
		{[]string{"top", "--prometheus", "http://prometheus.example", "--token-file", token}, "in the clear"},
		{[]string{"canary"}, "folio-fleet: canary takes one workload: NAMESPACE/WORKLOAD[:CONTAINER]\n"},
		{[]string{"canary", "a"}, "want NAMESPACE/WORKLOAD"},
		{[]string{"canary", "a/b"}, "nothing to compare: give --gogc, --memlimit or both"},
		{[]string{"canary", "a/b", "--gogc", "off"}, "--gogc off needs --memlimit"},
		{[]string{"canary", "a/b", "--gogc", "recommended"}, "values of its own"},
		{[]string{"canary", "a/b", "--gogc", "200", "--pods", "2"}, "want a percentage"},
		{[]string{"canary", "a/b", "--gogc", "200", "--rounds", "0"}, "want 1 to 1000"},
		{[]string{"canary", "a/b", "--gogc", "200", "--block", "13h"}, "up to 12h"},
		{[]string{"canary", "a/b", "--gogc", "200", "--max-errors", "1%"}, "--max-errors needs --errors"},
		{[]string{"canary", "a/b", "--gogc", "200", "--errors", "x"}, "--errors needs --requests"},
		{[]string{"canary", "a/b", "--gogc", "200", "--max-p99", "1s"}, "--max-p99 needs --p99"},
		{[]string{"canary", "a/b", "--memlimit", "fit", "--patch"}, "no GOMEMLIMIT that follows"},
		{[]string{"recommend"}, "folio-fleet: recommend takes one workload: NAMESPACE/WORKLOAD[:CONTAINER]\n"},
		{[]string{"recommend", "a"}, "want NAMESPACE/WORKLOAD"},
		{[]string{"recommend", "/a"}, "want NAMESPACE/WORKLOAD"},
		{[]string{"recommend", "a/b:"}, "want NAMESPACE/WORKLOAD"},
		{[]string{"recommend", "a/b/c"}, "want NAMESPACE/WORKLOAD"},
		{[]string{"recommend", "a/b", "--max-memory", "much"}, "want a size"},
		{[]string{"recommend", "a/b", "--patch", "apply"}, "want kustomize or helm"},
		{[]string{"recommend", "a/b", "--values-path", "x"}, "of --patch helm"},
		{[]string{"recommend", "a/b", "--json", "--patch", "helm"}, "do not go together"},
	} {
		program.Refused(t, c.args, c.want)
	}
	program.BadFlags(t)
}

func TestHelp(t *testing.T) {
	if n := program.Flags(t); n < 50 {
		t.Errorf("only %d flags", n)
	}
	root := newRoot(io.Discard, io.Discard)
	args := [][]string{{}, {"--help"}, {"--version"}}
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			continue
		}
		if c.Short == "" || c.Long == "" || c.Example == "" {
			t.Errorf("%s has no help", c.Name())
		}
		args = append(args, []string{c.Name(), "--help"})
	}
	for _, a := range args {
		if code, out, errs := fleet(a...); code != 0 || errs != "" || out == "" {
			t.Errorf("%q: %d\n%s%s", a, code, out, errs)
		}
	}
	if code, out, _ := fleet("dashboard"); code != 0 || !strings.HasPrefix(out, "{") {
		t.Errorf("%d\n%s", code, out)
	}
}
