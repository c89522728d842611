package main

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

// Whatever ends folio, the process has what it had before.
func TestSetKilled(t *testing.T) {
	for sig, code := range map[syscall.Signal]int{syscall.SIGKILL: 0, syscall.SIGTERM: exitInterrupted, syscall.SIGINT: exitInterrupted} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			pid := strconv.Itoa(sleeper(t, 0))
			c := newChild(t, "set", "--gogc", "25", "--memlimit", "1GiB", "--for", "1h", pid)
			run := t.TempDir()
			c.cmd.Env = append(c.cmd.Env, "XDG_RUNTIME_DIR="+run)
			now := func() string {
				cmd := exec.Command("folio", "set", pid)
				cmd.Env = append(c.cmd.Env[:len(c.cmd.Env):len(c.cmd.Env)], c.mark+"other")
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				return string(out)
			}
			if got := now(); !strings.HasSuffix(got, ": GOGC=100 (default), GOMEMLIMIT=off (default)\n") {
				t.Fatal(got)
			}
			c.start()
			if !testenv.Within(func() bool {
				return strings.HasSuffix(now(), ": GOGC=25 (folio set), GOMEMLIMIT=1GiB (folio set)\n")
			}) {
				t.Fatal(now())
			}
			other := exec.Command("folio", "set", "--gogc", "50", pid)
			other.Env = c.cmd.Env
			if out, err := other.CombinedOutput(); err == nil || !strings.Contains(string(out), "its settings are held by another folio set") {
				t.Errorf("%v: %s", err, out)
			}
			if sig == syscall.SIGKILL { // the guard needs a moment
				_ = c.cmd.Process.Kill()
				_ = c.cmd.Wait()
				// Nobody may take the settings of the killed one for those before it.
				next := exec.Command("folio", "set", "--gogc", "25", "--for", "1ms", pid)
				next.Env = other.Env
				if out, err := next.CombinedOutput(); err == nil && !strings.Contains(string(out), ": GOGC=100 -> 25\n") ||
					err != nil && !strings.Contains(string(out), "its settings are held by another folio set") {
					t.Errorf("%v: %s", err, out)
				}
			} else {
				c.signal(sig)
				c.end(code)
			}
			if !testenv.Within(func() bool {
				return strings.HasSuffix(now(), ": GOGC=100 (default), GOMEMLIMIT=off (default)\n")
			}) {
				t.Errorf("after %v: %s", sig, now())
			}
			if !testenv.Within(func() bool { return len(processesWith(c.mark)) == 0 }) {
				t.Errorf("processes left: %q", processesWith(c.mark))
			}
		})
	}
}

// An ordinary user changes their own processes, and no others; what root holds is held for
// all.
func TestSetUnprivileged(t *testing.T) {
	t.Parallel()
	testenv.Root(t, "to become somebody else")
	program := byNobody(t, "-sleep", "1h")
	program.cmd.Args[0] = "gcprog"
	program.start()
	others, own := strconv.Itoa(sleeper(t, 0)), strconv.Itoa(program.cmd.Process.Pid)
	has := func(want string) bool {
		return testenv.Within(func() bool {
			out, _ := exec.Command("folio", "set", own).Output()
			return strings.Contains(string(out), want)
		})
	}
	if !has("GOGC=100 ") { // at first it is not yet another user's
		t.Fatal("it does not run")
	}
	const none = "XDG_RUNTIME_DIR=/nonexistent" // nothing is to be left in /tmp
	set := func(args ...string) (stdout, stderr string, code int) {
		c := byNobody(t, args...)
		c.cmd.Env = append(c.cmd.Env, none)
		c.start()
		_ = c.cmd.Wait()
		return c.stdout.String(), c.stderr.String(), c.cmd.ProcessState.ExitCode()
	}
	refused := func(want string, args ...string) {
		t.Helper()
		stdout, stderr, code := set(args...)
		if code != exitFailure || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "folio: set process ") || !strings.Contains(stderr, want) {
			t.Errorf("%q: code %d, %q, %q", args, code, stdout, stderr)
		}
	}
	refused("CAP_SYS_PTRACE", "set", "--gogc", "50", others)
	refused("CAP_SYS_PTRACE", "set", others)
	if stdout, stderr, code := set("set", "--gogc", "50", own); code != exitOK || stderr != "" || !strings.Contains(stdout, ": GOGC=100 -> 50\n") {
		if strings.Contains(stderr, "yama") {
			testenv.Missing(t, "ptrace own processes: %s", stderr)
		}
		t.Errorf("its own: code %d, %q, %q", code, stdout, stderr)
	}
	c := newChild(t, "set", "--gogc", "60", "--for", "1h", own)
	c.cmd.Env = append(c.cmd.Env, none)
	c.start()
	if !has("GOGC=60 ") {
		t.Error("it was not set")
	}
	refused("its settings are held by another folio set", "set", "--gogc", "70", own)
	c.signal(syscall.SIGTERM)
	c.end(exitInterrupted)
}
