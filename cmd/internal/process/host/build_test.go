package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

// Two builds of one source differ in their build ID where their code does, and in
// nothing else that a result has.
func TestBuild(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil || runtime.GOOS != "linux" {
		t.Skip("needs the go command and ELF")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module program\n\ngo 1.18\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	build := func(name, body string, flags ...string) (version, id string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\nfunc main() {"+body+"}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return Build(testenv.Build{Dir: dir, Args: flags, Output: filepath.Join(dir, name)}.Do(t))
	}
	_, one := build("one", "println(1)")
	_, same := build("same", "println(1)")
	_, stripped := build("stripped", "println(1)", "-ldflags=-s -w")
	_, two := build("two", "println(2)")
	if one == "" || one != same || two == "" || one == two || stripped == "" {
		t.Errorf("build IDs: %q, the same source %q, stripped %q, another %q", one, same, stripped, two)
	}
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", script, "no-such-program", dir} {
		if version, id := Build(path); version != "" || id != "" {
			t.Errorf("Build(%q) = %q, %q", path, version, id)
		}
	}
}
