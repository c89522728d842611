package lab

import (
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The command has the policy, and this process keeps its own.
func TestStartYielding(t *testing.T) {
	cmd := exec.Command("sh", "-c", "cut -d' ' -f41 /proc/self/stat") // policy; the name has no space
	var policy strings.Builder
	cmd.Stdout = &policy
	if err := startYielding(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(policy.String()); got != "5" {
		t.Errorf("policy %q, want 5, SCHED_IDLE", got)
	}
	own, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if own.Policy == unix.SCHED_IDLE {
		t.Error("this process has it, too")
	}
}
