package inspect

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

// TestLostPatch: a process that folio exec started, and that executed another program since,
// has lost its patch; one that inherited the mark has lost nothing.
func TestLostPatch(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for script, want := range map[string]bool{`FOLIO_EXEC_PID=$$ exec "$0"`: true, `FOLIO_EXEC_PID=1 exec "$0"`: false, `exec "$0"`: false} {
		cmd := exec.Command("/bin/sh", "-c", script, self)
		cmd.Env = role("target", 0).Env
		in, out := testenv.Start(t, cmd)
		if _, err := out.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		p, err := New().Process(cmd.Process.Pid, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "the change is lost") }); got != want {
			t.Errorf("%s: %q", script, p.Notes)
		}
		in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}
