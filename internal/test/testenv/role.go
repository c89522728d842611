package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// RoleEnv makes a test binary the program of a role: what is looked at from outside, or
// changes its own process, needs a process of its own.
const RoleEnv = "FOLIO_TEST_ROLE"

// PlayRole does what the role of this process says, and ends it. It returns in the process
// of the tests. Call it first in TestMain.
func PlayRole(roles map[string]func() error) {
	name := os.Getenv(RoleEnv)
	if name == "" {
		return
	}
	role := roles[name]
	if role == nil {
		fmt.Fprintln(os.Stderr, "unknown role", name)
		os.Exit(2)
	}
	if err := role(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Role returns this test binary as a command in a role, with variables as GODEBUG=...
// besides those of the tests. With the race detector it does not sleep for a second before
// it ends.
func Role(t testing.TB, name string, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), "GORACE=atexit_sleep_ms=0", RoleEnv+"="+name), env...)
	return cmd
}

// RunRole runs a role and returns what it prints. The test fails if the role does.
func RunRole(t testing.TB, name string, env ...string) (stdout, stderr string) {
	t.Helper()
	cmd := Role(t, name, env...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("role %s: %v\n%s%s", name, err, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

// RunIn runs the tests of a package with a directory of their own in a variable, so that what the
// code keeps for its user is kept there and removed. It returns the exit code.
func RunIn(m *testing.M, variable string) int {
	dir, err := os.MkdirTemp("", "folio-test-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = os.Setenv(variable, dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
