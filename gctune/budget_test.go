package gctune

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/library/gccontrol"
	"github.com/foliomem/folio/internal/system/procmem"
)

// machine writes the kernel's files of a machine.
func machine(t *testing.T, files map[string]string) procmem.FS {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return procmem.New(root)
}

func TestBudget(t *testing.T) {
	v1 := map[string]string{
		"proc/self/cgroup":    "4:memory:/job\n",
		"proc/self/mountinfo": "38 32 0:34 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
		"proc/meminfo":        "MemTotal: 67108864 kB\nMemAvailable: 33554432 kB\n",
		"sys/fs/cgroup/memory/job/memory.limit_in_bytes": fmt.Sprint(1000 * mb),
		"sys/fs/cgroup/memory/job/memory.usage_in_bytes": fmt.Sprint(380 * mb),
		"sys/fs/cgroup/memory/job/memory.stat":           fmt.Sprintf("total_inactive_file %d\ntotal_active_file %d\n", 50*mb, 20*mb),
		"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
	}
	v2 := map[string]string{
		"proc/self/cgroup":                 "0::/a/b\n",
		"proc/self/mountinfo":              "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"proc/meminfo":                     "MemAvailable: 33554432 kB\n",
		"sys/fs/cgroup/a/b/memory.max":     "max\n",
		"sys/fs/cgroup/a/b/memory.high":    fmt.Sprint(400 * mb),
		"sys/fs/cgroup/a/b/memory.current": fmt.Sprint(100 * mb),
		"sys/fs/cgroup/a/memory.max":       fmt.Sprint(500 * mb),
		"sys/fs/cgroup/a/memory.current":   fmt.Sprint(300 * mb),
	}
	// Of 200 MB that others seem to have, 120 are of huge pages that nobody has mapped whole.
	unsplit := maps.Clone(v2)
	unsplit["sys/fs/cgroup/a/b/memory.high"] = "max\n"
	unsplit["sys/fs/cgroup/a/memory.stat"] = fmt.Sprintf("anon %d\nfile 0\nkernel %d\n", 170*mb, 10*mb)
	high := maps.Clone(v2)
	high["sys/fs/cgroup/a/b/memory.high"] = fmt.Sprint(150 * mb)
	const anon = 100 * mb
	for _, c := range []struct {
		name                  string
		files                 map[string]string
		opts                  Options
		budget, reserve, hard uint64 // MB
		source                string
	}{
		// 1000 less 230 of others, less a twentieth; the page cache can all go before
		// anybody is killed.
		{"v1", v1, Options{}, 1000 - 230 - 50, 50 - 25, 1000 - 210 - 25, "memory limit of the cgroup"},
		{"reserve", v1, Options{Reserve: 300 * mb}, 1000 - 230 - 300, 300 - 25, 1000 - 210 - 25, "memory limit of the cgroup"},
		{"small reserve", v1, Options{Reserve: 1}, 1000 - 230 - 25, 0, 1000 - 210 - 25, "memory limit of the cgroup"},
		{"asked for", v1, Options{Budget: 123 * mb}, 123, 0, 1000 - 210 - 25, "program's own"},
		{"asked for too much", v1, Options{Budget: 5 * gb}, 1000 - 210 - 25, 0, 1000 - 210 - 25, "program's own"},
		// The parent, which others use, binds more than memory.high.
		{"v2", v2, Options{}, 500 - 200 - 25, 12, 500 - 200 - 13, "memory limit of the cgroup"},
		// Beyond memory.high a process is made to wait: it is no more to be exceeded.
		{"v2, unsplit", unsplit, Options{}, 500 - 80 - 25, 12, 500 - 80 - 13, "memory limit of the cgroup"},
		{"v2, high", high, Options{}, 150 - 8, 3, 150 - 4, "memory limit of the cgroup"},
		{"no limit", map[string]string{"proc/meminfo": "MemAvailable: 4194304 kB\n"}, Options{}, (4096 + 100) / 4, 0,
			(4096 + 100) * 95 / 100, "quarter of the machine's available memory"},
	} {
		b := newBudgeter(machine(t, c.files), &c.opts)
		var s gccontrol.Sample
		b.read(&s, time.Now(), anon)
		near := func(a, b uint64) bool { return max(a, b)-min(a, b) <= 2 }
		if !near(s.Budget/mb, c.budget) || !near(s.Reserve/mb, c.reserve) || !near(s.Hard/mb, c.hard) ||
			s.Limited != (c.name != "no limit") || !strings.Contains(*b.source.Load(), c.source) {
			t.Errorf("%s: budget %d MB, reserve %d MB, hard %d MB, %s", c.name, s.Budget/mb, s.Reserve/mb, s.Hard/mb, *b.source.Load())
		}
	}
}

// TestBudgetIsReadAgain lowers a limit while the process runs.
func TestBudgetIsReadAgain(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("proc/self/cgroup", "0::/\n")
	write("proc/self/mountinfo", "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
	write("sys/fs/cgroup/memory.max", fmt.Sprint(1000*mb))
	write("proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n")
	b := newBudgeter(procmem.New(root), &Options{})
	now := time.Now()
	var s gccontrol.Sample
	if b.read(&s, now, 0); s.Budget != 950*mb || s.Reserve != 25*mb || s.Hard != 975*mb || s.Pressure != 0 {
		t.Errorf("%+v", s)
	}
	write("sys/fs/cgroup/memory.max", fmt.Sprint(500*mb))
	write("proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1250000\n")
	if b.read(&s, now.Add(budgetEvery), 0); s.Budget != 475*mb || s.Reserve > 13*mb || s.Pressure != 0.25 {
		t.Errorf("after it was lowered: %+v", s)
	}
}
