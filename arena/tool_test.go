package arena

import (
	"encoding/json"
	"errors"
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
	for call, want := range map[string]int{"(*Handle[": 4, "New[": 2, "(*Arena).next": 2, "second": 2} {
		n := 0
		for line := range strings.Lines(out) {
			if strings.Contains(line, "main.go:") && strings.Contains(line, "inlining call to arena."+call) {
				n++
			}
		}
		if n != want {
			t.Errorf("%d calls of %s..., %d are inlined", want, call, n)
		}
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

// Go's own tests of its experimental arenas pass with this package in their import line, and
// nothing else changed but the build constraint.
func TestGoArenaTests(t *testing.T) {
	path := filepath.Join(strings.TrimSpace(goTool(t, "env", "GOROOT")), "src", "arena", "arena_test.go")
	source, err := os.ReadFile(path)
	if err != nil {
		testenv.Missing(t, "the source of Go: %v", err)
	}
	text := string(source)
	for _, change := range [][2]string{
		{"\t\"arena\"\n", "\t\"github.com/foliomem/folio/arena\"\n"},
		{"//go:build goexperiment.arenas\n", ""},
	} {
		if strings.Count(text, change[0]) != 1 {
			t.Fatalf("%s has not one line %q", path, change[0])
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	// The file is in this module only for the go command.
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, "arena_test.go"), filepath.Join(dir, "overlay.json")
	place, err := filepath.Abs(filepath.Join("testdata", "goarena", "arena_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {place: changed}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(changed, []byte(text), 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "goarena")
	goTool(t, "test", "-c", "-vet=off", "-overlay", overlay, "-o", bin, "./testdata/goarena")
	out, err := exec.Command(bin, "-test.v").CombinedOutput()
	want := strings.Count(text, "\nfunc Test")
	if got := strings.Count(string(out), "--- PASS: Test"); err != nil || got != want || want < 2 {
		t.Errorf("%v, %d tests pass, want %d\n%s", err, got, want, out)
	}
}
