package trial

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

// collectOften makes the compiler collect on small packages, too: without GOGC
// it starts with a heap that they do not fill.
var collectOften = Setting{GOGC: "5"}

var traceLine = regexp.MustCompile(`(?m)^(gc \d+ @|# )`)

// module makes a module with these files and returns its directory.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		testenv.Missing(t, "%v", err)
	}
	dir := t.TempDir()
	files["go.mod"] = "module example.com/m\n\ngo 1.24\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// library is a package that needs no other, so that it compiles with an empty
// cache in no time, and that takes the compiler some memory.
func library() map[string]string {
	var b strings.Builder
	b.WriteString("package m\n")
	for i := range 300 {
		fmt.Fprintf(&b, "func F%d(a, b []int) (s int) { for i, x := range a { if x > %d { s += x * b[i] } else { s -= b[i] / (x*x + 1) } }; return }\n", i, i)
	}
	return map[string]string{"m.go": b.String()}
}

func goEnviron(cache string, extra ...string) []string {
	// The toolchain of this test, and nothing from the network.
	return setenv(os.Environ(), append([]string{"GOCACHE=" + cache, "GOTOOLCHAIN=local", "GOWORK=off", "GOENV=off",
		"GOFLAGS=", "GODEBUG="}, extra...)...)
}

func goRun(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// The go command keeps what a compiler prints and prints it again. A trace must
// not get into the user's cache.
func TestBuildCacheIsNotPoisoned(t *testing.T) {
	testenv.Long(t)
	waitForLines(t)
	dir := module(t, library())

	// The danger is real: without folio's care this is what happens.
	cache := t.TempDir()
	goRun(t, dir, goEnviron(cache, "GODEBUG=gctrace=1", "GOGC=5"), "build", "./...")
	if out := goRun(t, dir, goEnviron(cache), "build", "./..."); !traceLine.MatchString(out) {
		testenv.Missing(t, "this go command does not keep what a compiler prints")
	}

	for _, godebug := range []string{"", "http2client=0"} {
		cache := t.TempDir()
		for _, args := range [][]string{{"build", "./..."}, {"vet", "./..."}} {
			var out, errOut bytes.Buffer
			p := &subject{Program: Program{Command: append([]string{"go"}, args...), Dir: dir, Env: goEnviron(cache, "GODEBUG="+godebug),
				Trace: true, IsGo: true, Stdout: &out, Stderr: &errOut}}
			s := runOK(t, p, collectOften)
			if out.Len() > 0 || errOut.Len() > 0 {
				t.Errorf("GODEBUG=%s go %q printed %q, %q", godebug, args, &out, &errOut)
			}
			if s.GCCycles == nil || *s.GCCycles == 0 {
				t.Errorf("GODEBUG=%s go %q: %v collections of the go command itself", godebug, args, orNone(s.GCCycles))
			}
		}
		for _, args := range [][]string{{"build", "./..."}, {"vet", "./..."}} {
			if out := goRun(t, dir, goEnviron(cache, "GODEBUG="+godebug), args...); out != "" {
				t.Errorf("GODEBUG=%s: afterwards go %q prints %q", godebug, args, out)
			}
		}
	}
}

// What the compiler says to the user is shown all the same.
func TestCompileErrorIsShown(t *testing.T) {
	testenv.Long(t)
	dir := module(t, map[string]string{"m.go": "package m\n\nvar x int = \"text\"\n"})
	var errOut bytes.Buffer
	p := &subject{Program: Program{Command: []string{"go", "build", "./..."}, Dir: dir, Env: goEnviron(t.TempDir()), Trace: true, Stderr: &errOut}}
	s := run(t, p, collectOften)
	if orNone(s.ExitCode) != 1 || !strings.HasPrefix(errOut.String(), "# example.com/m\n") || strings.Count(errOut.String(), "\n") != 2 ||
		!strings.Contains(s.Reason(), "m.go:3") {
		t.Errorf("exit code %v, output %q, reason %q", orNone(s.ExitCode), &errOut, s.Reason())
	}
}

// The programs that a go command runs are traced.
func TestGoRunAndTestAreTraced(t *testing.T) {
	testenv.Long(t)
	waitForLines(t)
	const cycles = 300
	dir := module(t, map[string]string{
		"main.go": `package main

import "runtime"

func main() {
	for range ` + strconv.Itoa(cycles) + ` {
		runtime.GC()
	}
	println("done")
}
`,
		"main_test.go": `package main

import (
	"runtime"
	"testing"
)

func BenchmarkCollect(b *testing.B) {
	for range b.N {
		runtime.GC()
	}
}
`})
	// The user's cache has the standard library.
	env := setenv(os.Environ(), "GOTOOLCHAIN=local", "GOWORK=off", "GODEBUG=")
	var out, errOut bytes.Buffer
	p := &subject{Program: Program{Command: []string{"go", "run", "."}, Dir: dir, Env: env, Trace: true, Stdout: &out, Stderr: &errOut}}
	s := runOK(t, p, Setting{})
	if s.GCCycles == nil || *s.GCCycles < cycles {
		t.Errorf("go run: %v collections of a program that makes %d", orNone(s.GCCycles), cycles)
	}
	if out.Len() > 0 || errOut.String() != "done\n" {
		t.Errorf("go run: output %q, %q", &out, &errOut)
	}

	errOut.Reset()
	p = &subject{Program: Program{Command: []string{"go", "test", "-run=^$", "-bench=.", "-benchtime=" + strconv.Itoa(cycles) + "x"},
		Dir: dir, Env: env, Trace: true, Stdout: &out, Stderr: &errOut}}
	s = runOK(t, p, Setting{})
	if s.GCCycles == nil || *s.GCCycles < cycles {
		t.Errorf("go test: %v collections of a benchmark that makes %d", orNone(s.GCCycles), cycles)
	}
	if errOut.Len() > 0 || strings.Contains(out.String(), "gc 1 @") {
		t.Errorf("go test: output %q, %q", &out, &errOut)
	}
	found := false
	for name := range s.Metrics {
		found = found || strings.HasPrefix(name, "Collect") && strings.HasSuffix(name, " ns/op")
	}
	if !found {
		t.Errorf("go test: metrics %v of output %q", s.Metrics, &out)
	}
}
