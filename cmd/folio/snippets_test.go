package main

import (
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

// snippets returns the Go code that the documents and package comments show, by file.
// Those of arenavet's page are wrong on purpose: the tests of that package have them.
func snippets(t *testing.T) map[string][]string {
	out := map[string][]string{}
	block := regexp.MustCompile("(?ms)^ *```go\n(.*?)^ *```")
	for _, f := range documents(t) {
		if filepath.Base(f) == "arenavet.md" {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllStringSubmatch(string(text), -1) {
			out[f] = append(out[f], m[1])
		}
	}
	for _, p := range []string{"arena", "auto", "gctune", "goheap", "page"} {
		f := "../../" + p + "/doc.go"
		file, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range new(comment.Parser).Parse(file.Doc.Text()).Content {
			if c, ok := b.(*comment.Code); ok && regexp.MustCompile(`:= |^import `).MatchString(c.Text) {
				out[f] = append(out[f], c.Text)
			}
		}
	}
	return out
}

// program makes a program of a snippet: declarations as they are, statements as main. With
// twice it has the import that makes every Start fail.
func program(snippet string, twice bool) string {
	imports := ""
	for name, path := range map[string]string{"log": "log", "arena": folioModule + "/arena", "gctune": folioModule + "/gctune", "goheap": folioModule + "/goheap", "page": folioModule + "/page"} {
		if strings.Contains(snippet, name+".") {
			imports += "import \"" + path + "\"\n"
		}
	}
	if twice {
		imports += "import _ \"" + folioModule + "/auto\"\n"
	}
	s := strings.TrimSpace(snippet)
	switch {
	case strings.HasPrefix(s, "package "):
		return regexp.MustCompile(`^package \w+`).ReplaceAllString(s, "package main") + "\n\nfunc main() {}\n"
	case strings.HasPrefix(s, "import "):
		return "package main\n\n" + s + "\n\nfunc main() {}\n"
	}
	return "package main\n\n" + imports + "\nfunc main() {\n" + s + "\n}\n"
}

const folioModule = "github.com/foliomem/folio"

// TestSnippets: every piece of Go that the documents show compiles and runs, even if what it
// starts has been started by the import already.
func TestSnippets(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	found := snippets(t)
	for _, f := range []string{"../../docs/gctune.md", "../../arena/doc.go", "../../auto/doc.go", "../../gctune/doc.go", "../../goheap/doc.go", "../../page/doc.go"} {
		if len(found[f]) == 0 {
			t.Errorf("%s: no snippet found", f)
		}
	}
	for f, all := range found {
		for _, s := range all {
			for _, twice := range []bool{false, true} {
				path, err := testenv.Build{Args: []string{"-mod=mod"}, Source: map[string]string{
					"main.go": program(s, twice), "go.sum": string(sums),
					"go.mod": "module program\n\ngo 1.26.0\n\nrequire " + folioModule + " v0.0.0\n\nreplace " + folioModule + " => " + root + "\n",
				}}.Try(t)
				if err != nil {
					t.Errorf("%s: %v\n%s", f, err, s)
					break
				}
				if out, err := exec.Command(path).CombinedOutput(); err != nil {
					t.Errorf("%s, started twice: %v: %v\n%s\n%s", f, twice, err, out, s)
				}
			}
		}
	}
}
