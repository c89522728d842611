package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/metrics"
	"github.com/foliomem/folio/cmd/fleet/internal/pod"
	"github.com/foliomem/folio/internal/system/procmem"
	_ "github.com/foliomem/folio/internal/test/testenv" // temporary files are gone with the tests
)

const uid = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"

func id(n int) string { return fmt.Sprintf("%064x", n) }

// A fake is a /proc of files, and an API. This test binary is the Go program.
type fake struct {
	t     *testing.T
	root  string
	now   time.Time
	exe   string
	names map[string]pod.Name // by container
	pods  map[string]bool
	api   bool
}

func newFake(t *testing.T) (*fake, *Node) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{t: t, root: t.TempDir(), now: time.Unix(1e9, 0), exe: exe, names: map[string]pod.Name{}, pods: map[string]bool{}, api: true}
	f.process(1, "/sbin/init", "/", 1, 0)
	n := New(Config{FS: procmem.New(f.root), Pods: f, Now: func() time.Time { return f.now }})
	return f, n
}

func (f *fake) Find(_, container string) (pod.Name, bool) { n, ok := f.names[container]; return n, ok }
func (f *fake) Has(uid string) bool                       { return f.pods[uid] }
func (f *fake) Synced() bool                              { return f.api }
func (f *fake) Pods() int                                 { return len(f.pods) }

// process writes one, with its start and CPU time in ticks of 10 ms.
func (f *fake) process(pid int, exe, cgroup string, start, user int) {
	f.t.Helper()
	dir := filepath.Join(f.root, "proc", fmt.Sprint(pid))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		f.t.Fatal(err)
	}
	stat := fmt.Sprintf("%d (evil) R 1) R 1 1 1 0 0 0 %d 0 %d 0 %d 0 0 0 20 0 9 0 %d 0 0\n", pid, 10*user, user/10, user, start)
	for name, text := range map[string]string{"stat": stat, "cgroup": "0::" + cgroup + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			f.t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "exe")
	if old, _ := os.Readlink(link); old != exe {
		os.Remove(link)
		if err := os.Symlink(exe, link); err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *fake) gone(pid int) {
	if err := os.RemoveAll(filepath.Join(f.root, "proc", fmt.Sprint(pid))); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fake) scan(n *Node) *Snapshot {
	f.t.Helper()
	f.now = f.now.Add(5 * time.Second)
	if err := n.Scan(); err != nil {
		f.t.Fatal(err)
	}
	return n.Snapshot()
}

func (f *fake) container(n int) string {
	f.names[id(n)] = pod.Name{Namespace: "shop", Pod: fmt.Sprintf("pod-%d", n), Container: "main"}
	f.pods[uid] = true
	return "/kubepods/pod" + uid + "/" + id(n)
}

// find returns the workload of a pod.
func find(s *Snapshot, pod, container string) *Workload {
	for i := range s.Workloads {
		if w := &s.Workloads[i]; w.Pod == pod && w.Container == container {
			return w
		}
	}
	return &Workload{}
}

func TestAccount(t *testing.T) {
	f, n := newFake(t)
	f.process(10, f.exe, f.container(1), 100, 500) // it ran before the agent
	f.process(11, "/bin/sh", f.container(1), 100, 900)
	f.process(12, f.exe, "/system.slice/x.service", 100, 0)
	s := f.scan(n)
	w := find(s, "pod-1", "main")
	if w.Processes != 1 || w.CPU != 0 || w.Namespace != "shop" || s.Stats.Go != 2 || s.Stats.NotGo != 2 {
		t.Errorf("%+v %+v", w, s.Stats)
	}
	if h := find(s, "", metrics.OutsideHost); h.Processes != 1 {
		t.Errorf("%+v", s.Workloads)
	}
	f.process(10, f.exe, f.container(1), 100, 700)
	f.process(20, f.exe, f.container(1), 200, 100) // it began after the agent: all counts
	w = find(f.scan(n), "pod-1", "main")
	if w.Processes != 2 || w.CPU != 3 || w.MinorFaults != 3000 || w.MajorFaults != 30 {
		t.Errorf("%+v", w)
	}
	// What ended stays counted, the number of a process is given to another.
	f.gone(20)
	f.process(10, f.exe, f.container(2), 300, 50)
	s = f.scan(n)
	if w, v := find(s, "pod-1", "main"), find(s, "pod-2", "main"); w.CPU != 3 || v.CPU != 0.5 || v.Processes != 1 || s.Stats.Ended != 2 {
		t.Errorf("%+v, %+v, %+v", w, v, s.Stats)
	}
}

