//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/pprof/profile"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/test/testenv"
)

// evil is a name that sets the title of the terminal, rings, turns what follows
// around, clears the screen, is not UTF-8, and begins a line of its own.
const evil = "\x1b]0;owned\a\u202eevil\u2066\u009b2J\x7f\xff\r\nFORGED: all is well"

// obeyed returns what of a text a terminal would obey, or would not show as it is.
func obeyed(text string) string {
	for i, r := range text {
		_, n := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && n == 1 || r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return text[max(0, i-40):min(len(text), i+40)]
		}
	}
	if strings.HasPrefix(text, "FORGED") || strings.Contains(text, "\nFORGED") {
		return "a line of its own"
	}
	return ""
}

// harmless runs folio and fails if anything that it prints is obeyed. It returns
// both streams.
func harmless(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("folio", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, raceEnv)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code < 0 || code == 2 && strings.Contains(stderr.String(), "goroutine ") {
		t.Errorf("folio %q: %v\n%s", args, err, &stderr)
	}
	for name, text := range map[string]string{"standard output": stdout.String(), "standard error": stderr.String()} {
		if args[0] == "report" || slices.Contains(args, "--html") {
			text = strings.ReplaceAll(text, "\nFORGED", "") // a page has lines of its own
		}
		if bad := obeyed(text); bad != "" {
			t.Errorf("folio %q: %s has %q", args, name, bad)
		}
	}
	return stdout.String() + stderr.String()
}

// evilFiles writes files that were made by somebody else.
func evilFiles(t *testing.T, dir string) {
	t.Helper()
	sample := map[string]any{"wall_seconds": 1, "metrics": map[string]any{evil: 1}, "failure": "", "last_line": evil}
	result := map[string]any{
		"schema": "folio/1", "kind": "run", "folio_version": evil, "notes": []string{evil},
		"program": map[string]any{"command": []string{evil, evil}, "go_version": evil, "module": evil},
		"host":    map[string]any{"os": evil, "kernel": evil, "cpu": evil, "thp_enabled": evil},
		"metric":  map[string]any{"name": evil, "pattern": "x"},
		"arms":    []any{map[string]any{"name": evil, "samples": []any{sample, sample}}},
	}
	tune := make(map[string]any)
	for k, v := range result {
		tune[k] = v
	}
	tune["kind"] = "tune"
	tune["arms"] = []any{map[string]any{"name": "default", "samples": []any{sample}}, map[string]any{"name": evil, "samples": []any{sample}}}
	inspect := map[string]any{"schema": "folio-inspect/1",
		"processes": []any{map[string]any{"pid": 1, "name": evil, "command": []string{evil}, "resident_bytes": 1}}}
	doctor := map[string]any{"schema": "folio-doctor/1", "findings": []any{map[string]any{"rule": evil, "what": evil, "severity": evil}}}
	for name, v := range map[string]any{"run.json": result, "tune.json": tune, "inspect.json": inspect, "doctor.json": doctor} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{name, "other-" + name} {
			if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	word := strings.Join(strings.Fields(evil), "")
	bench := "pkg: " + word + "\ngoos: " + word + "\nBenchmark" + word + " 1 1 " + word + "\nBenchmark" + word + " 1 2 ns/op\n"
	if err := os.WriteFile(filepath.Join(dir, "bench.txt"), []byte(bench), 0o600); err != nil {
		t.Fatal(err)
	}
	function := &profile.Function{ID: 1, Name: "main." + evil, SystemName: evil, Filename: "/" + evil}
	location := &profile.Location{ID: 1, Line: []profile.Line{{Function: function, Line: 1}}}
	p := &profile.Profile{
		PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"}, Period: 1,
		Sample:   []*profile.Sample{{Location: []*profile.Location{location}, Value: []int64{1 << 20, 1 << 30, 1, 1}}},
		Location: []*profile.Location{location}, Function: []*profile.Function{function},
	}
	for _, c := range []string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"} {
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: c, Unit: "count"})
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "allocs.pprof"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, evil), []byte("neither result nor program "+evil), 0o700); err != nil {
		t.Fatal(err)
	}
	// The compiler says what is wrong in the file and line that the source claims.
	source := "package main\n\nfunc main() {\n//line /\x1b]0;owned\a\u202eevil.go:7\n\tvar a int = \"\"\n}\n"
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "x"), 0o700), os.WriteFile(filepath.Join(dir, "x", "main.go"), []byte(source), 0o600)); err != nil {
		t.Fatal(err)
	}
	group := filepath.Join(dir, evil+".group")
	if err := errors.Join(os.Mkdir(group, 0o700), os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(evil), 0o600)); err != nil {
		t.Fatal(err)
	}
	testenv.WriteProgram(t, filepath.Join(dir, evil+".sh"), []byte("#!/bin/sh\necho out\n"))
}

