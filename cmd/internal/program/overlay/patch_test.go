package overlay

import (
	"go/version"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/goversion"
)

const header = "name: x\nsummary: s\nwhy: w\nupstream: u\nremove: r\nevidence: e\ngo: go1.25 go1.26\n"

const example = "# a comment\n" + header + `effect: linux arm64
 and more of it

edit src/a.go
go: go1.26
find 2
|	a
|	b
after
|	c

new src/b.go
|package b
|
`

func TestParse(t *testing.T) {
	p, err := parse(example)
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "x" || p.Why != "w" || strings.Join(p.Go, " ") != "go1.25 go1.26" ||
		strings.Join(p.Effect, " ") != "linux arm64 and more of it" || p.Default || len(p.Hash) != 12 {
		t.Errorf("%+v", p)
	}
	if len(p.edits) != 1 || len(p.files) != 1 {
		t.Fatalf("%+v, %+v", p.edits, p.files)
	}
	e := p.edits[0]
	if e.file != "src/a.go" || e.count != 2 || e.find != "\ta\n\tb\n" || e.text != "\tc\n" || e.how != after ||
		!e.fits("go1.26") || e.fits("go1.25") {
		t.Errorf("%+v", e)
	}
	if f := p.files[0]; f.file != "src/b.go" || f.text != "package b\n\n" || !f.fits("go1.25") {
		t.Errorf("%+v", f)
	}
	again, err := parse(strings.Replace(example, "\tc", "\td", 1))
	if err != nil || again.Hash == p.Hash {
		t.Errorf("the hash does not tell patches apart: %v", err)
	}
}

func TestParseErrors(t *testing.T) {
	edit := "edit src/a.go\nfind 1\n|a\nafter\n|b\n"
	for text, want := range map[string]string{
		"":                               "no edit",
		header:                           "line 7: no edit",
		"name: x\n" + edit:               `no field "summary"`,
		header + "name: y\n" + edit:      `line 8: field "name" stands twice`,
		header + "color: y\n" + edit:     `line 8: unknown field "color"`,
		header + "change src/a.go\n":     `"change": want edit or new`,
		header + "edit ../a.go\n":        "want a clean path that begins with src/",
		header + "edit src/../../a.go\n": "want a clean path that begins with src/",
		header + "edit src/a.go\nfind\n": "want find and how often",
		header + "edit src/a.go\nfind 0\n|a\nafter\n|b\n":             "want find and how often",
		header + "edit src/a.go\nfind 1\na\n":                         "want lines that begin with |",
		header + "edit src/a.go\nfind 1\n|a\nbeside\n|b\n":            "want replace, before or after",
		header + "edit src/a.go\nfind 1\n|a\nafter\n":                 "want lines that begin with |",
		header + "edit src/a.go\ngo: go1.20\nfind 1\n|a\nafter\n|b\n": "go1.20 is none of the versions of the patch",
		header + "new src/a.go\n":                                     "want lines that begin with |",
		strings.Replace(header, "go1.25", "go1.25.3", 1) + edit:       "want a language version",
	} {
		if p, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", text, p, err, want)
		}
	}
}

// FuzzParse looks for texts that crash the parser, and that give a patch which could
// write outside of GOROOT.
func FuzzParse(f *testing.F) {
	f.Add(example)
	for _, file := range []string{HeapHugePages, HeapMinimum, ArenaHugePages, ArenaRelease, MallocPrefetch} {
		text, err := texts.ReadFile("patches/" + file + ".patch")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parse(text)
		if err != nil {
			return
		}
		for _, e := range p.edits {
			if !strings.HasPrefix(e.file, "src/") ||
				strings.Contains(e.file, "..") && strings.Contains("/"+e.file+"/", "/../") || e.count < 1 || e.find == "" || e.text == "" {
				t.Errorf("%+v", e)
			}
		}
		for _, n := range p.files {
			if !strings.HasPrefix(n.file, "src/") || strings.Contains("/"+n.file+"/", "/../") {
				t.Errorf("%+v", n)
			}
		}
	})
}

func TestLookup(t *testing.T) {
	got, err := Lookup(MallocPrefetch, HeapHugePages, MallocPrefetch)
	if err != nil || Names(got) != "heap-hugepages, malloc-prefetch" {
		t.Errorf("%s, %v", Names(got), err)
	}
	if _, err := Lookup("none"); err == nil || !strings.Contains(err.Error(), HeapMinimum) {
		t.Errorf("unknown: %v", err)
	}
	if Names(Default()) != HeapHugePages {
		t.Errorf("by default %s", Names(Default()))
	}
}

// Every patch is written for the versions that folio version promises.
func TestSupported(t *testing.T) {
	var want []string
	for _, release := range goversion.SupportOf(goversion.Patches).Releases() {
		want = append(want, version.Lang(release))
	}
	for _, p := range Patches() {
		if !slices.Equal(p.Go, want) {
			t.Errorf("%s is for %v, want %v", p.Name, p.Go, want)
		}
	}
}
