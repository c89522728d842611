package goruntime

import (
	"context"
	"fmt"
	"os"
	"os/exec"
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

// pluginMain is a plugin, and pluginHost a program that loads it, both of them with
// goroutines that wait in the plugin.
const (
	pluginMain = `package main

var kept [][]byte

func Keep(n int) {
	for range n {
		b := make([]byte, 1<<20)
		for i := range b {
			b[i] = 1
		}
		kept = append(kept, b)
	}
	for range n {
		go wait()
	}
}

func wait() { select {} }

func main() {}
`
	pluginHost = `package main

import (
	"bufio"
	"fmt"
	"os"
	"plugin"
)

func main() {
	p, err := plugin.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	keep, err := p.Lookup("Keep")
	if err != nil {
		panic(err)
	}
	keep.(func(int))(5)
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
}
`
)

// TestPlugin: a plugin has the runtime of its program, and functions of its own.
func TestPlugin(t *testing.T) {
	testenv.CC(t)
	build := func(name, source string, args ...string) string {
		return testenv.Build{Source: map[string]string{"main.go": source, "go.mod": "module example.test/" + name + "\n\ngo 1.22\n"}, Args: args,
			Env: []string{"CGO_ENABLED=1"}, Output: filepath.Join(t.TempDir(), name)}.Do(t)
	}
	plugin := build("plugin.so", pluginMain, "-buildmode=plugin")
	h := testenv.StartHost(t, build("host", pluginHost), plugin)
	all := runtimesOf(t, h.PID).All()
	if len(all) != 1 || all[0].Err != nil || !all[0].Main || !slices.Equal(all[0].Plugins, []string{plugin}) {
		t.Fatal(testenv.Dump(all))
	}
	g := all[0]
	if s, err := g.Target.Stats(); err != nil || s.Objects < 5<<20 {
		t.Errorf("%+v, %v", s, err)
	}
	waiting := 0
	if _, err := g.Target.EachGoroutine(context.Background(), true, func(g2 *Goroutine) {
		f := g.Target.Frames(g2.Start, false)
		if len(f) > 0 && strings.HasSuffix(f[0].Func, ".wait") && g2.Whole {
			waiting++
		}
	}); err != nil || waiting != 5 {
		t.Errorf("%d goroutines wait in the plugin, want 5: %v", waiting, err)
	}
}

// TestArchive: a program of C that is linked with Go is read as one of Go.
func TestArchive(t *testing.T) {
	dir := t.TempDir()
	archive := testenv.Library(t, "archive.a", "-buildmode=c-archive")
	source, out := filepath.Join(dir, "main.c"), filepath.Join(dir, "program")
	text := `#include <stdio.h>
extern char *Do(char *);
int main(void) {
	char line[256];
	Do("keep 6");
	Do("collect");
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		char *rest = line;
		while (*rest != ' ' && *rest) rest++;
		for (char *c = line; *c; c++) if (*c == '\n') *c = 0;
		printf("%s\n", Do(rest + 1));
		fflush(stdout);
	}
	return 0;
}
`
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command(testenv.CC(t), "-o", out, source, archive, "-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	h := testenv.StartHost(t, out)
	all := runtimesOf(t, h.PID).All()
	if len(all) != 1 || all[0].Err != nil || !all[0].Main || all[0].Version() != h.Ask(0, "version") {
		t.Fatal(testenv.Dump(all))
	}
	var gc GC
	if err := all[0].Target.ReadGC(&gc); err != nil || uint64(gc.Cycles) != h.Do(0, "stats").Cycles {
		t.Errorf("%d cycles, %v", gc.Cycles, err)
	}
}

// TestLibraryInMemory loads a library from memory that has no name. Only root may open it
// again; others are told so.
func TestLibraryInMemory(t *testing.T) {
	lib := testenv.Library(t, "liba.so")
	python := testenv.PythonHost(t)
	loader := filepath.Join(t.TempDir(), "loader.py")
	text := "import os, sys\nfd = os.memfd_create('lib')\nos.write(fd, open(sys.argv[2], 'rb').read())\n" +
		"sys.argv = [sys.argv[1], '/proc/self/fd/%d' % fd]\nexec(open(sys.argv[0]).read())\n"
	if err := os.WriteFile(loader, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	h := testenv.StartHost(t, python[0], loader, python[1], lib)
	all := runtimesOf(t, h.PID).All()
	if len(all) != 1 || all[0].Name() != "memfd:lib" {
		t.Fatal(testenv.Dump(all))
	}
	g := all[0]
	if g.Err == nil && g.Version() != h.Ask(0, "version") || g.Err != nil && !strings.Contains(g.Err.Error(), "only root") {
		t.Errorf("%s, %v", g.Version(), g.Err)
	}
	if g.Err != nil && os.Geteuid() == 0 {
		t.Error(g.Err)
	}
}