// goProgram writes a Go program in which the names of its module, of a function and of
// the release of Go are others.
func goProgram(t *testing.T, to string) {
	t.Helper()
	b, err := os.ReadFile(waiter(t))
	if err != nil {
		t.Fatal(err)
	}
	release := runtime.Version()
	for old, by := range map[string]string{
		"main.spin": "main.\x1b[2J",
		"sleeper":   "\x1b[2J\a\x7fx",
		release:     ("go\x1b[2J\a" + strings.Repeat("\x7f", len(release)))[:len(release)],
	} {
		if !bytes.Contains(b, []byte(old)) {
			t.Fatalf("the program does not say %q", old)
		}
		b = bytes.ReplaceAll(b, []byte(old), []byte(by))
	}
	testenv.WriteProgram(t, to, b)
}

// ofScreen is what draws on a whole screen: modes, questions to the terminal, styles, the
// cursor, and what takes away lines or all that is below. Names have "\x1b[2J".
var ofScreen = regexp.MustCompile("\x1b\\[([?>=<]?[0-9;]*[hlmHABCDGdXPLMKWusq]|[?][0-9]+[$]p|J|[0-9]* ?q)|\x1b[=>78M]|\b")

// TestWatchIsEscaped: what is drawn again and again on a terminal, and what goes to a
// file, with the names of a process.
func TestWatchIsEscaped(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	pid := started(t, "hostile", "-name", "\x1b[2J\a\u202e\nFORGED", evil)
	for _, args := range [][]string{{"inspect", "--watch=50ms", pid}, {"inspect", "--watch=50ms"},
		{"collapse", "--all-anonymous", "--watch=50ms", pid}} {
		for _, terminal := range []bool{false, true} {
			c := newChild(t, args...)
			p := newPTY(t)
			file := c.path("output")
			screen := terminal && args[0] == "inspect" && len(args) > 2
			if screen {
				c, p = watchOn(t, 150, args[1:]...)
			} else if terminal {
				c.cmd.Stdout, c.cmd.Stderr = p.tty, p.tty
				p.attach(c)
				p.start(c)
			} else {
				to, err := os.Create(file)
				if err != nil {
					t.Fatal(err)
				}
				c.cmd.Stdout, c.cmd.Stderr = to, to
				c.start()
				to.Close()
			}
			printed := func() string {
				if terminal {
					return p.text()
				}
				data, _ := os.ReadFile(file)
				return string(data)
			}
			want := ""
			if len(args) > 2 && args[0] == "inspect" {
				want = `\x1b]0;owned`
			}
			if args[0] == "collapse" { // which says what it did at its end
				time.Sleep(300 * time.Millisecond)
			} else if !testenv.Within(func() bool { return printed() != "" && strings.Contains(printed(), want) }) {
				t.Errorf("folio %q, terminal %v: %q is not in %q", args, terminal, want, printed())
			}
			_ = c.cmd.Process.Signal(os.Interrupt)
			_ = c.cmd.Wait()
			if terminal {
				<-p.done
			}
			text := printed()
			if terminal {
				for _, own := range []string{"\x1b[H\x1b[2J", "\r", "\x1b[K"} {
					text = strings.ReplaceAll(text, own, "")
				}
				if screen {
					text = ofScreen.ReplaceAllString(text, "")
				}
			}
			if bad := obeyed(text); bad != "" {
				t.Errorf("folio %q, terminal %v: %q", args, terminal, bad)
			}
		}
	}
}

