package testenv

import (
	"bufio"
	"io"
	"os/exec"
	"testing"
)

// Start starts a program that a test looks at from outside: it says on its standard
// output what it has done, and goes on or ends when its standard input does. How
// it ends, and whether that must be well, is for the test to say.
func Start(t testing.TB, cmd *exec.Cmd) (in io.WriteCloser, out *bufio.Reader) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return in, bufio.NewReader(pipe)
}
