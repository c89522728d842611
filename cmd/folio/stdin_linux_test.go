package main

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/test/testenv"
)

// Folio says when it waits for standard input to end, and ends at a signal meanwhile.
// Nothing is measured, and no file is left.
func TestInputThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"run", "--count", "2"}, {"tune"}} {
		c := newChild(t, append(args, "--", "gcprog", "-touch", "runs")...)
		in, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		stderr, err := os.Create(c.path("stderr"))
		if err != nil {
			t.Fatal(err)
		}
		tmp := t.TempDir()
		c.cmd.Stdin, c.cmd.Stderr = in, stderr
		c.cmd.Env = append(c.cmd.Env, "TMPDIR="+tmp)
		c.start()
		in.Close()
		if _, err := w.WriteString("begin"); err != nil {
			t.Fatal(err)
		}
		said := func() string {
			data, _ := os.ReadFile(stderr.Name())
			return string(data)
		}
		if !testenv.Within(func() bool { return strings.Contains(said(), "folio: reading standard input to its end") }) {
			t.Errorf("%s: no word of what it waits for: %q", args[0], said())
		}
		c.signal(unix.SIGINT)
		c.end(130)
		w.Close()
		stderr.Close()
		if !strings.HasSuffix(said(), "\nfolio: interrupted before anything was measured\n") || exists(c.path("runs")) {
			t.Errorf("%s: %q, the program ran: %t", args[0], said(), exists(c.path("runs")))
		}
		if names, _ := os.ReadDir(tmp); len(names) > 0 {
			t.Errorf("%s: left in TMPDIR: %v", args[0], names)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Several runs do not read what the user types.
func TestInputFromTerminal(t *testing.T) {
	t.Parallel()
	p := newPTY(t)
	c := newChild(t, "run", "--count", "2", "--", "gcprog", "-stdin")
	p.attach(c)
	p.start(c)
	c.end(0)
	<-p.done
	if got := c.stdout.String(); got != strings.Repeat("read 0 bytes\n", 3) {
		t.Errorf("standard output %q", got)
	}
}
