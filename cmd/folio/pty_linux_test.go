package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A pty is a terminal with the test as its user.
type pty struct {
	user *os.File // what the user types and sees
	tty  *os.File // what folio has

	mu   sync.Mutex
	seen bytes.Buffer
	done chan struct{} // closed when all that has the terminal is gone
}

func newPTY(t *testing.T) *pty {
	t.Helper()
	// Without O_NONBLOCK a read could not be waited for by the runtime.
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatalf("open a terminal: %v", err)
	}
	p := &pty{user: os.NewFile(uintptr(fd), "/dev/ptmx"), done: make(chan struct{})}
	t.Cleanup(func() { p.user.Close() })
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 60})
	}
	if err == nil {
		p.tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatalf("set up a terminal: %v", err)
	}
	return p
}

// attach makes the terminal the child's, with the streams that stay unset.
func (p *pty) attach(c *child) {
	c.cmd.Stdin = p.tty
	c.cmd.SysProcAttr.Setctty, c.cmd.SysProcAttr.Ctty = true, 0
}

// start starts the child and watches the terminal.
func (p *pty) start(c *child) {
	c.start()
	p.tty.Close()
	go func() {
		defer close(p.done)
		buf := make([]byte, 4096)
		for {
			n, err := p.user.Read(buf)
			p.mu.Lock()
			p.seen.Write(buf[:n])
			p.mu.Unlock()
			if err != nil { // EIO: nobody has the terminal any more
				return
			}
		}
	}()
}

func (p *pty) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

func (p *pty) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(p.user, keys); err != nil {
		t.Fatal(err)
	}
}

func TestProgressOnTerminal(t *testing.T) {
	t.Parallel()
	p := newPTY(t)
	c := newChild(t, "tune", "--max-rss", "1GiB", "--rounds", "3", "--", "gcprog", "-work", "1")
	p.attach(c)
	c.cmd.Stderr = p.tty
	p.start(c)
	c.end(0)
	<-p.done
	got := p.text()
	for _, want := range []string{"warm-up: default", "race: at most ", " left, ", "round 1, run ", "final: at most ", "\r\x1b[K"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not on the terminal", want)
		}
	}
	if !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("the line is not taken away at the end: %q", got[max(0, len(got)-80):])
	}
	for _, l := range strings.Split(got, "\r\x1b[K") {
		if len([]rune(l)) > 59 || strings.Contains(l, "\n") || strings.Contains(l, ":…") {
			t.Errorf("the line wraps: %q", l)
		}
	}
	if strings.Contains(c.stdout.String(), "\x1b") || !strings.Contains(c.stdout.String(), "\n  default ") {
		t.Errorf("standard output: %q", &c.stdout)
	}
}

// Only a terminal that can do it gets a live line.
func TestNoProgress(t *testing.T) {
	t.Parallel()
	p := newPTY(t)
	c := newChild(t, "tune", "--max-rss", "1GiB", "--rounds", "1", "--", "gcprog")
	c.cmd.Env = append(c.cmd.Env, "TERM=dumb")
	p.attach(c)
	c.cmd.Stderr = p.tty
	p.start(c)
	c.end(0)
	<-p.done
	if got := p.text(); got != "" {
		t.Errorf("on a dumb terminal: %q", got)
	}

	c = newChild(t, "tune", "--max-rss", "1GiB", "--rounds", "1", "--", "gcprog")
	p = newPTY(t)
	p.attach(c)
	c.cmd.Stdout = p.tty // standard error is none
	p.start(c)
	c.end(0)
	<-p.done
	if got := p.text(); strings.Contains(got, "\x1b") || !strings.Contains(got, "\n  default ") {
		t.Errorf("on standard output: %q", got)
	}
	if c.stderr.Len() > 0 {
		t.Errorf("standard error: %q", &c.stderr)
	}
}

// The terminal sends ctrl-C to folio and its program alike.
func TestCtrlC(t *testing.T) {
	t.Run("tune", func(t *testing.T) {
		t.Parallel()
		p := newPTY(t)
		c := newChild(t, "tune", "--max-rss", "1GiB", "--rounds", "1000", "--exhaustive", "--json", "f.json", "--",
			"gcprog", "-touch", "runs", "-sleep", "20ms")
		p.attach(c)
		c.cmd.Stdout, c.cmd.Stderr = p.tty, p.tty
		p.start(c)
		c.awaitRuns(100) // a round of all settings, and more
		p.press(t, "\x03")
		c.end(130)
		<-p.done
		report := strings.ReplaceAll(p.text(), "\r\n", "\n")
		report = report[strings.LastIndex(report, "\r\x1b[K")+len("\r\x1b[K"):]
		if !strings.HasPrefix(report, "$ gcprog ") || !strings.Contains(strings.ReplaceAll(report, "\n ", ""), " interrupted in round ") ||
			!strings.Contains(report, "\n  default ") {
			t.Errorf("what is known is not shown: %q", report)
		}
		if strings.Contains(report, "SIGINT") {
			t.Errorf("the user's interrupt counts as the program's failure:\n%s", report)
		}
		if r, n := c.result("f.json"); r.Complete || n < 30 {
			t.Errorf("result: complete %v, %d samples", r.Complete, n)
		}
	})
	t.Run("run", func(t *testing.T) {
		t.Parallel()
		p := newPTY(t)
		c := newChild(t, "run", "--", "gcprog", "-catch", "-touch", "runs", "-sleep", "1h")
		p.attach(c)
		p.start(c)
		c.awaitRuns(1)
		p.press(t, "\x03")
		c.end(9)
		<-p.done
		// Passed on as well, it would come twice: "now!" to many programs.
		if got := c.stdout.String(); got != "interrupts: 1\n" {
			t.Errorf("standard output %q", got)
		}
		if !strings.Contains(c.stderr.String(), "s wall time, ") {
			t.Errorf("standard error %q", &c.stderr)
		}
	})
	t.Run("stopped by ctrl-backslash", func(t *testing.T) {
		t.Parallel()
		p := newPTY(t)
		c := newChild(t, "run", "--", "sh", "-c", "echo >>runs; exec sleep 1000")
		p.attach(c)
		p.start(c)
		c.awaitRuns(1)
		p.press(t, "\x1c")
		c.end(128 + int(syscall.SIGQUIT))
		<-p.done
	})
}
