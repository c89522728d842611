package arenavet

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// What the guide shows compiles, and is reported as its comments say: that, there, and no
// more.
func TestGuide(t *testing.T) {
	guide, err := os.ReadFile("../docs/arenavet.md")
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`// (.*)`)
	snippets := regexp.MustCompile("(?ms)^```go\n(.*?)^```").FindAllStringSubmatch(string(guide), -1)
	if len(snippets) < 5 {
		t.Errorf("%d snippets", len(snippets))
	}
	for _, m := range snippets {
		var want []string
		for i, line := range strings.Split(m[1], "\n") {
			if c := said.FindStringSubmatch(line); c != nil && c[1] != "not reported" {
				want = append(want, fmt.Sprintf("%d: %s", i+1, c[1]))
			}
		}
		var got []string
		for _, f := range check(t, loadSnippet(t, m[1])) {
			got = append(got, fmt.Sprintf("%d: %s", f.at.Line, f.message))
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("reported %q, want %q:\n%s", got, want, m[1])
		}
	}
}

// loadSnippet makes a function of statements. Lines keep their numbers.
func loadSnippet(t *testing.T, statements string) *packages.Package {
	t.Helper()
	params, result, end := "err error, early bool, lines []string, name string", "error", "return nil"
	begin := ""
	if !strings.Contains(statements, "a := arena.NewArena()") {
		params = "a *arena.Arena, " + params
		begin = "n := arena.New[node](a); _ = n; "
	}
	if strings.Contains(statements, "return arena.String") {
		result, end = "string", ""
	}
	file, err := filepath.Abs("testdata/snippet.go") // it exists in the overlay alone
	if err != nil {
		t.Fatal(err)
	}
	source := `package snippet; import "github.com/foliomem/folio/arena"; type node struct{ X int }; func f(` + params + `) ` + result + ` { ` +
		begin + statements + end + "\n}\n"
	pkgs, err := packages.Load(&packages.Config{Mode: loaded, Overlay: map[string][]byte{file: []byte(source)}}, file)
	if err != nil || len(pkgs) != 1 || packages.PrintErrors(pkgs) > 0 {
		t.Fatalf("%d packages, %v:\n%s", len(pkgs), err, source)
	}
	return pkgs[0]
}
