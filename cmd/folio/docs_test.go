package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/foliomem/folio/internal/base/console"
)

// Every folio command line that the documents and the help texts show must name
// commands and flags that exist, with values that they take. TestExamples runs them.
func TestDocumentedCommands(t *testing.T) {
	for _, f := range documents(t) {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range shellLines(string(data)) {
			checkLine(t, filepath.Base(f), l)
		}
	}
	root := newRoot(&app{stdout: console.New(io.Discard), stderr: console.New(io.Discard)})
	for _, cmd := range append([]*cobra.Command{root}, root.Commands()...) {
		if cmd.Name() == "completion" || cmd.Name() == "help" {
			continue // cobra's own
		}
		n := 0
		for _, l := range strings.Split(cmd.Long+"\n"+cmd.Example, "\n") {
			if strings.HasPrefix(l, "  ") {
				n++
				if cmd == root {
					l, _, _ = strings.Cut(l, "    ") // an explanation follows
				}
				checkLine(t, "help of "+cmd.Name(), strings.TrimSpace(l))
			}
		}
		if n == 0 {
			t.Errorf("help of %s: no example", cmd.Name())
		}
	}
}

// documents returns the files of Markdown that users read.
func documents(t *testing.T) []string {
	t.Helper()
	out := []string{"../../README.md", "../../CONTRIBUTING.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../docs/*/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %d files", pattern, err, len(files))
		}
		out = append(out, files...)
	}
	return out
}

// shellLines returns the command lines in the shell blocks of a Markdown text.
func shellLines(text string) []string {
	var out []string
	inside, shell, more := false, false, false
	for _, l := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(l)
		if strings.HasPrefix(trimmed, "```") {
			lang := strings.TrimLeft(trimmed, "`")
			inside = !inside
			shell = inside && (lang == "sh" || lang == "console" || lang == "bash" || lang == "shell")
			more = false
			continue
		}
		if !shell {
			continue
		}
		line, cont := strings.CutSuffix(trimmed, "\\")
		if more {
			out[len(out)-1] += " " + line
		} else {
			out = append(out, strings.TrimSpace(strings.TrimPrefix(line, "$ ")))
		}
		more = cont
	}
	return out
}

// checkLine checks every folio command of a shell line.
func checkLine(t *testing.T, where, line string) {
	t.Helper()
	for _, words := range shellCommands(line) {
		args, ok := folioArgs(words)
		if !ok {
			continue
		}
		if err := checkArgs(args); err != nil {
			t.Errorf("%s: %s: %v", where, line, err)
		}
	}
}

// folioArgs returns what folio gets when words run it.
func folioArgs(words []string) ([]string, bool) {
	for len(words) > 0 && strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "-") {
		words = words[1:] // GOGC=400 folio ...
	}
	switch {
	case len(words) > 0 && (words[0] == "folio" || words[0] == "./folio"):
		return words[1:], true
	case len(words) > 2 && words[0] == "go" && words[1] == "run" && strings.HasSuffix(words[2], "cmd/folio"):
		return words[3:], true
	}
	return nil, false
}

// checkArgs parses a command line as folio would.
func checkArgs(args []string) error {
	root := newRoot(&app{stdout: console.New(io.Discard), stderr: console.New(io.Discard)})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	root.InitDefaultVersionFlag()
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(rest); errors.Is(err, pflag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		return err
	}
	asked := false // for what needs no command
	cmd.Flags().Visit(func(f *pflag.Flag) {
		asked = asked || f.Name == "help" || f.Name == "version" || f.Name == "attach" || f.Name == "build"
	})
	if name := cmd.Name(); !asked && (name == "run" || name == "tune") && cmd.Flags().NArg() == 0 {
		return fmt.Errorf("%s: no command given", name)
	}
	return nil
}

// shellCommands splits a shell line into its commands, and these into words. It
// knows quotes, comments and what stands between commands; redirections stay
// words of the command.
func shellCommands(line string) [][]string {
	var out [][]string
	var words []string
	var word strings.Builder
	open, depth := false, 0 // inside a word; inside $( )
	quote := rune(0)
	end := func() {
		if open {
			words = append(words, word.String())
		}
		word.Reset()
		open = false
	}
	next := func() {
		end()
		if len(words) > 0 {
			out = append(out, words)
		}
		words = nil
	}
	for i, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, open = r, true
		case depth > 0 || r == '(' && i > 0 && line[i-1] == '$':
			if r == '(' {
				depth++
			} else if r == ')' {
				depth--
			}
			word.WriteRune(r)
		case r == ' ' || r == '\t':
			end()
		case r == '#' && !open:
			next()
			return out
		case r == '|' || r == '&' || r == ';':
			next()
		default:
			word.WriteRune(r)
			open = true
		}
	}
	next()
	return out
}

