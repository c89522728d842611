package result

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/internal/test/testenv"
)

// TestSitesOfLibraries reads heap profile and goroutines of two Go libraries in one process:
// every object counts, and each line is of its library.
func TestSitesOfLibraries(t *testing.T) {
	libs := []string{testenv.Library(t, "liba.so"), testenv.Library(t, "libb.so", "-ldflags=-s -w")}
	h := testenv.StartHost(t, append([]string{testenv.HostProgram(t)}, libs...)...)
	for i, commands := range [][]string{{"keep 3", "wait 4"}, {"keep 5", "wait 6"}} {
		h.Ask(i, "profile")
		for _, c := range append(commands, "collect", "collect") {
			h.Do(i, c)
		}
	}
	f, pprof, err := ReadSites(context.Background(), "test", Asked{PID: h.PID, Heap: true, Goroutines: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(pprof) == 0 || len(f.Runtimes) != 2 || f.GoVersion != nil || len(f.Notes) != 0 {
		t.Errorf("%d bytes of profile, runtimes %s, notes %q", len(pprof), testenv.Dump(f.Runtimes), f.Notes)
	}
	type use struct {
		of  string
		mib int64 // rounded down: the runtime may allocate a thread's descriptor there
	}
	var kept []use
	for _, s := range f.Heap.Sites {
		if s.Func == "main.keep" && s.Of != nil {
			kept = append(kept, use{*s.Of, s.InUseBytes >> 20})
		}
	}
	slices.SortFunc(kept, func(a, b use) int { return cmp.Compare(a.of, b.of) })
	if want := []use{{"liba.so", 3}, {"libb.so", 5}}; !slices.Equal(kept, want) {
		t.Errorf("%v, want %v", kept, want)
	}
	type group struct {
		of    string
		count int
	}
	var waiting []group
	for _, g := range f.Goroutines.Groups {
		if g.Start == "main.wait" && g.Of != nil && g.Created != nil && filepath.Base(g.Created.File) == "main.go" {
			waiting = append(waiting, group{*g.Of, g.Count})
		}
	}
	if want := []group{{"libb.so", 6}, {"liba.so", 4}}; !slices.Equal(waiting, want) {
		t.Errorf("%v, want %v", waiting, want)
	}
}

// TestSitesOfNoGo says of a program without any Go that it has none.
func TestSitesOfNoGo(t *testing.T) {
	cmd := exec.Command(testenv.HostProgram(t))
	in, out := testenv.Start(t, cmd)
	defer func() { _ = cmd.Wait() }()
	defer in.Close()
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadSites(context.Background(), "test", Asked{PID: cmd.Process.Pid, Heap: true}); !errors.Is(err, executable.ErrNotGo) {
		t.Error(err)
	}
}
