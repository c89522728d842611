package goruntime

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// runtimesOf finds the runtimes of a process.
func runtimesOf(t *testing.T, pid int) *Runtimes {
	t.Helper()
	r := NewRuntimes(procmem.FS{}, pid)
	t.Cleanup(func() { r.Close() })
	if err := r.Update(); err != nil {
		t.Fatal(err)
	}
	return r
}

// sameAsSaid compares the runtime of a library with what it says of itself.
func sameAsSaid(t *testing.T, h *testenv.Host, library int, g *Runtime) {
	t.Helper()
	if g.Err != nil {
		t.Fatalf("%s: %v", g.Path, g.Err)
	}
	if said := h.Ask(library, "version"); g.Version() != said || g.Main {
		t.Errorf("%s: %s, main %v; it says %s", g.Path, g.Version(), g.Main, said)
	}
	before := h.Do(library, "stats")
	s, err := g.Target.Stats()
	if err != nil {
		t.Fatal(err)
	}
	var gc GC
	if err := g.Target.ReadGC(&gc); err != nil {
		t.Fatal(err)
	}
	after := h.Do(library, "stats")
	if uint64(s.Cycles) != before.Cycles || uint64(gc.Cycles) != before.Cycles || after.Cycles != before.Cycles {
		t.Errorf("%s: %d, %d GC cycles; it says %d, then %d", g.Path, s.Cycles, gc.Cycles, before.Cycles, after.Cycles)
	}
	if s.Objects < before.HeapAlloc || s.Objects > after.HeapAlloc {
		t.Errorf("%s: %d bytes of objects; it says %d, then %d", g.Path, s.Objects, before.HeapAlloc, after.HeapAlloc)
	}
	waiting := 0
	if unread, err := g.Target.EachGoroutine(context.Background(), true, func(g2 *Goroutine) {
		for _, pc := range g2.Stack {
			if f := g.Target.Frames(pc, true); len(f) > 0 && f[0].Func == "main.wait" {
				waiting++
			}
		}
	}); err != nil || unread != 0 {
		t.Errorf("%s: %d goroutines not read, %v", g.Path, unread, err)
	}
	if want := 3 + library; waiting != want {
		t.Errorf("%s: %d goroutines in main.wait, want %d", g.Path, waiting, want)
	}
}

// TestLibraries reads the runtimes of Go libraries in a program of C, and in Python: each is
// that of its library.
func TestLibraries(t *testing.T) {
	libs := []string{testenv.Library(t, "liba.so"), testenv.Library(t, "libb.so", "-ldflags=-s -w")}
	for name, host := range map[string]func(testing.TB) []string{
		"C": func(t testing.TB) []string { return []string{testenv.HostProgram(t)} }, "Python": testenv.PythonHost,
	} {
		t.Run(name, func(t *testing.T) {
			h := testenv.StartHost(t, append(host(t), libs...)...)
			for i := range libs {
				h.Do(i, fmt.Sprintf("keep %d", 4*(i+1)))
				for range i + 2 {
					h.Do(i, "collect")
				}
				h.Do(i, fmt.Sprintf("wait %d", 3+i))
			}
			all := runtimesOf(t, h.PID).All()
			if len(all) != len(libs) {
				t.Fatalf("%d runtimes, want %d: %s", len(all), len(libs), testenv.Dump(all))
			}
			for i, lib := range libs {
				at := slices.IndexFunc(all, func(g *Runtime) bool { return g.Path == lib })
				if at < 0 {
					t.Fatalf("%s was not found", lib)
				}
				if g := all[at]; g.Name() != filepath.Base(lib) || g.Build.Mode != "c-shared" || g.Build.Module != "example.test/"+strings.TrimSuffix(g.Name(), ".so") {
					t.Errorf("%s: %+v", g.Name(), g.Build)
				}
				sameAsSaid(t, h, i, all[at])
			}
		})
	}
}

// TestLibraryReplaced has the file of a loaded library replaced: what is read is of the one that
// is loaded, or nothing.
func TestLibraryReplaced(t *testing.T) {
	lib := testenv.Library(t, "liba.so")
	h := testenv.StartHost(t, testenv.HostProgram(t), lib)
	data, err := os.ReadFile(lib)
	if err != nil {
		t.Fatal(err)
	}
	// Another file has its name now, and nothing of it is believed.
	other := filepath.Join(t.TempDir(), "other.so")
	data[len(data)/2] ^= 1
	copy(data[0x240:], "another build")
	if err := os.WriteFile(other, data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, lib); err != nil {
		t.Fatal(err)
	}
	all := runtimesOf(t, h.PID).All()
	if len(all) != 1 {
		t.Fatalf("%d runtimes", len(all))
	}
	if g := all[0]; os.Geteuid() == 0 {
		if g.Err != nil || g.Version() != runtime.Version() || g.Name() != "liba.so" {
			t.Errorf("as root: %s, %s, %v", g.Name(), g.Version(), g.Err)
		}
	} else if g.Err == nil || !strings.Contains(g.Err.Error(), "replaced") {
		t.Errorf("%v", g.Err)
	}
}
