package goheap

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/system/procmem"
)

// On one CPU that is idle at times, a window is collapsed at a time, in a small share of the
// time; elsewhere as before.
func TestHowPaced(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name             string
		fixed, cpus, use float64
		windows          int
		window           time.Duration
		share            float64
		piece            time.Duration
	}{
		{"two CPUs, little", 0, 2, 0.5, 10, ms, 0.25, slice / 4},
		{"two CPUs, much", 0, 2, 0.5, 1000, ms, 0.5, slice / 2},
		{"two CPUs, too much", 0, 2, 0.5, 10_000, ms, 1, slice},
		{"one CPU, idle, little", 0, 1, 0.5, 10, ms, 0.02, 0},
		{"one CPU, idle, much", 0, 1, 0.5, 500, ms, 0.05, 0},
		{"one CPU, idle, too much", 0, 1, 0.5, 10_000, ms, 0.1, 0},
		{"a quota of 1.5, idle", 0, 1.5, 1.4, 500, ms, 0.05, 0},
		{"one CPU, busy", 0, 1, 0.96, 1000, ms, 0.5, slice / 2},
		{"a quota of 1.5, busy", 0, 1.5, 1.45, 10, ms, 0.25, slice / 4},
		{"one CPU, a budget", 0.3, 1, 1, 500, ms, 0.3, 0},
		{"two CPUs, a budget", 0.3, 2, 1, 500, ms, 0.3, slice * 3 / 10},
	} {
		p := newPace(c.fixed, c.cpus)
		p.window, p.use.Share = c.window, c.use
		p.begin(c.windows)
		if got := p.share(); got != c.share || p.piece() != c.piece {
			t.Errorf("%s: share %v, pieces of %v: want %v, %v", c.name, got, p.piece(), c.share, c.piece)
		}
		if got, want := p.rest(ms), time.Duration(float64(ms)*(1/c.share-1)); got != want {
			t.Errorf("%s: rests for %v, want %v", c.name, got, want)
		}
	}
}

func TestCPUs(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"proc/self/mountinfo": "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "proc/self/cgroup": "0::/a\n",
		"sys/fs/cgroup/a/cpu.max": "50000 100000\n",
	} {
		path := filepath.Join(root, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got := cpus(procmem.New(root)); got != 0.5 {
		t.Errorf("%v with a quota of half a CPU", got)
	}
	if got := cpus(procmem.New(t.TempDir())); got != float64(runtime.GOMAXPROCS(0)) {
		t.Errorf("%v without cgroups", got)
	}
}
