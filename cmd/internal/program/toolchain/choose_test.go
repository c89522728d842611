package toolchain

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	const file, mod, work = "/x/go.mod", "go mod edit -toolchain=", "go work edit -toolchain="
	for _, tt := range []struct {
		c            Chooser
		release      string
		command, why string
	}{
		{Chooser{"go1.26.8", "auto", "", file}, "go1.27.4", mod + "go1.27.4", ""},
		{Chooser{"go1.26.8", "path", "", file}, "go1.27.4", mod + "go1.27.4", ""},
		{Chooser{"go1.26.8", "go1.26.0+auto", "off", file}, "go1.27.4", mod + "go1.27.4", ""},
		{Chooser{"go1.26.8", "auto", "", file}, "go1.26.8", mod + "go1.26.8", ""}, // go.mod has a newer one
		{Chooser{"go1.26.8", "auto", "/x/go.work", file}, "go1.27.4", work + "go1.27.4", ""},
		{Chooser{"go1.26.8", "local", "", file}, "go1.27.4", "", "GOTOOLCHAIN=local"},
		{Chooser{"go1.26.8", "go1.26.8", "", file}, "go1.27.4", "", "GOTOOLCHAIN=go1.26.8"},
		{Chooser{"go1.27.4", "auto", "", file}, "go1.26.8", "", "the go command is go1.27.4"},
		{Chooser{"go1.26.8", "go1.28.0+auto", "", file}, "go1.27.4", "", "the go command is go1.28.0"},
		{Chooser{"go1.26.8", "auto", "", os.DevNull}, "go1.27.4", "", "no go.mod"},
	} {
		if command, why := tt.c.Line(tt.release); command != tt.command || why != tt.why {
			t.Errorf("%+v, %s: %q, %q", tt.c, tt.release, command, why)
		}
	}
}

// TestChooser: the commands are those that the go command takes, and it then wants the
// release.
func TestChooser(t *testing.T) {
	f, _ := finder(t, "off")
	for name, kind := range map[string]string{"go.mod": "mod", "go.work": "work"} {
		dir := t.TempDir()
		for file, text := range map[string]string{"go.mod": "module example.com/x\n\ngo 1.25\n", "main.go": "package main\n\nfunc main() {}\n"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if kind == "work" {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("go 1.25\n\nuse .\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		t.Chdir(dir)
		t.Setenv("GOWORK", "")
		t.Setenv("GOTOOLCHAIN", "auto")
		c, err := f.Chooser(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		line, why := c.Line(aRelease)
		if want := "go " + kind + " edit -toolchain=" + aRelease; line != want {
			t.Fatalf("%q, %s, want %s", line, why, want)
		}
		words := strings.Fields(line)
		if out, err := exec.CommandContext(t.Context(), words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
		out, err := exec.CommandContext(t.Context(), "go", "build", "-o", os.DevNull, ".").CombinedOutput()
		if err == nil || !strings.Contains(string(out), aRelease) { // nothing can be downloaded
			t.Errorf("%s: %v: %s", line, err, out)
		}
	}
}