// A hostileLine is a command line with names from outside.
type hostileLine struct {
	line []string
	want string // on one of the streams
}

// hostileLines are those of all commands, with a process of hostile names, and a Go
// program of such names that runs.
func hostileLines(pid, goPID string) []hostileLine {
	return []hostileLine{
		{[]string{"doctor", "--duration", "0", pid}, `\x1b[2J\x07\u202e`},
		{[]string{"doctor", "--duration", "0", "--json", "-", pid}, `\u001b]0;owned\u0007\u202e`},
		{[]string{"inspect", pid}, `\x1b]0;owned`},
		{[]string{"inspect", "--json", "-", pid}, `\u001b]0;owned`},
		{[]string{"inspect", "--duration", "200ms", pid}, `\x1b]0;owned`},
		{[]string{"inspect", "--duration", "200ms", "--html", "-", pid}, `\x1b]0;owned`},
		{[]string{"inspect", "--oom", evil}, `\x1b]0;owned`},
		{[]string{"inspect", "--oom", evil + ".group"}, `\x1b]0;owned`},
		{[]string{"inspect", "--oom", "--save", evil, pid}, `\x1b]0;owned`},
		{[]string{"inspect", "--rows", "0"}, ""},
		{[]string{"inspect", "--goroutines", goPID}, ""},
		{[]string{"inspect", "--heap", evil + ".pprof", goPID}, ""},
		{[]string{"inspect", "--diff", evil + "x", goPID}, `\x1b]0;owned`},
		{[]string{"leaks", "--duration", "100ms", pid}, `\x1b]0;owned`},
		{[]string{"leaks", "--duration", "100ms", "--json", "-", pid}, `\u001b]0;owned`},
		{[]string{"collapse", "--dry-run", pid}, ""},
		{[]string{"run", "--attach", pid, "--duration", "50ms"}, `\x1b]0;owned`},
		{[]string{"run", "--attach", pid, "--duration", "50ms", "--json", "-"}, `\u001b]0;owned`},
		{[]string{"run", "--", "gcprog", evil}, `\x1b]0;owned`},
		{[]string{"run", "--env", "EVIL=" + evil, "--json", "-", "--", "gcprog"}, `\u001b]0;owned`},
		{[]string{"run", "--env", "EVIL=" + evil, "--bench", "-", "--", "gcprog", evil}, ""},
		{[]string{"run", "--count", "2", "--env", "EVIL=" + evil, "--", "gcprog", "-exit", "3", evil}, `\x1b]0;owned`},
		{[]string{"run", "--", "./" + evil}, `\x1b]0;owned`},
		{[]string{"run", "--", "./" + evil + ".sh"}, `\x1b]0;owned`},
		{[]string{"run", "--", "/nonexistent/" + evil}, `\x1b]0;owned`},
		{[]string{"run", "--input", evil + "x", "--", "gcprog"}, `\x1b]0;owned`},
		{[]string{"run", "--gogc", evil, "--", "gcprog"}, `x1b]0;owned`},
		{[]string{"run", "--metric", evil, "--", "gcprog"}, `x1b]0;owned`},
		{[]string{"run", "--json", "/nonexistent/" + evil, "--", "gcprog"}, `\x1b]0;owned`},
		{[]string{"run", "--build", "./" + evil}, `x1b]0;owned`},
		{[]string{"run", "--" + evil}, `\x1b]0;owned`},
		{[]string{"tune", "--runs", evil, "--", "gcprog"}, ""},
		{[]string{"tune", "--", "gcprog", "-exit", "3", "-err", "x", evil}, ""},
		{[]string{"lab", evil}, `\x1b]0;owned`},
		{[]string{"patches", evil}, `\x1b]0;owned`},
		{[]string{"patches", "--of", evil}, `\x1b]0;owned`},
		{[]string{"patches", "--of", evil, "--json"}, ""},
		{[]string{"patches", "--go", evil}, `x1b]0;owned`},
		{[]string{"build", "--patch", evil, "."}, `\x1b]0;owned`},
		{[]string{"go", evil}, `\x1b]0;owned`},
		{[]string{"vet", "./" + evil}, ""},
		{[]string{"suggest", "--profile", "allocs.pprof"}, `\x1b]0;owned`},
		{[]string{"suggest", "--profile", "allocs.pprof", "--json", "-"}, `\u001b]0;owned`},
		{[]string{"suggest", "--profile", evil}, `\x1b]0;owned`},
		{[]string{"report", evil, "-o", "page.html"}, `\x1b]0;owned`},
		{[]string{"report", "run.json", "tune.json", "inspect.json", "doctor.json", "-o", "-"}, `\x1b]0;owned`},
		{[]string{"compare", "run.json", "other-run.json"}, ""},
		{[]string{"compare", "run.json", "tune.json"}, ""},
		{[]string{"compare", "inspect.json", "other-inspect.json"}, `\x1b]0;owned`},
		{[]string{"compare", "doctor.json", "other-doctor.json"}, ""},
		{[]string{"compare", "bench.txt", "bench.txt"}, `\x1b]0;owned`},
		{[]string{"compare", evil, evil}, `\x1b]0;owned`},
		{[]string{evil}, `\x1b]0;owned`},
		{[]string{"--" + evil}, `\x1b]0;owned`},
		{[]string{"help", evil}, `\x1b]0;owned`},
		{[]string{"completion", evil}, `\x1b]0;owned`},
		{[]string{"exec", "--", "./" + evil + ".sh", evil}, `\x1b]0;owned`},
		{[]string{"exec", "--strict", "--", "./" + evil + ".sh", evil}, `\x1b]0;owned`},
		{[]string{"exec", "--strict", "--", "./" + evil}, `\x1b]0;owned`},
		{[]string{"exec", "--", "/nonexistent/" + evil}, `\x1b]0;owned`},
		{[]string{"exec", "--thp", evil, "--", "gcprog"}, `x1b]0;owned`},
		{[]string{"exec", "--gogc", evil, "--", "gcprog"}, `x1b]0;owned`},
		{[]string{"exec", "--strict", "--memlimit", evil, "--", "gcprog"}, `x1b]0;owned`},
		{[]string{"exec", "--", "./" + evil + ".go"}, ""},
		{[]string{"patch", evil, "-o", "copy"}, `\x1b]0;owned`},
		{[]string{"patch", evil + ".sh", "-o", "copy"}, `\x1b]0;owned`},
		{[]string{"patch", "/nonexistent/" + evil, "-o", "copy"}, `\x1b]0;owned`},
		{[]string{"patch", evil + ".go", "-o", evil + ".copy"}, `\x1b]0;owned`},
		{[]string{"patches", "--of", evil + ".go"}, `\x1b]0;owned`},
		{[]string{"patches", "--of", evil + ".copy"}, `\x1b]0;owned`},
		{[]string{"run", "--", "./" + evil + ".go"}, `\x1b]0;owned`},
		{[]string{"run", "--json", "-", "--", "./" + evil + ".go"}, `\u001b]0;owned`},
		{[]string{"run", "--html", "page.html", "--", "./" + evil + ".go"}, `\x1b]0;owned`},
		{[]string{"tune", "--budget", "1s", "--", "./" + evil + ".go"}, ""},
		{[]string{"doctor", "--duration", "100ms", goPID}, `\x1b[2J`},
		{[]string{"doctor", "--duration", "100ms", "--json", "-", goPID}, `\u001b[2J`},
		{[]string{"inspect", goPID}, `\x1b[2J`},
		{[]string{"inspect", "--json", "-", goPID}, `\u001b[2J`},
		{[]string{"inspect", "--duration", "200ms", "--json", "-", goPID}, `\u001b[2J`},
		{[]string{"collapse", "--dry-run", goPID}, ""},
		{[]string{"set", "--gogc", "50", "--for", "1ms", goPID}, `\x1b]0;owned`},
		{[]string{"set", "--memlimit", evil, goPID}, `x1b]0;owned`},
		{[]string{"set", "--watch", "--then", evil, goPID}, `x1b]0;owned`},
		{[]string{"set", "--cgroup", evil}, `\x1b]0;owned`},
		{[]string{"run", "--attach", goPID, "--duration", "300ms"}, `\x1b[2J`},
		{[]string{"run", "--attach", goPID, "--duration", "300ms", "--json", "-"}, `\u001b[2J`},
		{[]string{"doctor", evil}, `x1b]0;owned`},
		{[]string{"doctor", "--skip", evil}, `x1b]0;owned`},
		{[]string{"inspect", evil}, `x1b]0;owned`},
		{[]string{"collapse", evil}, `x1b]0;owned`},
		{[]string{"set", evil}, `x1b]0;owned`},
		{[]string{"init", evil + ".none"}, `x1b]0;owned`},
		{[]string{"set", "--name", evil}, `x1b]0;owned`},
		{[]string{"set", "--gogc", evil, goPID}, `x1b]0;owned`},
		{[]string{"set", pid}, `\x1b[2J`},
		{[]string{"set", goPID}, `\x1b[2J`},
		{[]string{"ab", "--rounds", "2", "--", "gcprog", evil, "--", "gcprog", "x" + evil}, `\x1b]0;owned`},
		{[]string{"ab", "--fail-if", evil, "--", "gcprog", "--", "gcprog"}, `x1b]0;owned`},
		{[]string{"load", "--rate", "1", "http://127.0.0.1:1/" + evil}, ""},
		{[]string{"load", "--rate", "1", evil}, `x1b]0;owned`},
		{[]string{"load", "--rate", "1", "--header", evil, "http://127.0.0.1:1/"}, `x1b]0;owned`},
		{[]string{"load", "--rate", "1", "--body", evil + ".none", "http://127.0.0.1:1/"}, `\x1b]0;owned`},
		{[]string{"ab", "--rev", evil + ",HEAD", "./x"}, ""},
		{[]string{"tune", "--build", "./x/main.go"}, `/\x1b]0;owned\x07\u202eevil.go:7: `},
		{[]string{"tune", "--build", "./" + evil}, `\x1b]0;owned`},
		{[]string{"tune", "--build", "./x/main.go", "--go", evil}, `x1b]0;owned`},
		{[]string{"tune", "--build", "./x/main.go", "--goexperiment", evil}, `x1b]0;owned`},
		{[]string{"tune", "--build", "./x/main.go", "--goamd64", evil}, `x1b]0;owned`},
		{[]string{"tune", "--build", "./x/main.go", "--pgo", evil}, `x1b]0;owned`},
		{[]string{"tune", "--build", "./x/main.go", "--patch", evil}, `x1b]0;owned`},
		{[]string{"tune", "--kubernetes", evil, "--", "gcprog"}, `x1b]0;owned`},
		{[]string{"report", "--kubernetes", evil, "tune.json"}, `x1b]0;owned`},
		{[]string{"doctor", "list", evil}, `x1b]0;owned`},
		{[]string{"lab", "list", evil}, `x1b]0;owned`},
		{[]string{"version", evil}, `\x1b]0;owned`},
		{[]string{"cache", evil}, `\x1b]0;owned`},
		{[]string{"cache", "clean", evil}, `\x1b]0;owned`},
		{[]string{"agent", evil}, "folio-agent is not on the PATH"},
		{[]string{"fleet", evil}, "folio-fleet is not on the PATH"},
	}
}

