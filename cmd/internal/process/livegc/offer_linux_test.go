package livegc

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/system/procmem"
)

// Programs of this user are offered if they are Go's, by id and name.
func TestOffer(t *testing.T) {
	target := start(t).cmd.Process.Pid
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	all := "\n" + strings.Join(Offer(procmem.New("")), "\n") + "\n"
	if !strings.Contains(all, fmt.Sprintf("\n%d\t", target)) || strings.Contains(all, fmt.Sprintf("\n%d\t", other.Process.Pid)) {
		t.Errorf("%d, not %d: %s", target, other.Process.Pid, all)
	}
}

func TestShortened(t *testing.T) {
	if got := shortened(strings.Repeat("é", 61)); got != strings.Repeat("é", 57)+"..." {
		t.Error(got)
	}
	if got := shortened("api -v"); got != "api -v" {
		t.Error(got)
	}
}
