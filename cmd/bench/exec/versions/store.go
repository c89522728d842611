package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/codepatch/fixture"
)

const home = "cmd/internal/program/codepatch"

// form notes that a release has this listing of a function.
func (s *store) form(arch, function, text, release string) {
	if s.forms[arch] == nil {
		s.forms[arch] = map[string]map[string][]string{}
	}
	if s.forms[arch][function] == nil {
		s.forms[arch][function] = map[string][]string{}
	}
	if !slices.Contains(s.forms[arch][function][text], release) {
		s.forms[arch][function][text] = append(s.forms[arch][function][text], release)
	}
}

// write writes everything.
func (s *store) write() error {
	for arch, functions := range s.forms {
		var b strings.Builder
		fmt.Fprintf(&b, "# Written by cmd/bench/exec/versions: what the functions do in the releases that are named,\n# without addresses and padding. A program is accepted if its functions are here.\n")
		for _, name := range slices.Sorted(maps.Keys(functions)) {
			for _, text := range sortedBy(functions[name]) {
				fmt.Fprintf(&b, "\nfunc %s: go%s\n%s", name, strings.Join(functions[name][text], " go"), text)
			}
		}
		if err := os.WriteFile(filepath.Join(home, "forms", arch+".txt"), []byte(b.String()), 0o644); err != nil {
			return err
		}
	}
	return fixture.Write(filepath.Join(home, "testdata", "programs.json.gz"), s.programs)
}

// sortedBy returns the listings, that of the oldest release first.
func sortedBy(forms map[string][]string) []string {
	index := func(text string) int { return slices.Index(releases, forms[text][0]) }
	return slices.SortedFunc(maps.Keys(forms), func(a, b string) int { return index(a) - index(b) })
}
