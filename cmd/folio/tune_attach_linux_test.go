package main

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

// Whatever ends a search of a running process, the process has what it had before.
func TestTuneAttachKilled(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			pid := strconv.Itoa(sleeper(t, 0, "-alloc", "8", "-churn"))
			c := newChild(t, "tune", "--attach", pid, "--block", "1s", "--seed", "1", "--json", "f.json")
			c.cmd.Env = append(c.cmd.Env, "XDG_RUNTIME_DIR="+t.TempDir())
			now := func() string {
				cmd := exec.Command("folio", "set", pid)
				cmd.Env = append(c.cmd.Env[:len(c.cmd.Env):len(c.cmd.Env)], c.mark+"other")
				out, err := cmd.CombinedOutput()
				if err != nil && sig != syscall.SIGKILL { // which may leave half of a change, until the guard restores
					t.Fatalf("%v: %s", err, out)
				}
				return string(out)
			}
			const before = ": GOGC=100 (default), GOMEMLIMIT=off (default)\n"
			c.start()
			if !testenv.Within(func() bool { return !strings.HasSuffix(now(), before) }) {
				t.Fatal("nothing was set")
			}
			other := exec.Command("folio", "tune", "--attach", pid)
			other.Env = c.cmd.Env
			if out, err := other.CombinedOutput(); err == nil || !strings.Contains(string(out), "another folio set is in effect") {
				t.Errorf("%v: %s", err, out)
			}
			if c.signal(sig); sig == syscall.SIGKILL {
				_ = c.cmd.Wait()
			} else {
				c.end(exitInterrupted)
			}
			if !testenv.Within(func() bool { return strings.HasSuffix(now(), before) }) {
				t.Errorf("after %v: %s", sig, now())
			}
			if !testenv.Within(func() bool { return len(processesWith(c.mark)) == 0 }) {
				t.Errorf("processes left: %q", processesWith(c.mark))
			}
		})
	}
}
