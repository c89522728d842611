package act

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/cgroups"
	"github.com/foliomem/folio/cmd/fleet/internal/node"
	"github.com/foliomem/folio/cmd/fleet/internal/pod"
	"github.com/foliomem/folio/cmd/internal/process/collapser"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
	_ "github.com/foliomem/folio/internal/test/testenv" // temporary files are gone with the tests
)

func TestPolicy(t *testing.T) {
	p, err := parse([]byte("label: team/huge=yes\nminDensity: 0.75\nrate: 8MiB\nbudgetPerProcess: 1GiB\nevery: 1m\nmaxMemoryPressure: 0.5%\n"))
	want := Policy{"team/huge", "yes", 0.75, 8 << 20, 1 << 30, time.Minute, 0.005, 0.1, 0.1, nil, Canary{}, Thrash{}}
	if err != nil || !reflect.DeepEqual(p, want) {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := parse(nil); err != nil || !reflect.DeepEqual(p, Default()) {
		t.Errorf("%+v, %v", p, err)
	}
	for text, want := range map[string]string{
		"rates: 1MiB":                      "unknown field",
		"label: x":                         "want KEY=VALUE",
		"canary: x":                        "canary: label",
		"thrash: {label: x}":               "thrash: label",
		"thrash: {label: a=b, then: kill}": "want raise=SIZE",
		"minDensity: 0.1":                  "want 0.5 to 1",
		"minDensity: .nan":                 "NaN",
		"rate: 0":                          "rate",
		"rate: fast":                       "rate",
		"every: 1s":                        "10s or more",
		"maxMemoryPressure: 5":             "maxMemoryPressure",
		"maxMemoryPressure: 500%":          "want a percentage",
		"minNodeAvailable: \"10\"":         "want a percentage",
		"- a list":                         "",
		"label: a=b\nlabel: c=d":           "already set",
		"minContainerHeadroom: NaN%":       "want a percentage",
		strings.Repeat("[", 1000):          "",
		"label: \"\x1b[2J\"":               "",
	} {
		if p, err := parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %+v, %v", text, p, err)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a policy that is not there")
	}
}

const uid = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"

// A world is a node of files, on which two of three pods opted in.
type world struct {
	t       *testing.T
	root    string
	opened  []int
	options collapser.Options
	passes  int
	during  func()
	fill    uint64
}

func container(n int) string { return fmt.Sprintf("%064x", n) }

func (w *world) Find(_, id string) (pod.Name, bool) {
	return pod.Name{Namespace: "shop", Pod: "pod-" + strings.TrimLeft(id, "0"), Container: "main"}, true
}
func (w *world) Has(string) bool { return true }
func (w *world) Synced() bool    { return true }
func (w *world) Pods() int       { return 3 }

func (w *world) Annotation(string, string, string) string { return "" }

func (w *world) Workload(string, string) (pod.Workload, bool) { return pod.Workload{}, false }

func (w *world) Label(_, id, label string) (string, bool) {
	switch {
	case label != "folio.dev/collapse" || id == container(3):
		return "", false
	case id == container(2):
		return "false", true
	}
	return "true", true
}

func (w *world) write(name, text string) {
	w.t.Helper()
	name = filepath.Join(w.root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) Plan() (collapser.Plan, error) {
	return collapser.Plan{Todo: make([]page.Window, 2), Bytes: 4 << 20, Fill: w.fill}, nil
}

func (w *world) Pass(ctx context.Context) (collapser.Outcome, error) {
	w.passes++
	if w.during != nil {
		w.during()
		<-ctx.Done()
		return collapser.Outcome{Collapsed: 1, Bytes: 2 << 20}, ctx.Err()
	}
	return collapser.Outcome{Collapsed: 2, Bytes: 4 << 20, Spent: time.Millisecond}, nil
}
func (w *world) Close() error { return nil }

func newWorld(t *testing.T) (*world, *Actor) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, root: t.TempDir()}
	w.write("proc/1/stat", "1 (init) S 0 1 1 0 0 0 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0\n")
	for n := 1; n <= 3; n++ {
		dir := fmt.Sprintf("proc/%d/", 10+n)
		w.write(dir+"stat", fmt.Sprintf("%d (app) S 1 1 1 0 0 0 0 0 0 0 0 0 0 0 20 0 1 0 50 0 0\n", 10+n))
		w.write(dir+"cgroup", "0::/kubepods/pod"+uid+"/"+container(n)+"\n")
		if err := os.Symlink(exe, filepath.Join(w.root, dir, "exe")); err != nil {
			t.Fatal(err)
		}
	}
	w.write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 500 kB\n")
	w.write("proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")
	dir := "cgroup/kubepods/pod" + uid + "/" + container(1) + "/"
	w.write("cgroup/cgroup.controllers", "memory\n")
	w.write(dir+"memory.current", "50000000\n")
	w.write(dir+"memory.max", "100000000\n")
	w.write(dir+"memory.stat", "file 0\nshmem 0\n")
	fs := procmem.New(w.root)
	n := node.New(node.Config{FS: fs, Pods: w})
	if err := n.Scan(); err != nil {
		t.Fatal(err)
	}
	a := New(Default(), n, w, cgroups.Open(filepath.Join(w.root, "cgroup")), slog.New(slog.DiscardHandler))
	a.FS, a.settle = fs, 0
	a.Open = func(pid int, o collapser.Options, _ bool) (Process, error) {
		w.opened, w.options = append(w.opened, pid), o
		return w, nil
	}
	return w, a
}

