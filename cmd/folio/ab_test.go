package main

import (
	"os"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial"
)

func TestABCommands(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
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
	for line, want := range map[string]string{
		"a -- folio exec --thp heap --gogc 400 -- a":                               "a|GOGC=400 folio exec --thp heap -- a",
		"a -- folio exec --gogc=400 a -x -- b":                                     "a|GOGC=400 folio exec --thp heap -- a|b",
		"folio exec -- a -- /no/such/folio exec --thp system -- b":                 "folio exec --thp heap -- a|b",
		"a x -- GOGC=1 A=b folio exec --gogc 2 --strict a x":                       "a|A=b GOGC=2 folio exec --thp heap -- a",
		self + " exec -- a -- folio run --thp=off --env A=b -- a":                  "folio exec --thp heap -- a|A=b folio run --thp=off -- a",
		"a -- folio run --gomaxprocs 2 -- a x -- folio lab -- a y":                 "a|GOMAXPROCS=2 a|folio|a y",
		"a -- folio exec --tree --thp heap -- sh x -- GOGC=2 folio exec --tree sh": "a|folio exec --tree --thp heap -- sh|GOGC=2 folio exec --tree --thp heap -- sh",
		"a -- b exec -- folio":                                                     "a|b|folio", // programs
	} {
		arms, err := abCommands(strings.Fields(line))
		var names []string
		for _, a := range arms {
			names = append(names, a.name)
		}
		if got := strings.Join(names, "|"); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", line, got, err, want)
		}
	}
	arms, err := abCommands(strings.Fields("a -- folio exec --tree --gogc 2 -- sh x -- folio exec --tree=false sh"))
	if err != nil || len(arms) != 3 || strings.Join(arms[1].command, " ") != "sh x" || strings.Join(arms[1].env, " ") != "GOGC=2" || arms[1].thp != trial.THPHeap ||
		strings.Join(arms[2].command, " ") != "sh" || arms[2].thp != trial.THPHeap {
		t.Errorf("--tree: %+v, %v", arms, err)
	}
	for line, want := range map[string]string{
		"folio exec":                   "command 2: exec: no command given",
		"folio exec --":                "command 2: exec: no command given",
		"folio exec -- --":             "command 2 has settings and no program",
		"folio exec --gogc 4 -- b --":  "no command after the last --",
		"folio exec --gogc b -- b":     "command 2: --gogc",
		"folio exec --thp off b":       `command 2: --thp "off": want heap or system`,
		"folio exec -h":                "command 2: --help starts no program",
		"folio exec --nosuch -- b":     "command 2: unknown flag --nosuch",
		"folio run --count 3 -- b":     "command 2: folio run --count: only flags that make a setting",
		"folio run --build ./x":        "command 2: folio run --build: ab takes programs",
		"folio run --env GOGC=x -- b":  "command 2: --env GOGC=x",
		"folio run --thp=heap":         "command 2: run: no command given",
		"b -- GOGC=4 folio exec -- --": "command 3 has settings and no program",
	} {
		if _, err := abCommands(strings.Fields("a -- " + line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	t.Setenv(execSwitch, "off")
	if _, err := abCommands(strings.Fields("a -- folio exec -- a")); err == nil || !strings.Contains(err.Error(), execSwitch) {
		t.Errorf("%s=off: %v", execSwitch, err)
	}
	for _, line := range []string{"", "a", "a --", "-- a", "a -- -- b", "--", "a -- GOGC=1", "a -- GOGC=1 GOGC=2 a"} {
		if _, err := abCommands(strings.Fields(line)); err == nil {
			t.Errorf("%q is taken", line)
		}
	}
}
