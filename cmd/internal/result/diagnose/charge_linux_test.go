package diagnose

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

// A container that is charged for tmpfs which no process maps is told so, and which mount has it.
func TestTmpfsOfContainer(t *testing.T) {
	b := newBox(t, "", 192)
	dir, err := os.MkdirTemp("/dev/shm", "folio-test-")
	if err != nil {
		testenv.Missing(t, "%v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cmd := exec.Command("sh", "-c", `read x; head -c 60m /dev/zero > "$1"; echo written; read x`, "sh", filepath.Join(dir, "file"))
	in, out := testenv.Start(t, cmd)
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	if err := b.group.Join(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if line, err := out.ReadString('\n'); err != nil || line != "written\n" {
		t.Fatalf("%q, %v", line, err)
	}
	h := doctor(t, &boxed{cmd, in, out}, "container-charge")
	if h.Severity != Warning || !strings.HasPrefix(h.What, "60.0") || !strings.Contains(h.What, ": /dev/shm 60.0") || h.Fix[0].Code != "du -a /dev/shm" {
		t.Errorf("%+v", h)
	}
}