// TestTerminalIsNotObeyed has every command print names that come from outside: of
// processes, programs, functions and files, arguments, results, the environment.
func TestTerminalIsNotObeyed(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	dir := t.TempDir()
	evilFiles(t, dir)
	pid := started(t, "hostile", "-name", "\x1b[2J\a\u202e\nFORGED", evil)
	goProgram(t, filepath.Join(dir, evil+".go"))
	goPID := started(t, filepath.Join(dir, evil+".go"))
	for _, c := range hostileLines(pid, goPID) {
		text := harmless(t, dir, c.line...)
		if !strings.Contains(text, c.want) {
			t.Errorf("folio %q: %q is not in\n%s", c.line, c.want, text[:min(len(text), 1000)])
		}
	}
}

// TestEveryCommandHasAHostileLine fails when a command is added, or one that another has,
// and the test above does not know it.
func TestEveryCommandHasAHostileLine(t *testing.T) {
	var every func(path []string, commands []*cobra.Command)
	every = func(path []string, commands []*cobra.Command) {
		for _, cmd := range commands {
			words := append(path[:len(path):len(path)], cmd.Name())
			known := slices.ContainsFunc(hostileLines("1", "2"), func(l hostileLine) bool {
				return len(l.line) >= len(words) && slices.Equal(l.line[:len(words)], words)
			})
			if !known && !cmd.Hidden && words[0] != "completion" {
				t.Errorf("folio %s: add it to hostileLines, with names from outside", strings.Join(words, " "))
			}
			every(words, cmd.Commands())
		}
	}
	every(nil, newRoot(&app{stdout: console.New(&bytes.Buffer{}), stderr: console.New(&bytes.Buffer{})}).Commands())
}

