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
			if got := now(); !strings.HasSuffix(got, ": GOGC 100, the default; GOMEMLIMIT none, the default\n") {
				t.Fatal(got)
			}
			c.start()
			if !testenv.Within(func() bool {
				return strings.HasSuffix(now(), ": GOGC 25, by folio set; GOMEMLIMIT 1GiB, by folio set\n")
			}) {
				t.Fatal(now())
			}
			other := exec.Command("folio", "set", "--gogc", "50", pid)
			other.Env = c.cmd.Env
			if out, err := other.CombinedOutput(); err == nil || !strings.Contains(string(out), "another folio has set it for a while") {
				t.Errorf("%v: %s", err, out)
			}
			if sig == syscall.SIGKILL { // the guard needs a moment
				_ = c.cmd.Process.Kill()
				_ = c.cmd.Wait()
			} else {
				c.signal(sig)
				c.end(code)
			}
			if !testenv.Within(func() bool {
				return strings.HasSuffix(now(), ": GOGC 100, the default; GOMEMLIMIT none, the default\n")
			}) {
				t.Errorf("after %v: %s", sig, now())
			}
			if !testenv.Within(func() bool { return len(processesWith(c.mark)) == 0 }) {
				t.Errorf("processes left: %q", processesWith(c.mark))
			}
		})
	}
}
