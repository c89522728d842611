package goversion

import (
	"fmt"
	"go/version"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	newest := version.Lang(Newest())
	for _, s := range Table {
		if !version.IsValid(s.From) || version.Lang(s.To) != s.To || version.Compare(s.From, s.To) > 0 {
			t.Errorf("%s: from %q to %q", s.Part, s.From, s.To)
		}
		if s.To != newest {
			t.Errorf("%s ends at %s; the newest release tests use is %s", s.Part, s.To, Newest())
		}
		if SupportOf(s.Part) != s || len(s.Releases()) == 0 || s.Releases()[len(s.Releases())-1] != Newest() {
			t.Errorf("%s: %v", s.Part, s.Releases())
		}
	}
	if !slices.IsSortedFunc(Releases, version.Compare) {
		t.Errorf("not in order: %v", Releases)
	}
	var minors []string
	for _, r := range Releases {
		minors = append(minors, version.Lang(r))
	}
	if len(slices.Compact(minors)) != len(Releases) {
		t.Errorf("two releases of one version: %v", Releases)
	}
}

func TestReleases(t *testing.T) {
	if got := fmt.Sprint(Support{From: "go1.21.6", To: "go1.23"}.Releases()); got != "[go1.21.13 go1.22.12 go1.23.12]" {
		t.Error(got)
	}
	if got := (Support{From: "go1.21.6", To: "go1.23"}).String(); got != "Go 1.21.6 to 1.23" {
		t.Error(got)
	}
}

func TestLater(t *testing.T) {
	for release, want := range map[string]bool{
		Newest(): false, "go1.26.99": false, "go1.2.1": false, version.Lang(Newest()) + ".99": true, "go1.99.0": true,
		"go1.99rc1": false, "": false, "1.99.0": false, "go1.99.0-x": false,
	} {
		if got := Later(release); got != want {
			t.Errorf("%q: %v, want %v", release, got, want)
		}
	}
}

// Users read the same versions in the documents as in folio version.
func TestDocuments(t *testing.T) {
	for file, want := range map[string]string{
		"../../../../docs/go-versions.md": markdown(),
		"../../../../README.md":           strings.Replace(SupportOf(Module).String(), " to ", " or ", 1),
		"../../../../CONTRIBUTING.md":     strings.Replace(SupportOf(Module).String(), " to ", " or ", 1),
		"../../../../docs/build.md":       SupportOf(Patches).String(),
		"../../../../docs/set.md":         SupportOf(Settings).String(),
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s: does not say %q", file, want)
		}
	}
	mod, err := os.ReadFile("../../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if want := "\ngo " + strings.TrimPrefix(SupportOf(Module).From, "go") + ".0\n"; !strings.Contains(string(mod), want) {
		t.Errorf("go.mod does not say %q", want)
	}
}

// markdown is the table of docs/go-versions.md.
func markdown() string {
	var b strings.Builder
	b.WriteString("| what | supported |\n|---|---|\n")
	for _, s := range Table {
		fmt.Fprintf(&b, "| %s | %s |\n", s.Of, s)
	}
	return b.String()
}