func TestOptIn(t *testing.T) {
	w, a := newWorld(t)
	a.Policy.Budget = 6 << 20
	a.Pass(context.Background())
	if len(w.opened) != 1 || w.opened[0] != 11 || w.options.Budget != 6<<20 || w.options.MinDensity != a.Policy.MinDensity {
		t.Errorf("opened %v with %+v", w.opened, w.options)
	}
	a.Pass(context.Background())
	if len(w.opened) != 2 || w.options.Budget != 2<<20 {
		t.Errorf("opened %v with %+v: the budget is that of all passes", w.opened, w.options)
	}
	a.Pass(context.Background())
	work, stops := a.Done()
	if len(w.opened) != 2 || len(work) != 1 || work[node.Labels{Namespace: "shop", Pod: "pod-1", Container: "main"}].Bytes != 8<<20 || len(stops) != 0 {
		t.Errorf("%v, %v, %v", w.opened, work, stops)
	}
}

func TestDryRun(t *testing.T) {
	w, a := newWorld(t)
	a.DryRun = true
	a.Pass(context.Background())
	if w.passes != 0 || len(w.opened) != 1 {
		t.Errorf("%d passes, opened %v", w.passes, w.opened)
	}
}

func TestMemoryIsShort(t *testing.T) {
	for reason, change := range map[string]func(w *world){
		Available: func(w *world) { w.write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 99 kB\n") },
		Headroom:  func(w *world) { w.fill = 45000000 },
	} {
		w, a := newWorld(t)
		change(w)
		a.Pass(context.Background())
		if _, stops := a.Done(); w.passes != 0 || stops[reason] != 1 {
			t.Errorf("%s: %d passes, %v", reason, w.passes, stops)
		}
	}
	// Pressure that comes during a pass ends it.
	w, a := newWorld(t)
	w.during = func() { w.write("proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=9999999999\n") }
	a.Pass(context.Background())
	work, stops := a.Done()
	if stops[Pressure] != 1 || len(work) != 1 {
		t.Errorf("%v, %v", work, stops)
	}
}

// A process whose number has been given to another since it was found is left alone.
func TestOtherProcess(t *testing.T) {
	w, a := newWorld(t)
	w.write("proc/11/stat", "11 (app) S 1 1 1 0 0 0 0 0 0 0 0 0 0 0 20 0 1 0 99 0 0\n")
	a.Pass(context.Background())
	if w.passes != 0 {
		t.Error("another process was collapsed")
	}
}

// The budget is of a process, not of its number: the next one with that number, in the same
// container, has its own.
func TestBudgetOfNumberReused(t *testing.T) {
	w, a := newWorld(t)
	a.Policy.Budget = 4 << 20 // one pass
	for range 2 {
		a.Pass(context.Background())
	}
	if w.passes != 1 {
		t.Fatalf("%d passes, want 1: the budget is used up", w.passes)
	}
	w.write("proc/11/stat", "11 (app) S 1 1 1 0 0 0 0 0 0 0 0 0 0 0 20 0 1 0 90 0 0\n") // began later
	for range 2 {                                                                       // the first says goodbye to the old one
		if err := a.Node.Scan(); err != nil {
			t.Fatal(err)
		}
	}
	a.Pass(context.Background())
	if w.passes != 2 || len(a.used) != 1 {
		t.Errorf("%d passes, budgets of %d processes", w.passes, len(a.used))
	}
}
