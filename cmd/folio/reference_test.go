package main

import (
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/internal/base/console"
)

var updateReference = flag.Bool("update-reference", false, "rewrite docs/commands.md")

// docs/commands.md has every command and flag, as the help texts have them.
func TestReference(t *testing.T) {
	const path = "../../docs/commands.md"
	want := usage.Reference(newRoot(&app{stdout: console.New(io.Discard), stderr: console.New(io.Discard)}))["commands.md"]
	if *updateReference {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/commands.md is not what the help texts say: go test ./cmd/folio -run TestReference -update-reference")
	}
}

// Man pages have what --help has, and man(1) has nothing to say against them.
func TestManPages(t *testing.T) {
	root := newRoot(&app{stdout: console.New(io.Discard), stderr: console.New(io.Discard)})
	dir := t.TempDir()
	root.SetArgs([]string{"reference", dir})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) != len(usage.Reference(root))-1 {
		t.Fatalf("%d pages of commands, %v", len(pages), err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "folio-tune.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`\fB\-\-budget\fR duration`, ".SH EXAMPLES", `folio\-tune \- `, "folio(1)"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("folio-tune.1 has no %q", want)
		}
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		return // what is above holds without it
	}
	out, err := exec.Command(groff, append([]string{"-man", "-Tutf8", "-ww", "-z"}, pages...)...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("groff: %v\n%s", err, out)
	}
}
