package trial

import (
	"slices"
	"testing"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// What the GCs of two Go libraries in one process did is what their runtimes count.
func TestRuntimesOfLibraries(t *testing.T) {
	libs := []string{testenv.Library(t, "liba.so"), testenv.Library(t, "libb.so")}
	h := testenv.StartHost(t, append([]string{testenv.HostProgram(t)}, libs...)...)
	c := newRuntimes(procmem.New(""))
	c.look([]int{h.PID})
	for range 3 {
		h.Do(0, "collect")
		h.Do(1, "collect")
	}
	h.Do(1, "collect")
	c.look(nil)
	var s Sample
	s.setGC(c.totals())
	if s.GCCounted != GCComplete || s.GCCycles == nil || *s.GCCycles != 7 || s.Uncounted != nil {
		t.Errorf("%q, %v cycles, want 7; %v", s.GCCounted, s.GCCycles, s.Uncounted)
	}
	version := h.Ask(0, "version")
	if want := []string{"liba.so (" + version + ")", "libb.so (" + version + ")"}; !slices.Equal(s.GoLibraries, want) || !s.OnlyLibraries {
		t.Errorf("%q, only these: %v; want %q", s.GoLibraries, s.OnlyLibraries, want)
	}
}

// All GC cycles of libraries count of a program that loads them and ends: they are read as it
// waits to end.
func TestRunWithLibraries(t *testing.T) {
	needTree(t)
	lib := testenv.Library(t, "liba.so")
	p := &subject{Program: Program{Command: []string{"/bin/sh", "-c", `printf '0 collect\n0 collect\n0 collect\n0 stats\n' | "$0" "$1"`, testenv.HostProgram(t), lib}, ReadGC: true}}
	s := runOK(t, p, Setting{})
	if s.GCCounted != GCComplete || s.GCCycles == nil || *s.GCCycles != 3 || s.Uncounted != nil {
		t.Errorf("%q, %v cycles, want 3; %v", s.GCCounted, s.GCCycles, s.Uncounted)
	}
}
