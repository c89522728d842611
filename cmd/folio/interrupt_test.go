//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/test/testenv"
)

// A child is folio as a user started it, in a session of its own: no terminal
// but the one that a test gives it.
type child struct {
	t              *testing.T
	cmd            *exec.Cmd
	dir, mark      string
	stdout, stderr bytes.Buffer
}

var marks atomic.Int32

// newChild prepares a folio in a new directory. Its processes are known by mark.
func newChild(t *testing.T, args ...string) *child {
	t.Helper()
	c := &child{t: t, dir: t.TempDir(), mark: fmt.Sprintf("FOLIO_TEST_MARK=%d.%d", os.Getpid(), marks.Add(1))}
	c.cmd = exec.Command("folio", args...)
	c.cmd.Dir = c.dir
	c.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "TERM=xterm", raceEnv, noTelemetry(), userCache(), c.mark}
	c.cmd.Stdout, c.cmd.Stderr = &c.stdout, &c.stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return c
}

func (c *child) start() {
	c.t.Helper()
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // ended already, unless the test failed
		if c.t.Failed() {
			c.t.Logf("stdout:\n%s\nstderr:\n%s", &c.stdout, &c.stderr)
		}
	})
}

func (c *child) path(name string) string { return filepath.Join(c.dir, name) }

// awaitRuns waits until the program, which runs with -touch runs, began n times.
func (c *child) awaitRuns(n int) {
	c.t.Helper()
	if !testenv.Within(func() bool { return lines(c.path("runs")) >= n }) {
		_ = c.cmd.Process.Kill()
		c.t.Fatalf("the program ran %d times, want %d", lines(c.path("runs")), n)
	}
}

func (c *child) signal(sig syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(sig); err != nil {
		c.t.Fatal(err)
	}
}

// end waits for folio, which must end with code and leave no process.
func (c *child) end(code int) {
	c.t.Helper()
	timer := time.AfterFunc(testenv.Patience, func() { _ = c.cmd.Process.Kill() })
	defer timer.Stop()
	err := c.cmd.Wait()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) && !errors.Is(err, io.EOF) {
		c.t.Fatal(err)
	}
	if got := c.cmd.ProcessState.ExitCode(); got != code {
		c.t.Errorf("exit code %d (%v), want %d", got, c.cmd.ProcessState, code)
	}
	c.noProcesses()
}

// noProcesses checks that none is left. A guard that sees folio end by a pipe ends a moment later.
func (c *child) noProcesses() {
	c.t.Helper()
	if !testenv.Within(func() bool { return len(processesWith(c.mark)) == 0 }) {
		c.t.Errorf("processes left: %q", processesWith(c.mark))
	}
}

// written is what the tests look at in a JSON file.
type written struct {
	Complete        bool
	Seed            *uint64
	Arms            []struct{ Samples []struct{ Sequence int } }
	Recommendations []struct{ Goal string }
}

func (c *child) result(name string) (r written, samples int) {
	c.t.Helper()
	data, err := os.ReadFile(c.path(name))
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	for _, a := range r.Arms {
		samples += len(a.Samples)
	}
	left, _ := filepath.Glob(c.path(".f.json*"))
	if len(left) > 0 {
		c.t.Errorf("temporary files left: %q", left)
	}
	return r, samples
}

func TestTuneInterrupted(t *testing.T) {
	for _, sig := range []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			if sig != unix.SIGINT {
				testenv.Long(t)
			}
			t.Parallel()
			c := newChild(t, "tune", "--max-rss", "1GiB", "--rounds", "1000", "--exhaustive", "--json", "f.json",
				"--bench", "b.txt", "--", "gcprog", "-touch", "runs")
			c.start()
			c.awaitRuns(60)
			c.signal(sig)
			c.end(130)
			if out := c.stdout.String(); !strings.Contains(out, ", interrupted in round ") || !strings.Contains(out, "\n  default ") {
				t.Error("what is known is not shown")
			}
			if c.stderr.Len() > 0 {
				t.Errorf("standard error: %q", &c.stderr)
			}
			r, n := c.result("f.json")
			runs := lines(c.path("runs"))
			if r.Complete || n < 50 || n > runs || len(r.Recommendations) == 0 {
				t.Errorf("result: complete %v, %d samples of %d runs, %d recommendations", r.Complete, n, runs, len(r.Recommendations))
			}
			if got := lines(c.path("b.txt")); got < n {
				t.Errorf("benchmark file has %d lines for %d samples", got, n)
			}
		})
	}
}

