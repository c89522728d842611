package settings

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The test binary is also the guard.
func TestMain(m *testing.M) {
	var err error
	switch {
	case len(os.Args) > 1 && os.Args[1] == "guard":
		err = Main([]string{"guard"}, os.Args[2:], os.Stdin, os.Stdout)
	default:
		os.Setenv("GORACE", "atexit_sleep_ms=0") // of the processes that it starts
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// The real guard puts back what a killed process changed.
func TestGuardProcess(t *testing.T) {
	_, file, _ := files(t)
	c, err := New([]string{os.Args[0], "guard"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Apply([]Change{{Path: file, Value: "never"}}); err != nil {
		t.Fatal(err)
	}
	if got, _ := Read(file); got != "never" {
		t.Errorf("%s holds %s", file, got)
	}
	if err := c.guard.Close(); err != nil { // what the kernel does when this process dies
		t.Fatal(err)
	}
	if got, _ := Read(file); got != "madvise" {
		t.Errorf("%s holds %s after the guard's end", file, got)
	}
	if _, err := New([]string{"/no/such/program"}); err == nil ||
		!strings.Contains(err.Error(), "start the process that puts settings back") {
		t.Errorf("no program: %v", err)
	}
	if _, err := New([]string{"/bin/true"}); err == nil {
		t.Error("a program that is not a guard is taken for one")
	}
}
