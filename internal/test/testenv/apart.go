package testenv

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// apartEnv is set in a process of one test.
const apartEnv = "FOLIO_TEST_APART"

// Beside lets n parallel tests of a package run at once, unless go test -parallel says
// how many: tests that wait leave CPUs to others. Call it first in TestMain.
func Beside(n string) {
	if err := flag.Set("test.parallel", n); err != nil {
		panic(err)
	}
}

// Apart runs the test in a process of its own, beside others, and returns true once it
// has: return then. It is for tests that mostly wait and must be alone in their process,
// as those that look at all its children. Whether the test passed, failed or was skipped
// is the same either way.
func Apart(t *testing.T) bool {
	t.Helper()
	if os.Getenv(apartEnv) != "" {
		return false
	}
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := "^" + t.Name() + "$"
	if _, sub, ok := strings.Cut(flag.Lookup("test.run").Value.String(), "/"); ok {
		run += "/" + sub
	}
	args := []string{"-test.v", "-test.run=" + run}
	for _, name := range []string{"test.short", "test.timeout"} {
		args = append(args, "-"+name+"="+flag.Lookup(name).Value.String())
	}
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Env = append(os.Environ(), apartEnv+"=1")
	out, err := cmd.CombinedOutput()
	ended := func(how string) bool { return bytes.Contains(out, []byte("--- "+how+": "+t.Name()+" (")) }
	switch {
	case err == nil && ended("SKIP"):
		t.Skipf("%s", out)
	case err != nil || !ended("PASS"):
		t.Fatalf("%q: %v\n%s", cmd.Args, err, out)
	}
	return true
}
