package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

// TestSmallDisk: where the disk has no room for the builds, that is one line, before
// anything is built.
func TestSmallDisk(t *testing.T) {
	testenv.Root(t, "to mount a small disk")
	if out, err := exec.Command("unshare", "-m", "true").CombinedOutput(); err != nil {
		testenv.Missing(t, "no mount of its own: %v: %s", err, out)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/x\n\ngo 1.25\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for variable, want := range map[string]string{
		"XDG_CACHE_HOME": `^folio: the builds take about \S+, and the disk of \S*/small/folio/builds has \S+ left: remove something \('folio cache clean'\), or set XDG_CACHE_HOME to another disk\n$`,
		"GOTMPDIR":       `^folio: the builds take about \S+, and the disk of \S*/small has \S+ left: remove something \('folio cache clean'\), or set GOTMPDIR to another disk\n$`,
	} {
		small := filepath.Join(t.TempDir(), "small")
		if err := os.Mkdir(small, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("unshare", "-m", "sh", "-c", `mount -t tmpfs -o size=1m,mode=700 none "$1" && exec folio tune --build . --goexperiment arenas`, "sh", small)
		cmd.Dir = dir
		cmd.Env = append(append(os.Environ(), noTelemetry(), "HOME="+t.TempDir()), goCaches()...)
		cmd.Env = append(cmd.Env, variable+"="+small)
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Run(); err == nil || !regexp.MustCompile(want).MatchString(said.String()) {
			t.Errorf("%s: %v\n%s\nwant %s", variable, err, said.String(), want)
		}
	}
}
