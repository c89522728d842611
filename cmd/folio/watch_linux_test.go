package main

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/test/testenv"
)

// watchOn starts folio inspect --watch on a terminal of this width, and waits until it has
// drawn a process.
func watchOn(t *testing.T, columns int, args ...string) (*child, *pty) {
	t.Helper()
	p := newPTY(t)
	if err := unix.IoctlSetWinsize(int(p.user.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: uint16(columns)}); err != nil {
		t.Fatal(err)
	}
	c := newChild(t, append([]string{"inspect"}, args...)...)
	// bubbletea closes the reader of keys while it may still be asked for its descriptor.
	known := c.path("known.races")
	if err := os.WriteFile(known, []byte("race:github.com/muesli/cancelreader\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.cmd.Env = append(c.cmd.Env, "TERM=xterm", raceEnv+" suppressions="+known)
	c.cmd.Stdout, c.cmd.Stderr = p.tty, p.tty
	p.attach(c)
	p.start(c)
	if !testenv.Within(func() bool { return strings.Contains(p.text(), "part of RSS") && strings.Contains(p.text(), "q quit") }) {
		t.Fatalf("nothing is drawn: %q", p.text())
	}
	return c, p
}

// startInFile starts a command whose output is the file out, which can be read while it runs.
func startInFile(t *testing.T, c *child) {
	t.Helper()
	file, err := os.Create(c.path("out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	c.cmd.Stdout = file
	c.start()
}

// However the watch ends, the terminal is as it was before: in its mode, with its cursor, and
// with what was on it.
func TestWatchRestoresTerminal(t *testing.T) {
	t.Parallel()
	for _, w := range []struct {
		name string
		end  func(t *testing.T, c *child, p *pty, pid int)
		want string // after the screen
	}{
		{"q", func(t *testing.T, _ *child, p *pty, _ int) { p.press(t, "q") }, ""},
		{"ctrl-C", func(t *testing.T, _ *child, p *pty, _ int) { p.press(t, "\x03") }, ""},
		{"TERM", func(_ *testing.T, c *child, _ *pty, _ int) { _ = c.cmd.Process.Signal(syscall.SIGTERM) }, ""},
		{"INT", func(_ *testing.T, c *child, _ *pty, _ int) { _ = c.cmd.Process.Signal(os.Interrupt) }, ""},
		{"end", func(_ *testing.T, _ *child, _ *pty, pid int) { _ = unix.Kill(pid, unix.SIGKILL) }, "process PID has ended\r\n"},
	} {
		t.Run(w.name, func(t *testing.T) {
			pid := sleeper(t, 0)
			probe := newPTY(t)
			mode := func(p *pty) unix.Termios {
				m, err := unix.IoctlGetTermios(int(p.user.Fd()), unix.TCGETS)
				if err != nil {
					t.Fatal(err)
				}
				return *m
			}
			c, p := watchOn(t, 100, "--watch=20ms", strconv.Itoa(pid))
			if mode(p).Lflag&unix.ICANON != 0 {
				t.Error("the terminal is not in raw mode: keys are not seen at once")
			}
			w.end(t, c, p, pid)
			c.end(exitOK)
			if got, want := mode(p), mode(probe); got != want {
				t.Errorf("mode %+v, was %+v", got, want)
			}
			<-p.done
			text := p.text()
			const enter, leave, show = "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25h"
			if strings.Count(text, enter) != 1 || strings.Count(text, leave) != 1 || strings.LastIndex(text, show) < strings.LastIndex(text, "\x1b[?25l") {
				t.Errorf("the screen is not left: %q", text)
			}
			_, after, _ := strings.Cut(text, leave)
			if want := strings.ReplaceAll(w.want, "PID", strconv.Itoa(pid)); !strings.HasSuffix(after, want) {
				t.Errorf("after it: %q, want %q", after, want)
			}
		})
	}
}

// A process that becomes another program ends the readings, and what was read is kept.
func TestWatchedProgramBecomesAnother(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("gcprog", "-alloc", "8", "-become", "-pidfile", "/dev/stdout")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), raceEnv}
	in, out := testenv.Start(t, cmd)
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	pid := strconv.Itoa(cmd.Process.Pid)
	c := newChild(t, "inspect", "--watch=10ms", "--duration=1h", "--json=f.json", pid)
	startInFile(t, c)
	if !testenv.Within(func() bool { return lines(c.path("out")) > 5 }) {
		t.Fatal("no lines")
	}
	in.Close()
	c.end(exitOK)
	if want := "process " + pid + " began another program: readings end there\n"; c.stderr.String() != want {
		t.Errorf("%q, want %q", c.stderr.String(), want)
	}
	data, err := os.ReadFile(c.path("f.json"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := result.Read("f.json", data)
	if err != nil {
		t.Fatal(err)
	}
	p := r.Of.(*result.Inspect).Process
	if len(p.OverTime.Seconds) < 2 || !slices.Contains(p.Command, "-become") {
		t.Errorf("%d readings of %q", len(p.OverTime.Seconds), p.Command)
	}
}

// What is said of page faults is of all the time that it was watched, wherever it is said.
func TestWatchFaults(t *testing.T) {
	t.Parallel()
	c := newChild(t, "inspect", "--duration", "600ms", "--json", "-", strconv.Itoa(sleeper(t, 0)))
	c.start()
	c.end(exitOK)
	r, err := result.Read("-", c.stdout.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	p := r.Of.(*result.Inspect).Process
	last := len(p.OverTime.Seconds) - 1
	// The last look begins after the reading before it.
	if p.Faults == nil || p.Faults.Minor != p.OverTime.Minor[last] || p.Faults.Seconds < p.OverTime.Seconds[max(last-1, 0)] {
		t.Errorf("faults %+v; over time %v in %v", p.Faults, p.OverTime.Minor, p.OverTime.Seconds)
	}
}

// Without a terminal, and on one that cannot be drawn on, each reading is a line.
func TestWatchInLines(t *testing.T) {
	t.Parallel()
	pid := strconv.Itoa(sleeper(t, 0))
	read := func(text string) {
		t.Helper()
		lines := strings.Split(strings.ReplaceAll(text, "\r", ""), "\n")
		if len(lines) < 8 || !strings.HasPrefix(lines[0], "process "+pid+": gcprog ") || !strings.HasPrefix(lines[1], "go1.") ||
			strings.Join(strings.Fields(lines[2]), " ") != "time RSS of limit a minute live heap other Go GC cycles minor/s major/s" ||
			strings.Contains(text, "\x1b") {
			t.Fatalf("%q", text)
		}
		if f := strings.Fields(lines[3]); len(f) != 9 || f[0] != "0s" || !strings.HasSuffix(f[1], "MiB") || !strings.HasSuffix(f[4], "MiB") || f[7] != "-" {
			t.Errorf("%q", lines[3])
		}
		if !strings.HasPrefix(lines[3], "      ") || len(lines[3]) != len(lines[2]) {
			t.Errorf("columns:\n%s\n%s", lines[2], lines[3])
		}
	}
	c := newChild(t, "inspect", "--watch=10ms", pid)
	startInFile(t, c)
	if !testenv.Within(func() bool { return lines(c.path("out")) > 8 }) {
		t.Error("no lines")
	}
	_ = c.cmd.Process.Signal(os.Interrupt)
	c.end(exitOK)
	text, err := os.ReadFile(c.path("out"))
	if err != nil {
		t.Fatal(err)
	}
	read(string(text))

	p := newPTY(t)
	c = newChild(t, "inspect", "--watch=10ms", pid)
	c.cmd.Env = append(c.cmd.Env, "TERM=dumb")
	c.cmd.Stdout, c.cmd.Stderr = p.tty, p.tty
	p.attach(c)
	p.start(c)
	if !testenv.Within(func() bool { return strings.Count(p.text(), "\n") > 8 }) {
		t.Error("no lines")
	}
	_ = c.cmd.Process.Signal(os.Interrupt)
	c.end(exitOK)
	<-p.done
	read(p.text())
}
