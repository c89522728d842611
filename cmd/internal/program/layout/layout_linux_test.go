package layout

import (
	"debug/elf"
	"go/version"
	"slices"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/goversion"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/test/testenv"
)

const source = `package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
)

func main() {
	fmt.Println(runtime.NumGoroutine())
	pprof.Lookup("heap").WriteTo(os.Stdout, 1)
}
`

// TestLocate compares what is found in programs with their symbols.
func TestLocate(t *testing.T) {
	for _, release := range testenv.Versions(t, goversion.SupportOf(goversion.Waterfall).Releases()) {
		for _, c := range []struct {
			name string
			env  []string
			args []string
		}{
			{"amd64", []string{"GOARCH=amd64", "CGO_ENABLED=0"}, nil},
			{"arm64", []string{"GOARCH=arm64", "CGO_ENABLED=0"}, nil},
			{"pie", []string{"GOARCH=amd64", "CGO_ENABLED=0"}, []string{"-buildmode=pie"}},
			{"arm64 pie", []string{"GOARCH=arm64", "CGO_ENABLED=0"}, []string{"-buildmode=pie"}},
			{"race", []string{"CGO_ENABLED=1"}, []string{"-race"}},
			{"external", []string{"CGO_ENABLED=1"}, []string{"-ldflags=-linkmode=external"}},
		} {
			t.Run(release+" "+c.name, func(t *testing.T) {
				if c.name != "amd64" {
					testenv.FullOnly(t) // the standard library is compiled again
				}
				path, err := testenv.Build{Source: testenv.Module(source), Args: c.args,
					Env: append([]string{"GOTOOLCHAIN=" + release, "GOOS=linux"}, c.env...)}.Try(t)
				if err != nil {
					testenv.Missing(t, "%v", err)
				}
				compare(t, path)
			})
		}
	}
}

func compare(t *testing.T, path string) {
	f, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := For(f.GoVersion(), f.Machine())
	if err != nil {
		t.Fatal(err)
	}
	if v := Version(f); v != f.GoVersion() {
		t.Errorf("version %q, want %q", v, f.GoVersion())
	}
	g, err := Locate(f, l)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"runtime.mheap_", "runtime.memstats", "runtime.gcController", "runtime.work", "runtime.gcBitsArenas", "runtime.allgs", "runtime.allgptr",
		"runtime.allglen", "runtime.allp", "runtime.mbuckets", "runtime.bbuckets", "runtime.xbuckets", "runtime.buckhash", "runtime.persistentChunks",
		"runtime.mProfCycle", "runtime.MemProfileRate"}
	want := f.Values(names...)
	for name, have := range map[string]uint64{"mheap_": g.MHeap, "memstats": g.MemStats, "gcController": g.GCController, "work": g.Work, "gcBitsArenas": g.GCBitsArenas,
		"mProfCycle": g.ProfileCycle, "MemProfileRate": g.ProfileRate} {
		if at := want["runtime."+name]; have != at || at == 0 {
			t.Errorf("%s at %#x, want %#x", name, have, at)
		}
	}
	for in, vars := range map[string][]string{
		GoroutineAdded: {"allgs", "allgptr", "allglen"}, Processors: {"allp"}, Buckets: {"mbuckets", "bbuckets", "xbuckets", "buckhash"},
		Persistent: {"persistentChunks"},
	} {
		for _, v := range vars {
			if at := want["runtime."+v]; at == 0 || !slices.Contains(g.References[in], at) {
				t.Errorf("%s is not among the %d references of %s", v, len(g.References[in]), in)
			}
		}
		if n := len(g.References[in]); n > 100 {
			t.Errorf("%s refers to %d variables", in, n)
		}
	}
	if !g.Links(HeapProfiler) || g.Links(LeakProfiler) != (version.Compare(l.Version, "go1.27") >= 0) {
		t.Errorf("heap profile %v, leak profile %v", g.Links(HeapProfiler), g.Links(LeakProfiler))
	}
	if f.Flags(g.Code)&elf.PF_X == 0 {
		t.Errorf("%#x is not code", g.Code)
	}
}
