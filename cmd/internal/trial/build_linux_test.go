package trial

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

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

func goEnviron(cache string, extra ...string) []string {
	// The toolchain of this test, and nothing from the network.
	return setenv(os.Environ(), append([]string{"GOCACHE=" + cache, "GOTOOLCHAIN=local", "GOWORK=off", "GOENV=off",
		"GOFLAGS=", "GODEBUG="}, extra...)...)
}

// What the compiler says to the user is shown all the same.
func TestCompileErrorIsShown(t *testing.T) {
	testenv.Long(t)
	dir := module(t, map[string]string{"m.go": "package m\n\nvar x int = \"text\"\n"})
	var errOut bytes.Buffer
	p := &subject{Program: Program{Command: []string{"go", "build", "./..."}, Dir: dir, Env: goEnviron(t.TempDir()), ReadGC: true, Stderr: &errOut}}
	s := run(t, p, Setting{GOGC: "5"})
	if orNone(s.ExitCode) != 1 || !strings.HasPrefix(errOut.String(), "# example.com/m\n") || strings.Count(errOut.String(), "\n") != 2 ||
		!strings.Contains(s.Reason(), "m.go:3") {
		t.Errorf("exit code %v, output %q, reason %q", orNone(s.ExitCode), &errOut, s.Reason())
	}
}

// The programs that a go command runs are read, its compilers too.
func TestGoRunAndTestAreRead(t *testing.T) {
	testenv.Long(t)
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
	p := &subject{Program: Program{Command: []string{"go", "run", "."}, Dir: dir, Env: env, ReadGC: true, Stdout: &out, Stderr: &errOut}}
	s := runOK(t, p, Setting{})
	if s.GCCycles == nil || *s.GCCycles < cycles {
		t.Errorf("go run: %v collections of a program that makes %d", orNone(s.GCCycles), cycles)
	}
	if out.Len() > 0 || errOut.String() != "done\n" {
		t.Errorf("go run: output %q, %q", &out, &errOut)
	}

	errOut.Reset()
	p = &subject{Program: Program{Command: []string{"go", "test", "-run=^$", "-bench=.", "-benchtime=" + strconv.Itoa(cycles) + "x"},
		Dir: dir, Env: env, ReadGC: true, Stdout: &out, Stderr: &errOut}}
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