// TestFlagsAreEscaped gives each flag of each command a value that no terminal should obey.
func TestFlagsAreEscaped(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	dir := t.TempDir()
	evilFiles(t, dir)
	pid := started(t, "hostile", evil)
	server := []string{"--rate", "1", "--ready", "http://127.0.0.1:1/", "--ready-timeout", "10ms"}
	rest := map[string][]string{ // what makes a command line of one that has only flags
		"run": {"--", "gcprog"}, "exec": {"--", "gcprog"}, "tune": {"--budget", "1s", "--rounds", "1", "--", "gcprog"},
		"ab": {"--budget", "1s", "--rounds", "2", "--", "gcprog", "--", "gcprog"}, "load": {"--duration", "100ms", "http://127.0.0.1:1/"},
		"inspect": {pid}, "leaks": {"--duration", "100ms", pid}, "collapse": {"--dry-run", pid}, "doctor": {"--duration", "0", pid}, "lab": {"list"},
		"patch": {"x/main.go"}, "suggest": {"--", "gcprog"}, "report": {"run.json"}, "compare": {"run.json", "tune.json"},
	}
	done := make(map[string]bool)
	flags := 0
	root := newRoot(&app{stdout: console.New(&bytes.Buffer{}), stderr: console.New(&bytes.Buffer{})})
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if done[f.Name+f.Usage] || cmd.Hidden { // commands share flags
				return
			}
			done[f.Name+f.Usage] = true
			flags++
			line := []string{cmd.Name(), "--" + f.Name + "=" + evil}
			if strings.HasPrefix(f.Name, "load-") || f.Name == "target" {
				line = append(line, server...)
			}
			harmless(t, dir, append(line, rest[cmd.Name()]...)...)
		})
	}
	if flags < 80 {
		t.Errorf("only %d flags", flags)
	}
}

