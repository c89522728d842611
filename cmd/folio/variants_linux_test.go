package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
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

// TestWhyNot: what is not the program's fault is said in Folio's words, and how to fix it.
func TestWhyNot(t *testing.T) {
	failed := errors.New("the go command could not build it (exit code 1)")
	for _, tt := range []struct {
		said  string
		err   error
		want  string
		known bool
	}{
		{"# example.com/p\n./main.go:3:8: undefined: x\n", failed, "./main.go:3:8: undefined: x", false},
		{"", failed, failed.Error(), false},
		{"# runtime/cgo\ncgo: C compiler \"gcc\" not found: exec: \"gcc\": executable file not found in $PATH\n", failed,
			"it uses cgo, and the C compiler is not there: install one (gcc), or set CGO_ENABLED=0", true},
		{"# net/http\ncompile: writing output: write $WORK/b001/_pkg_.a: no space left on device\n", failed, fullDisk, true},
		{"", &os.PathError{Op: "mkdir", Path: "/x", Err: syscall.ENOSPC}, fullDisk, true},
		{"go: go.mod requires go >= 1.99 (running go 1.26.8; GOTOOLCHAIN=local)\n", failed, "go.mod requires go >= 1.99 (running go 1.26.8; GOTOOLCHAIN=local): install that Go, or have the go command download it (GOTOOLCHAIN=auto)", true},
		{strings.Repeat("x", 300), failed, strings.Repeat("x", 200) + "...", false},
	} {
		if got, known := whyNot(tt.said, tt.err); got != tt.want || known != tt.known {
			t.Errorf("%q, %v: %q, %v", tt.said, tt.err, got, known)
		}
	}
}
