package main

import (
	"slices"
	"strings"
	"testing"
)

func TestABCommands(t *testing.T) {
	for line, want := range map[string]string{
		"a -- b":                         "a|b",
		"a x -- b y":                     "a|b",
		"a x -- a y":                     "a x|a y",
		"a -- a -- a":                    "a|a (2)|a (3)",
		"./v1/a -- ./v2/a":               "./v1/a|./v2/a",
		"a -- b -- c -d":                 "a|b|c",
		"a x -- GOGC=800 a x":            "a|GOGC=800 a",
		"GOGC=1 a x -- GOGC=1 a y":       "GOGC=1 a x|GOGC=1 a y",
		"a -- A=b C= ./d/a -- ./d=e x=y": "a|A=b C='' a|'d=e'",
	} {
		arms, err := abCommands(strings.Fields(line))
		var names, words []string
		for i, a := range arms {
			if i > 0 {
				words = append(words, "--")
			}
			names, words = append(names, a.name), append(append(words, a.env...), a.command...)
		}
		if got := strings.Join(names, "|"); err != nil || got != want || strings.Join(words, " ") != line {
			t.Errorf("%s: %s (%q), %v, want %s", line, got, words, err, want)
		}
	}
	for _, line := range []string{"", "a", "a --", "-- a", "a -- -- b", "--", "a -- GOGC=1", "a -- GOGC=1 GOGC=2 a"} {
		if _, err := abCommands(strings.Fields(line)); err == nil {
			t.Errorf("%q is taken", line)
		}
	}
}

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
		r, err := parseRevisions([]string{"main", "HEAD"}, words, words[0] == "go")
		if err != nil {
			t.Errorf("%s: %v", tt.line, err)
			continue
		}
		if r.pkg != tt.pkg || !slices.Equal(r.with, strings.Fields(tt.with)) ||
			!slices.Equal(r.args, strings.Fields(tt.args)) || r.test != (words[0] == "go") {
			t.Errorf("%s: %+v", tt.line, r)
		}
	}
	for _, line := range []string{"", "-x", "./p x", "go test", "go test ./p", "go test -bench",
		"go test -bench . ./...", "go test -bench . -exec x", "go test -bench . a b"} {
		if _, err := parseRevisions([]string{"main", "HEAD"}, strings.Fields(line), false); err == nil {
			t.Errorf("%q is taken", line)
		}
	}
}
