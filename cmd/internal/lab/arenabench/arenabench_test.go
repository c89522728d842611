package arenabench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

// All ways find what the input holds, and the same.
func TestWays(t *testing.T) {
	want := []string{"new", "folio", "folio-base", "folio-keep", "folio-plain"}
	if len(ways) != len(want) {
		t.Errorf("%d ways, want %d", len(ways), len(want))
	}
	for _, w := range Works {
		sums := make(map[uint64][]string)
		for _, name := range want {
			_, way, err := Lookup(w.Name, name)
			if err != nil {
				t.Fatal(err)
			}
			r, err := w.Do(way, 1<<20, 3)
			if err != nil {
				t.Errorf("%s %s: %v", w.Name, name, err)
				continue
			}
			sums[r.Sum] = append(sums[r.Sum], name)
		}
		if len(sums) != 1 {
			t.Errorf("%s: %v", w.Name, sums)
		}
	}
}

// lossy is a way that loses a node now and then.
type lossy struct{ heap }

// grow counts a node too few where there is an odd number of trees.
func (lossy) grow(trees, depth, _ int) int { return heap{}.grow(trees, depth, 0) - trees&1 }

func TestWorkIsChecked(t *testing.T) {
	if _, err := Works[0].Do(lossy{}, 1<<20, 1); err == nil || !strings.Contains(err.Error(), "nodes, not") {
		t.Errorf("trees without all their nodes: %v", err)
	}
	for _, tt := range []struct {
		size  uint64
		count int
	}{{0, 1}, {1 << 20, 0}} {
		if _, err := Works[0].Do(heap{}, tt.size, tt.count); err == nil {
			t.Errorf("%+v: no error", tt)
		}
	}
	for _, names := range [][2]string{{"trees", "nosuch"}, {"nosuch", "new"}} {
		if _, _, err := Lookup(names[0], names[1]); err == nil || !strings.Contains(err.Error(), `"nosuch"`) {
			t.Errorf("%q: %v", names, err)
		}
	}
}

// The largest tree takes the size that is asked for.
func TestDepth(t *testing.T) {
	for size, want := range map[uint64]int{128 << 20: 21, 64 << 20: 20, 8 << 20: 17, 1 << 10: leastDepth, 1: leastDepth} {
		if got := Depth(size); got != want {
			t.Errorf("depth %d for %d bytes, want %d", got, size, want)
		}
	}
}

func TestResultFigures(t *testing.T) {
	r := &Result{Sum: 1<<40 + 7, User: 1e9, System: 5e8}
	figures := func() map[string]float64 {
		m := make(map[string]float64)
		for _, f := range r.Figures() {
			m[f.Key] = f.Value
		}
		return m
	}
	f := figures()
	_, peak := f["peak_rss_bytes"]
	_, huge := f["huge_fraction"]
	if f["checksum"] != 7 || f["cpu_seconds"] != 1.5 || peak || huge {
		t.Errorf("what is unknown must be absent: %v", f)
	}
	r.Peak, r.Resident, r.Huge = 8, 4, 1
	if f = figures(); f["peak_rss_bytes"] != 8 || f["huge_fraction"] != 0.25 {
		t.Errorf("%v", f)
	}
}

// The program with Go's arenas builds without anything but the standard library,
// and does the same work.
func TestSource(t *testing.T) {
	testenv.Long(t)
	if _, err := exec.LookPath("go"); err != nil {
		testenv.Missing(t, "%v", err)
	}
	dir := t.TempDir()
	s, err := WriteSource(dir)
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", s.Args...)
	build.Dir, build.Env = dir, append(os.Environ(), s.Env...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, w := range Works {
		want, err := w.Do(heap{}, 1<<20, 2)
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(s.Program, "X", w.Name, "goarena", "1048576", "2").Output()
		if err != nil {
			t.Fatalf("%s: %v", w.Name, err)
		}
		for _, f := range want.Figures() {
			if f.Key == "checksum" && !strings.HasPrefix(string(out), "BenchmarkX/size=1048576 1 ") ||
				f.Key == "checksum" && !strings.Contains(string(out), format(f)) {
				t.Errorf("%s: %s, want %s", w.Name, out, format(f))
			}
		}
	}
	out, err := exec.Command(s.Program, "X").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "want NAME WORK WAY SIZE COUNT") {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := WriteSource(filepath.Join(s.Program, "below")); err == nil {
		t.Error("a directory that cannot be made: no error")
	}
}

// format is how a figure is printed.
func format(f Figure) string { return fmt.Sprintf(" %g %s", f.Value, f.Key) }