// A process that execs is another program: what it used before is not the new one's.
func TestExec(t *testing.T) {
	f, n := newFake(t)
	f.scan(n)
	f.process(10, "/bin/sh", f.container(1), 100, 300)
	f.scan(n)
	f.process(10, f.exe, f.container(1), 100, 400)
	f.scan(n)
	w := find(f.scan(n), "pod-1", "main")
	if w.Processes != 1 || w.CPU > 1 {
		t.Errorf("%+v", w)
	}
	other := filepath.Join(t.TempDir(), "other")
	data, err := os.ReadFile(f.exe)
	if err != nil || os.WriteFile(other, data, 0o755) != nil {
		t.Fatal(err)
	}
	f.process(10, other, f.container(1), 100, 600) // another Go program
	w = find(f.scan(n), "pod-1", "main")
	if w.Processes != 1 || w.CPU > 3 {
		t.Errorf("%+v", w)
	}
	before := w.CPU
	f.process(10, "/bin/sh", f.container(1), 100, 700)
	f.scan(n)
	f.process(10, "/bin/sh", f.container(1), 100, 9000)
	w = find(f.scan(n), "pod-1", "main")
	if w.Processes != 0 || w.CPU != before+1 {
		t.Errorf("%+v, was %v: what a shell uses is not Go's", w, before)
	}
}

func TestSamples(t *testing.T) {
	f, n := newFake(t)
	f.process(10, f.exe, f.container(1), 100, 0)
	f.process(11, f.exe, f.container(2), 100, 0)
	f.scan(n)
	sample := func(pid int, classes ...string) {
		for _, c := range classes {
			n.Process(pid).Sampled(c)
		}
	}
	sample(10, "gc_mark", "page_faults", "program", "program")
	f.process(10, f.exe, f.container(1), 100, 800)
	f.process(11, f.exe, f.container(2), 100, 800)
	f.scan(n)
	n.Settle(true)
	s := n.Snapshot()
	if w := find(s, "pod-1", "main"); w.Tax[0] != 2 || w.Tax[7] != 2 || w.Sampled != 8 || w.CPU != 8 {
		t.Errorf("%+v", w)
	}
	if w := find(s, "pod-2", "main"); w.Sampled != 0 || w.CPU != 8 {
		t.Errorf("%+v: it had no samples", w)
	}
	// Time without samples is divided by the next ones.
	sample(11, "allocation")
	f.process(11, f.exe, f.container(2), 100, 900)
	f.scan(n)
	n.Settle(true)
	if w := find(n.Snapshot(), "pod-2", "main"); w.Sampled != 9 || w.Tax[4] != 9 {
		t.Errorf("%+v", w)
	}
	// Samples since a process was last seen may be of the one that has its number now.
	sample(10, "gc_mark", "gc_mark")
	f.process(10, f.exe, f.container(3), 500, 100)
	f.scan(n)
	n.Settle(true)
	s = f.scan(n)
	if w, v := find(s, "pod-1", "main"), find(s, "pod-3", "main"); w.Tax[0] != 2 || v.Tax[0] != 0 || v.CPU != 1 {
		t.Errorf("%+v, %+v", w, v)
	}
}

