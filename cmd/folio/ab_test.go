package main

import (
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
