package build

import (
	"slices"
	"strings"
	"testing"
)

func TestParseRevisions(t *testing.T) {
	for _, tt := range []struct{ line, pkg, with, args string }{
		{"./p", "./p", "", ""},
		{"./p -- -n 1 -- x", "./p", "", "-n 1 -- x"},
		{"go test -bench Foo ./p", "./p", "", "-test.run=^$ -test.bench=Foo"},
		{"go test -bench=Foo -run=Bar -count 3 -v", ".", "", "-test.bench=Foo -test.run=Bar -test.count=3 -test.v"},
		{"go test -tags x -race ./p --bench . -ldflags=-s -args -bench y", "./p", "-tags=x -race -ldflags=-s",
			"-test.run=^$ -test.bench=. -bench y"},
		{"go test -test.bench Foo -test.benchmem=false", ".", "", "-test.run=^$ -test.bench=Foo -test.benchmem=false"},
	} {
		words := strings.Fields(tt.line)
		r, err := ParseRevisions([]string{"main", "HEAD"}, words, words[0] == "go")
		if err != nil {
			t.Errorf("%s: %v", tt.line, err)
			continue
		}
		if r.Package != tt.pkg || !slices.Equal(r.With, strings.Fields(tt.with)) ||
			!slices.Equal(r.Args, strings.Fields(tt.args)) || r.Test != (words[0] == "go") {
			t.Errorf("%s: %+v", tt.line, r)
		}
	}
	for _, line := range []string{"", "-x", "./p x", "go test", "go test ./p", "go test -bench",
		"go test -bench . ./...", "go test -bench . -exec x", "go test -bench . a b"} {
		if _, err := ParseRevisions([]string{"main", "HEAD"}, strings.Fields(line), false); err == nil {
			t.Errorf("%q is taken", line)
		}
	}
}