// Programs that do not mind TERM are killed, sooner if the user insists.
func TestTuneInterruptedTwice(t *testing.T) {
	t.Parallel()
	c := newChild(t, "tune", "--json", "f.json", "--", "gcprog", "-ignore", "-background", "-touch", "runs", "-sleep", "1h")
	c.start()
	c.awaitRuns(1)
	c.signal(unix.SIGINT)
	c.signal(unix.SIGTERM) // unlike the same signal, never merged with the first
	c.end(130)
}

func TestTuneInterruptedInFirstRun(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"tune", "--json", "f.json", "--", "gcprog", "-touch", "runs", "-sleep", "1h"},
		{"run", "--count", "3", "--json", "f.json", "--", "gcprog", "-touch", "runs", "-sleep", "1h"},
	} {
		c := newChild(t, args...)
		c.start()
		c.awaitRuns(1)
		c.signal(unix.SIGINT)
		c.end(130)
		if got := c.stderr.String(); got != "folio: interrupted before anything was measured\n" {
			t.Errorf("%s: standard error %q", args[0], got)
		}
		if c.stdout.Len() > 0 {
			t.Errorf("%s: standard output %q", args[0], &c.stdout)
		}
		if r, n := c.result("f.json"); r.Complete || n > 0 {
			t.Errorf("%s: result: complete %v, %d samples", args[0], r.Complete, n)
		}
	}
}

// What was measured in the first round is shown and kept.
func TestTuneInterruptedInRoundOne(t *testing.T) {
	t.Parallel()
	c := newChild(t, "tune", "--json", "f.json", "--html", "f.html", "--", "gcprog", "-touch", "runs", "-sleep", "100ms")
	c.start()
	c.awaitRuns(8) // the warm-up, six that count, and one that does not
	c.signal(unix.SIGINT)
	c.end(130)
	out := c.stdout.String()
	if !strings.Contains(out, "\n\nNothing was compared: interrupted in round 1 of the race.\n") ||
		!strings.Contains(out, "\n  setting ") || strings.Contains(out, "vs default") {
		t.Errorf("standard output: %s", out)
	}
	if c.stderr.Len() > 0 {
		t.Errorf("standard error: %q", &c.stderr)
	}
	r, n := c.result("f.json")
	if r.Complete || n < 6 || len(r.Recommendations) > 0 {
		t.Errorf("result: complete %v, %d samples, %d recommendations", r.Complete, n, len(r.Recommendations))
	}
	if page, err := os.ReadFile(c.path("f.html")); err != nil || !strings.Contains(string(page), "interrupted in round 1 of the race") {
		t.Errorf("the page does not say that: %v", err)
	}
}

func TestTuneInterruptedUnderLoad(t *testing.T) {
	t.Parallel()
	port, err := testenv.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	c := newChild(t, "tune", "--json", "f.json", "--ready", "tcp:127.0.0.1:"+port, "--load",
		"load -touch runs -sleep 1h -port "+port, "--", "server", "-port", port)
	c.start()
	c.awaitRuns(1)
	c.signal(unix.SIGINT)
	c.end(130)
	if got := c.stderr.String(); got != "folio: interrupted before anything was measured\n" {
		t.Errorf("standard error %q", got)
	}
}