// goBlocks returns the Go code in a Markdown text.
func goBlocks(text string) []string {
	var out []string
	var block strings.Builder
	inside := false
	for l := range strings.Lines(text) {
		switch trimmed := strings.TrimSpace(l); {
		case inside && strings.HasPrefix(trimmed, "```"):
			out, inside = append(out, block.String()), false
			block.Reset()
		case inside:
			block.WriteString(l)
		case trimmed == "```go":
			inside = true
		}
	}
	return out
}

// goFile makes a file of a piece of Go code: of a file, of imports, or of statements,
// which may use what is declared here.
func goFile(block string) string {
	trimmed := strings.TrimSpace(block)
	switch {
	case strings.HasPrefix(trimmed, "package "):
		return block
	case strings.HasPrefix(trimmed, "import "):
		return "package doc\n\n" + block
	}
	result, end := "", ""
	switch {
	case strings.Contains(block, "return err\n"):
		result, end = " error", "return nil\n"
	case strings.Contains(block, "return arena.String("):
		result = " string"
	}
	imports := "\"github.com/foliomem/folio/arena\"\n"
	for name, path := range map[string]string{"goheap": "github.com/foliomem/folio/goheap",
		"gctune": "github.com/foliomem/folio/gctune", "log": "log"} {
		if strings.Contains(block, name+".") {
			imports += strconv.Quote(path) + "\n"
		}
	}
	return "package doc\n\nimport (\n" + imports + `)

type node struct{ X int }

type Node = node

func _(a *arena.Arena, n *node, err error, early bool, lines []string, name string)` + result + " {\n{\n" +
		unused.ReplaceAllString(block, "$0\n_ = $1") + "\n}\n" + end + "}\n"
}

// unused is where a variable begins that the rest of a piece of code may not use.
var unused = regexp.MustCompile(`(?m)^\s*(\w+)(?:, \w+)? := .*[^{\n]$`)

// docBlocks returns the pieces of Go code in the comment of a package.
func docBlocks(text string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`(?m)(?:^//\t.*\n|^//\n//\t.*\n)+`).FindAllString(text, -1) {
		block := regexp.MustCompile(`(?m)^//\t?`).ReplaceAllString(m, "")
		if strings.Contains(block, ":=") || strings.Contains(block, "import ") {
			out = append(out, block)
		}
	}
	return out
}

// The Go code that documents and package comments show compiles.
func TestGoBlocks(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := make(map[string]string)
	args := []string{"build", "-overlay=" + filepath.Join(dir, "overlay.json")}
	add := func(f string, blocks func(string) []string) {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range blocks(string(data)) {
			pkg := fmt.Sprintf("docs/%s-%d", strings.NewReplacer("../../", "", "/", "-", ".", "-").Replace(f), i+1)
			file := filepath.Join(dir, filepath.Base(pkg)+".go")
			if err := os.WriteFile(file, []byte(goFile(block)), 0o644); err != nil {
				t.Fatal(err)
			}
			replace[filepath.Join(root, pkg, "doc.go")] = file
			args = append(args, "./"+pkg)
		}
	}
	for _, f := range documents(t) {
		add(f, goBlocks)
	}
	for _, name := range []string{"arena", "auto", "gctune", "goheap"} {
		before := len(replace)
		if add("../../"+name+"/doc.go", docBlocks); len(replace) == before {
			t.Errorf("the comment of package %s shows no code", name)
		}
	}
	if len(replace) < 10 {
		t.Fatalf("only %d blocks of Go were found", len(replace))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestShellLines(t *testing.T) {
	text := "```sh\n$ folio run -- a\nfolio tune \\\n   --max-rss 1GiB -- b # c\n```\n\n    folio x\n```go\nfolio y\n```\n```console\nA=1 folio run 'b  c' | folio z && go run ./cmd/folio tune -- \"$(go env GOROOT)/x\"\n```\n"
	var got []string
	for _, l := range shellLines(text) {
		for _, w := range shellCommands(l) {
			if args, ok := folioArgs(w); ok {
				got = append(got, strings.Join(args, "|"))
			}
		}
	}
	want := []string{"run|--|a", "tune|--max-rss|1GiB|--|b", "run|b  c", "z", "tune|--|$(go env GOROOT)/x"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for line, fault := range map[string]string{
		"run -- a":               "",
		"run --count 3 a --nope": "",
		"run --nope -- a":        "unknown flag",
		"run --count many -- a":  "invalid argument",
		"run":                    "no command given",
		"tune --help":            "",
		"--version":              "",
		"help tune":              "",
		"completion bash":        "",
		"nosuch -- a":            "unknown command",
	} {
		err := checkArgs(strings.Fields(line))
		if (err == nil) != (fault == "") || err != nil && !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: %v, want %q", line, err, fault)
		}
	}
}
