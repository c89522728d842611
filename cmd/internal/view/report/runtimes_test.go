package report

import (
	"slices"
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
)

// TestRuntimes names what a process has of Go beside its program.
func TestRuntimes(t *testing.T) {
	no, version := false, "go1.26.8"
	heap, why := uint64(310<<20), "it is packed"
	all := []result.GoRuntime{
		{File: "/bin/host", Program: true, GoVersion: &version, Plugins: []string{"/lib/plug.so"}},
		{File: "/lib/liba.so", GoVersion: &version, Heap: &heap, GC: &result.GCState{Cycles: 7}},
		{File: "/lib/libb.so (deleted)", Reason: &why},
	}
	want := []string{"Go plugin plug.so", "Go library liba.so, go1.26.8: Go heap 310.0MiB", "Go library libb.so: not read"}
	if got := RuntimeNames(all); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	p := &result.Process{ProcessID: result.ProcessID{IsGo: &no}, Waterfall: &result.Waterfall{Runtimes: all[1:]}}
	if got := About(p); !slices.Equal(got, want[1:]) {
		t.Errorf("%q", got)
	}
	if lines := WaterfallNotes(p.Waterfall, ""); !slices.Contains(lines, "liba.so: Go heap 310.0MiB, 7 GC cycles since its start, GOGC off, GOMEMLIMIT off") {
		t.Errorf("%q", lines)
	}
	p.Waterfall = nil
	for maker, says := range map[string]string{"": "not Go", "UPX": "packed (UPX)", "garble": "obfuscated (garble)", "gccgo": "built with gccgo", "TinyGo": "built with TinyGo"} {
		p.Maker = maker
		if got := About(p); !slices.Equal(got, []string{says}) {
			t.Errorf("%q: %q", maker, got)
		}
	}
	p.Memfd = true
	if got := About(p); !slices.Contains(got, "executed from memory (memfd)") {
		t.Errorf("%q", got)
	}
}