// TestProgramOutputPassesUntouched: what a program prints is its own business, also
// for a terminal.
func TestProgramOutputPassesUntouched(t *testing.T) {
	t.Parallel()
	const text = "\x1b[31mred\x1b[0m\a \u202e \xff"
	c := newChild(t, "run", "--", "gcprog", "-out", text, "-err", text)
	c.start()
	c.end(0)
	if got := c.stdout.String(); got != text+"\n" {
		t.Errorf("standard output: %q", got)
	}
	if got := c.stderr.String(); !strings.HasPrefix(got, text+"\n") {
		t.Errorf("standard error: %q", got)
	}
}

// TestProgressLineIsEscaped: folio's own styles stay, and nothing else does.
func TestProgressLineIsEscaped(t *testing.T) {
	t.Setenv("TERM", "xterm")
	p := newPTY(t)
	line := newProgress(console.New(p.tty))
	line.Show(evil)
	line.Clear()
	p.tty.Close()
	var seen strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := p.user.Read(buf)
		seen.Write(buf[:n])
		if err != nil {
			break
		}
	}
	got := seen.String()
	if bad := obeyed(strings.TrimSuffix(got, "\r\x1b[K")); bad != "" || !strings.HasSuffix(got, "\r\x1b[K") ||
		!strings.HasPrefix(got, `\x1b]0;owned`) {
		t.Errorf("%q", got)
	}
	if n := utf8.RuneCountInString(got) - len("\r\x1b[K"); n != 59 {
		t.Errorf("%d columns of 60", n)
	}
}
