package profile

import (
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/goversion"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/test/testenv"
)

// versions are the toolchains whose runtimes the rules know; "" is this one.
var versions = append([]string{""}, goversion.SupportOf(goversion.Profiles).Releases()...)

// tested are the releases of which every function is looked at.
var tested = goversion.SupportOf(goversion.Module).Releases()

// memoryName finds functions that manage memory, by their name.
var memoryName = regexp.MustCompile(`(?i)gc[A-Z_]|mark|sweep|alloc|span|heap|mcache|mcentral|arena|barrier|wbbuf|scav|memclr|growslice|evacuat|hashgrow`)

// notMemory are functions that have such a name, and are classed otherwise or
// not at all: each was looked at.
var notMemory = []string{
	"runtime.(*sig", "runtime.(*trace", "runtime.debugCall", "runtime.hexdump", "runtime.trace", "runtime.pageTrace", "runtime.cgoCheck",
	"runtime.(*cpuStats)", "runtime.stwReason", "runtime.memclr", "runtime.typedmemclr", "runtime.cheaprand",
	"runtime.profIndex", "runtime.gcd", "runtime.gcount", "runtime.gcallers",
	"runtime.(*stackObjectRecord)", "runtime.readGCStats", "runtime.dump", "runtime.startCheckmarks",
	"runtime.initMetrics", "runtime.readMetrics", "runtime.checkIdleGCNoP",
	"runtime.gcenable", "runtime.gcinit", "runtime.(*heapStatsAggregate)", "runtime.(*gcStatsAggregate)",
	"runtime.(*sysStatsAggregate)", "runtime.(*statAggregate)", "runtime.(*cpuStatsAggregate)", "runtime.(*timeHistogram)",
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

// Functions of the runtime that no rule knows are "other runtime work" where nothing
// above them on the stack says more. The list was made of what had no rule, and read
// through once: a function that a new release brings is put into a rule, or into the
// list after it has been looked at.
func TestUnclassified(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the list is that of amd64")
	}
	const file = "testdata/unclassified.txt"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Fields(string(text))
	if !slices.IsSorted(known) || len(slices.Compact(slices.Clone(known))) != len(known) {
		t.Errorf("%s: want sorted names, each once", file)
	}
	seen := make(map[string]bool)
	for _, version := range tested {
		f, err := symbol.Open(build(t, version))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for name := range f.Functions() {
			fr := frame{name: name, origin: fromGo}
			if !fr.ofRuntime() {
				continue
			}
			var alone union
			alone.add(table.find(name))
			if _, ok := table.user(&alone); ok {
				continue
			}
			seen[name] = true
			if _, ok := slices.BinarySearch(known, name); !ok {
				t.Errorf("%s of %s: no rule knows it: add it to rules.go, or to %s", name, version, file)
			}
		}
	}
	for _, name := range known {
		if !seen[name] {
			t.Errorf("%s: %s is classed, or in no release: take it out", file, name)
		}
	}
}
