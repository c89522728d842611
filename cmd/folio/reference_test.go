package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/internal/base/console"
)

// Help of a command fits into about 60 lines of 100 columns. What it leaves out is in
// --help-all and in the man page.
func TestHelpFits(t *testing.T) {
	const most, widest = 66, 96
	help := func(args ...string) string {
		var out bytes.Buffer
		root := newRoot(&app{stdout: console.New(&out), stderr: console.New(io.Discard)})
		root.SetArgs(args)
		if err := root.Execute(); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return out.String()
	}
	root := newRoot(&app{stdout: console.New(io.Discard), stderr: console.New(io.Discard)})
	pages, left := usage.ManPages(root), 0
	for _, c := range root.Commands() {
		if c.Name() == "completion" || c.Name() == "help" || c.DisableFlagParsing {
			continue
		}
		short, all := help(c.Name(), "--help"), ""
		if n := strings.Count(short, "\n"); n > most {
			t.Errorf("folio %s --help has %d lines, more than %d", c.Name(), n, most)
		}
		for l := range strings.Lines(short) {
			if n := len([]rune(strings.TrimSuffix(l, "\n"))); n > widest {
				t.Errorf("folio %s --help has %d columns: %s", c.Name(), n, l)
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || regexp.MustCompile(`--`+f.Name+`\b[^-]`).MatchString(short) {
				return
			}
			left++
			if all == "" {
				all = help(c.Name(), "--help-all")
			}
			page := pages["folio-"+c.Name()+".1"]
			if !strings.Contains(all, " --"+f.Name+" ") || !strings.Contains(page, `\fB\-\-`+strings.ReplaceAll(f.Name, "-", `\-`)+`\fR`) {
				t.Errorf("folio %s --%s is neither in --help, nor in --help-all and the man page", c.Name(), f.Name)
			}
		})
	}
	if left < 40 {
		t.Errorf("%d flags are left to --help-all", left)
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

// Shells get the names of closed lists, and help lists folio's own flags of commands that pass
// flags on to go.
func TestCompleteNames(t *testing.T) {
	for line, want := range map[string]string{
		"__complete doctor --skip swap,":                "swap,swappiness\t",
		"__complete patches heap-minimum heap":          "heap-hugepages\t",
		"__complete build --patch heap-minimum,":        "heap-minimum,heap-hugepages\t",
		"__complete tune --build . --patch heap-huge":   "heap-hugepages\t",
		"__complete cache clean builds p":               "profiles\n",
		"build --help":                                  "  folio build [--patch a,b] [--verify] [go build flags] [packages]\n",
		"go --help":                                     "  --patch patches ",
		"vet --help":                                    "  folio vet [go vet flags] [packages]\n",
		"__complete completion ba":                      "bash\t",
		"__complete go test --patch heap-minimum,arena": "heap-minimum,arena-release\t",
	} {
		var stdout, stderr bytes.Buffer
		if err := run(context.Background(), strings.Fields(line), nil, &stdout, &stderr); err != nil || !strings.Contains(stdout.String(), want) {
			t.Errorf("folio %s: %v, want %q in %q", line, err, want, stdout.String())
		}
	}
}
