package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

// What folio prints goes through internal/base/console, where names that come from outside
// are escaped: the command has no other way to its streams. These are the exceptions,
// each with its reason.
var aroundConsole = map[string]string{
	"cmd/folio/main.go realMain os.Stdout":                       "makes the printer",
	"cmd/folio/main.go realMain os.Stderr":                       "makes the printer",
	"cmd/fleet/internal/command/command.go Main os.Stdout":       "makes the printer",
	"cmd/fleet/internal/command/command.go Main os.Stderr":       "makes the printer",
	"cmd/folio/gocommand.go goCommand Raw":                       "the go command's own output",
	"cmd/internal/program/launch/exec_linux.go attach os.Stderr": "one line of the helper process, of folio alone",
	"cmd/folio/run.go run Raw":                                   "the program's output",
	"cmd/folio/ab.go openAB Raw":                                 "the program's output",
	"cmd/folio/tune.go tune Raw":                                 "the program's output",
	"cmd/folio/suggest.go suggest Raw":                           "the program's output",
	"cmd/folio/outputs.go openOutputs Raw":                       "JSON, benchmark text and pages, which are escaped as they are made, and profiles, which are compressed",
	"cmd/folio/exec_tree_linux.go prepareTree os.Stdout":         "the program's own output",
	"cmd/folio/exec_tree_linux.go prepareTree os.Stderr":         "the program's own output",
	"cmd/internal/base/guard/guard_linux.go detach os.Stdout":    "descriptors of the guard",
	"cmd/internal/base/guard/guard_linux.go detach os.Stderr":    "descriptors of the guard",
	"auto/auto.go  os.Stderr":                                    "escaped by its own say",
	"release/images/main.go extract os.Stdout":                   "a tar archive, for release/check",
	"arena/debug.go  os.Stderr":                                  "names of the program's own functions",
	"arena/quarantine.go inspect os.Stderr":                      "names of the program's own functions",
}

// prints are the functions that print to the standard streams, or to any writer: what
// is printed to a builder is not printed yet.
var prints = []string{"Print", "Printf", "Println", "Fprint", "Fprintf", "Fprintln"}

// streams are the methods of a cobra command that print, or give its streams away.
var streams = []string{"OutOrStdout", "OutOrStderr", "ErrOrStderr", "Print", "Printf", "Println", "PrintErr", "PrintErrf", "PrintErrln"}

// around returns what in a file prints around the console, as "function thing".
func around(file *ast.File, command bool) (out []string) {
	for _, decl := range file.Decls {
		name := ""
		if f, ok := decl.(*ast.FuncDecl); ok {
			name = f.Name.Name
		}
		found := func(what string) {
			if what = name + " " + what; !slices.Contains(out, what) {
				out = append(out, what)
			}
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				x, _ := n.X.(*ast.Ident)
				switch {
				case x != nil && x.Name == "os" && (n.Sel.Name == "Stdout" || n.Sel.Name == "Stderr"):
					found("os." + n.Sel.Name)
				case x != nil && x.Name == "log" && x.Obj == nil && command:
					found("log." + n.Sel.Name)
				case command && n.Sel.Name == "Raw":
					found("Raw")
				case command && slices.Contains(streams, n.Sel.Name) && (x == nil || x.Name != "fmt"):
					found(n.Sel.Name)
				}
			case *ast.CallExpr:
				if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "print" || id.Name == "println") && id.Obj == nil {
					found(id.Name)
				}
				sel, ok := n.Fun.(*ast.SelectorExpr)
				if !ok || !slices.Contains(prints, sel.Sel.Name) {
					return true
				}
				if x, ok := sel.X.(*ast.Ident); !ok || x.Name != "fmt" {
					return true
				}
				builder := false
				if len(n.Args) > 0 {
					u, ok := n.Args[0].(*ast.UnaryExpr)
					builder = ok && u.Op == token.AND
				}
				if strings.HasPrefix(sel.Sel.Name, "P") || command && !builder {
					found("fmt." + sel.Sel.Name)
				}
			}
			return true
		})
	}
	return out
}

// TestEverythingIsPrintedThroughTheConsole reads the source: a new command that prints
// around the console is found when it is written, not by whom it harms.
func TestEverythingIsPrintedThroughTheConsole(t *testing.T) {
	testenv.Alone(t)
	used := make(map[string]bool)
	files := 0
	err := filepath.WalkDir("../../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := filepath.ToSlash(strings.TrimPrefix(path, "../../../../"))
		if d.IsDir() {
			// Programs of their own: the lab runs them and reads what they print.
			own := rel == "cmd/bench" || rel == "examples" || rel == "cmd/internal/lab/arenabench/goarenas" ||
				rel == "internal/test" || rel == "cmd/fleet/bench" || strings.HasPrefix(d.Name(), "_")
			if own || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(rel, "internal/base/console/") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		files++
		for _, what := range around(file, strings.HasPrefix(rel, "cmd/folio/")) {
			key := rel + " " + what
			if used[key] = true; aroundConsole[key] == "" {
				t.Errorf("%s: prints around internal/base/console, which escapes names from outside: use a.stdout and a.stderr", key)
			}
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files, %v", files, err)
	}
	for key := range aroundConsole {
		if !used[key] {
			t.Errorf("%s: is an exception, and does not exist", key)
		}
	}
}

// The check must be able to fail.
func TestPrintingAroundTheConsoleIsFound(t *testing.T) {
	for line, want := range map[string]string{
		`fmt.Println(x)`: "fmt.Println",
		`fmt.Fprintf(cmd.OutOrStdout(), "%s", x)`:    "fmt.Fprintf OutOrStdout",
		`fmt.Fprintln(a.stdout, x)`:                  "fmt.Fprintln",
		`fmt.Fprintln(w, x)`:                         "fmt.Fprintln",
		`io.WriteString(os.Stdout, x)`:               "os.Stdout",
		`cmd.Printf("%s", x)`:                        "Printf",
		`println(x)`:                                 "println",
		`log.Print(x)`:                               "log.Print",
		`a.stdout.Raw().Write(x)`:                    "Raw",
		`fmt.Fprintf(&b, "%s", x)`:                   "",
		`a.stdout.Line("%s", x)`:                     "",
		`x := fmt.Sprintf("%s", os.Args[0]); use(x)`: "",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package p\nfunc f() {\n"+line+"\n}\n", 0)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, what := range around(file, true) {
			got = append(got, strings.TrimPrefix(what, "f "))
		}
		if fmt.Sprint(got) != fmt.Sprint(strings.Fields(want)) {
			t.Errorf("%s: found %q, want %q", line, got, want)
		}
	}
}
