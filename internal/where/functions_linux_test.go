package where

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/symbol"
	"github.com/foliomem/folio/internal/testenv"
)

// versions are the toolchains, beside this one, whose runtimes the rules know.
var versions = []string{"go1.18.10", "go1.19.13", "go1.20.14", "go1.21.13", "go1.22.12", "go1.23.12", "go1.24.13", "go1.25.5"}

// memoryName finds functions that manage memory, by their name.
var memoryName = regexp.MustCompile(`(?i)gc[A-Z_]|mark|sweep|alloc|span|heap|mcache|mcentral|arena|barrier|wbbuf|scav|memclr|growslice|evacuat|hashgrow`)

// notMemory are functions that have such a name, and are classed otherwise or
// not at all: each was looked at.
var notMemory = []string{
	"runtime.(*sig", "runtime.(*trace", "runtime.debugCall", "runtime.hexdump", "runtime.trace", "runtime.pageTrace", "runtime.cgoCheck",
	"runtime.(*cpuStats)", "runtime.stwReason", "runtime.memclr", "runtime.typedmemclr", "runtime.cheaprand", "runtime.profIndex", "runtime.gcd", "runtime.gcount", "runtime.gcallers",
	"runtime.(*stackObjectRecord)", "runtime.readGCStats", "runtime.dump", "runtime.startCheckmarks", "runtime.initMetrics", "runtime.readMetrics", "runtime.checkIdleGCNoP",
	"runtime.gcenable", "runtime.gcinit", "runtime.(*heapStatsAggregate)", "runtime.(*gcStatsAggregate)", "runtime.(*sysStatsAggregate)", "runtime.(*statAggregate)", "runtime.(*cpuStatsAggregate)", "runtime.(*timeHistogram)",
}

func TestRuntimeFunctions(t *testing.T) { testRuntimeFunctions(t, "") }

func TestRuntimeFunctionsOfOtherVersions(t *testing.T) {
	for _, version := range testenv.Versions(t, versions) {
		t.Run(version, func(t *testing.T) { testRuntimeFunctions(t, version) })
	}
}

func testRuntimeFunctions(t *testing.T, version string) {
	t.Helper()
	f, err := symbol.Open(build(t, version))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var matched set
	n := 0
	for name := range f.Functions() {
		fr := frame{name: name, origin: fromGo}
		e := table.find(name)
		matched |= e.names
		if !fr.ofRuntime() {
			continue
		}
		n++
		var alone union
		alone.add(e)
		c, ok := table.user(&alone)
		if !memoryName.MatchString(name) || slices.ContainsFunc(notMemory, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		if !ok {
			t.Errorf("%s manages memory by its name, and no rule knows it: add it to rules.go, or to the list here", name)
		} else if !c.Info().Memory && c != Scheduler && c != Syscalls {
			t.Errorf("%s manages memory by its name, and is %s", name, c)
		}
	}
	if n < 1000 {
		t.Fatalf("%d functions of the runtime: the list is not whole", n)
	}
	for i, r := range rules {
		if r.where != inKernel && matched&(1<<i) == 0 {
			t.Errorf("rule %d (%s, %s...) matches no function", i, r.class, r.names[0])
		}
	}
}