func TestNames(t *testing.T) {
	f, n := newFake(t)
	cgroup := f.container(1)
	name := f.names[id(1)]
	delete(f.names, id(1))
	f.process(10, f.exe, cgroup, 100, 0)
	if s := f.scan(n); len(s.Workloads) != 0 {
		t.Errorf("%+v before it has a name", s.Workloads)
	}
	f.process(10, f.exe, cgroup, 100, 100)
	for range 12 {
		f.scan(n)
	}
	s := n.Snapshot()
	if w := find(s, uid, id(1)[:12]); w.CPU != 1 || w.Namespace != "" || len(s.Workloads) != 1 {
		t.Errorf("%+v", s.Workloads)
	}
	f.names[id(1)] = name
	s = f.scan(n)
	if w := find(s, "pod-1", "main"); w.CPU != 1 || len(s.Workloads) != 1 {
		t.Errorf("%+v", s.Workloads)
	}
	// The container starts anew: another ID, the same labels.
	f.gone(10)
	f.names[id(9)] = name
	f.process(30, f.exe, "/kubepods/pod"+uid+"/"+id(9), 900, 200)
	s = f.scan(n)
	if w := find(s, "pod-1", "main"); w.CPU != 3 || w.Processes != 1 || len(s.Workloads) != 1 {
		t.Errorf("%+v", s.Workloads)
	}
	// The pod goes, and with it what is kept, after a while.
	f.gone(30)
	delete(f.pods, uid)
	f.scan(n)
	if w := find(f.scan(n), "pod-1", "main"); w.CPU != 3 {
		t.Errorf("%+v: the last scrape has what it used", w)
	}
	for range 70 {
		s = f.scan(n)
	}
	if len(s.Workloads)+len(n.groups)+len(n.ended)+len(n.looks) != 0 || len(n.table) != 1 {
		t.Errorf("%d workloads, %d groups, %d ended, %d looks, %d numbers", len(s.Workloads), len(n.groups), len(n.ended), len(n.looks), len(n.table))
	}
}

func TestWithoutAPI(t *testing.T) {
	f, n := newFake(t)
	n.Pods = nil
	f.process(10, f.exe, f.container(1), 100, 0)
	f.process(11, f.exe, "/docker/"+id(5), 100, 0)
	f.process(12, f.exe, "/docker/"+id(6), 100, 0)
	s := f.scan(n)
	if w := find(s, uid, id(1)[:12]); w.Processes != 1 {
		t.Errorf("%+v", s.Workloads)
	}
	if w := find(s, "", metrics.OutsideContainer); w.Processes != 2 || len(s.Workloads) != 2 {
		t.Errorf("%+v", s.Workloads)
	}
}

// However many containers there are, and come and go, series are bounded, and sums do not
// go backwards.
func TestOverflow(t *testing.T) {
	f, n := newFake(t)
	f.scan(n)
	total := func(s *Snapshot) (cpu float64) {
		for _, w := range s.Workloads {
			cpu += w.CPU
		}
		return cpu
	}
	const more = metrics.MaxContainers + 40
	for i := range more {
		f.process(100+i, f.exe, f.container(i), 1000, 100)
	}
	s := f.scan(n)
	over := find(s, "", metrics.Overflow)
	if len(s.Workloads) != metrics.MaxContainers+1 || over.Processes != 40 || s.Overflow != 40 || total(s) != more {
		t.Errorf("%d workloads, %+v, %v s", len(s.Workloads), over, total(s))
	}
	for i := range more {
		f.gone(100 + i)
	}
	clear(f.pods)
	last := 0.0
	for range 100 {
		s = f.scan(n)
		if v := find(s, "", metrics.Overflow).CPU; v < last {
			t.Fatalf("%v s after %v", v, last)
		} else {
			last = v
		}
	}
	if len(n.groups) != 0 || len(n.ended) != 1 || last != 40 {
		t.Errorf("%d groups, %d ended, %v s", len(n.groups), len(n.ended), last)
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                  "plain",
		"a\x1b[2Jb\n\"\\":        "a_[2Jb_\"\\",
		"\xff":                   "\uFFFD",
		"\u202egnp.exe":          "_gnp.exe",
		strings.Repeat("ä", 100): strings.Repeat("ä", 64),
	} {
		if got := clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
