package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/internal/base/console"
)

// Man pages have what --help has, and man(1) has nothing to say against them.
func TestManPages(t *testing.T) {
	root := newRoot(&app{stdout: console.New(io.Discard), stderr: console.New(io.Discard)})
	dir := t.TempDir()
	root.SetArgs([]string{"reference", dir})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) != len(usage.ManPages(root)) {
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
