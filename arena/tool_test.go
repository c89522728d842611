package arena

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

// goTool runs the go command and returns what it printed.
func goTool(t *testing.T, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("go")
	if err != nil {
		testenv.Missing(t, "the go command: %v", err)
	}
	out, err := exec.Command(path, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestNewIsInlined(t *testing.T) {
	out := goTool(t, "build", "-gcflags=-m", "-o", os.DevNull, "./testdata/inline")
	n := 0
	for line := range strings.Lines(out) {
		if strings.Contains(line, "main.go:") && strings.Contains(line, "inlining call to arena.(*Handle[") {
			n++
		}
	}
	if n != 4 {
		t.Errorf("4 calls of Handle.New, %d are inlined", n)
	}
}

func TestRaceDetectorSeesMisuse(t *testing.T) {
	testenv.Long(t)
	if out := strings.Fields(goTool(t, "env", "CGO_ENABLED", "GOOS", "GOARCH")); len(out) != 3 || out[0] != "1" && out[1] != "darwin" {
		testenv.Missing(t, "the race detector needs cgo: go env says %v", out)
	}
	bin := filepath.Join(t.TempDir(), "race")
	goTool(t, "build", "-race", "-o", bin, "./testdata/race")
	for _, use := range []string{"handle", "new", "slice", "reset", "none"} {
		cmd := exec.Command(bin, use)
		cmd.Env = append(os.Environ(), "GORACE=exitcode=66 atexit_sleep_ms=0")
		out, _ := cmd.CombinedOutput()
		if seen := cmd.ProcessState.ExitCode() == 66 && strings.Contains(string(out), "DATA RACE"); seen != (use != "none") {
			t.Errorf("%s: race seen: %v\n%s", use, seen, out)
		}
	}
}

func TestDebugTag(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "dangling")
	goTool(t, "build", "-tags", "foliodebug", "-o", bin, "./testdata/dangling")
	wantDangling(t, exec.Command(bin))
}