// Ctrl-C ends the load; what it found until then is shown, and is not a run that counts.
func TestRunInterruptedUnderRate(t *testing.T) {
	t.Parallel()
	port, err := testenv.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	c := newChild(t, "run", "--json", "f.json", "--ready", "http://127.0.0.1:"+port+"/healthz", "--rate", "50", "--load-duration", "1h",
		"--load-warmup", "0s", "--target", "http://127.0.0.1:"+port+"/touch", "--", "server", "-port", port)
	c.start()
	c.awaitRuns(40) // of which a busy server has answered but some
	c.signal(unix.SIGINT)
	c.end(130)
	if got := c.stderr.String(); !strings.Contains(got, "; not complete: of the requests until then\n") || strings.Contains(got, "folio: ") {
		t.Errorf("standard error %q", got)
	}
	data, err := os.ReadFile(c.path("f.json"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := result.Read("f.json", data)
	if err != nil || len(r.Program().Arms[0].Samples) != 1 {
		t.Fatalf("%v, %s", err, data)
	}
	s := r.Program().Arms[0].Samples[0]
	if s.Failure != "interrupted under load" || !s.Interrupted || s.Load == nil || s.Load.Complete || s.Load.Succeeded == 0 || r.Program().Arms[0].Load.Runs != 0 {
		t.Errorf("%+v, load %+v", s, s.Load)
	}
}

// Of a server that is waited for nothing is measured.
func TestRunInterruptedBeforeReady(t *testing.T) {
	t.Parallel()
	port, err := testenv.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	for _, load := range []string{"--rate=50", "--load=true"} {
		for _, sig := range []syscall.Signal{unix.SIGINT, unix.SIGTERM} {
			c := newChild(t, "run", "--ready", "http://127.0.0.1:"+port+"/", load, "--", "gcprog", "-touch", "runs", "-sleep", "1h")
			c.start()
			c.awaitRuns(1)
			c.signal(sig)
			c.end(130)
			if got := c.stderr.String(); !strings.Contains(strings.Join(strings.Fields(got), " "), "Interrupted: The run was interrupted before the server answered at http://127.0.0.1:") || strings.Contains(got, "folio: ") {
				t.Errorf("%s, %v: standard error %q", load, sig, got)
			}
		}
	}
}

// A program that ctrl-C ends has not failed, and its figures are of the time until then.
func TestRunInterrupted(t *testing.T) {
	t.Parallel()
	c := newChild(t, "run", "--json", "f.json", "--", "gcprog", "-touch", "runs", "-sleep", "1h")
	c.start()
	c.awaitRuns(1)
	c.signal(unix.SIGINT)
	c.end(130)
	got := c.stderr.String()
	if !strings.Contains(got, "\nInterrupted after ") || !strings.Contains(got, "s: Figures until then.\n") || strings.Contains(got, "ailed") {
		t.Errorf("standard error %q", got)
	}
	if _, n := c.result("f.json"); n != 1 {
		t.Errorf("%d samples", n)
	}
}

func TestLeaksInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	other := exec.Command("sleep", "3600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = other.Process.Kill(), other.Wait() }()
	for pid, said := range map[int]string{sleeper(t, 0): "", other.Process.Pid: "folio: note: not a Go program: only the parts of its memory are watched\n"} {
		var stdout, stderr bytes.Buffer
		err := run(ctx, []string{"leaks", strconv.Itoa(pid)}, nil, &stdout, &stderr)
		if code := exit(&stderr, err); code != 130 || !strings.Contains(stdout.String(), ", when it was interrupted: ") || stderr.String() != said {
			t.Errorf("exit code %d, %q, standard error %q", code, &stdout, &stderr)
		}
	}
}

func TestRunCountInterrupted(t *testing.T) {
	t.Parallel()
	c := newChild(t, "run", "--count", "100000", "--json", "f.json", "--", "gcprog", "-touch", "runs")
	c.start()
	c.awaitRuns(10)
	c.signal(unix.SIGINT)
	c.end(130)
	if !strings.Contains(c.stderr.String(), ", medians of ") || strings.Contains(c.stderr.String(), "folio: ") {
		t.Error("the sheet is not shown, or more than it")
	}
	if r, n := c.result("f.json"); r.Complete || n < 8 {
		t.Errorf("result: complete %v, %d samples", r.Complete, n)
	}
}

// A single run leaves signals to the program.
func TestRunPassesSignals(t *testing.T) {
	t.Parallel()
	t.Run("caught", func(t *testing.T) {
		c := newChild(t, "run", "--json", "f.json", "--", "gcprog", "-catch", "-touch", "runs", "-sleep", "1h")
		c.start()
		c.awaitRuns(1)
		c.signal(unix.SIGINT)
		c.end(9)
		if got := c.stdout.String(); got != "interrupts: 1\n" {
			t.Errorf("standard output %q", got)
		}
		if !strings.Contains(c.stderr.String(), "s wall time, ") {
			t.Error("no figures")
		}
		if r, n := c.result("f.json"); !r.Complete || n != 1 {
			t.Errorf("result: complete %v, %d samples", r.Complete, n)
		}
	})
	t.Run("deadly", func(t *testing.T) {
		c := newChild(t, "run", "--", "gcprog", "-touch", "runs", "-sleep", "1h")
		c.start()
		c.awaitRuns(1)
		c.signal(unix.SIGTERM)
		c.end(143)
	})
	t.Run("ignored", func(t *testing.T) {
		c := newChild(t, "run", "--", "gcprog", "-ignore", "-touch", "runs", "-sleep", "1h")
		c.start()
		c.awaitRuns(1)
		c.signal(unix.SIGINT)
		c.signal(unix.SIGTERM)
		c.end(137)
	})
}

// Even when folio is killed, its program does not outlive it.
func TestKilled(t *testing.T) {
	t.Parallel()
	c := newChild(t, "tune", "--", "gcprog", "-ignore", "-touch", "runs", "-sleep", "1h")
	// The program holds no stream of this process: Wait would wait for it.
	c.start()
	c.awaitRuns(1)
	c.signal(unix.SIGKILL)
	_ = c.cmd.Wait()
	if !testenv.Within(func() bool { return len(processesWith(c.mark)) == 0 }) {
		c.noProcesses()
	}
}
