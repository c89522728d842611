package diagnose

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
)

// A machine and a process with which all is well give no finding, on every
// kernel, and every check could be made.
func TestCleanFixtures(t *testing.T) {
	for _, name := range fixtures(t) {
		for _, pid := range []int{0, orders} {
			w := newWorld(t, name)
			d := w.diagnose(pid)
			if len(d.Findings) > 0 || len(d.unknown()) > 0 {
				t.Errorf("%s, process %d: found %q, unknown %q", name, pid, d.found(), d.unknown())
			}
			want := len(Rules())
			if pid == 0 {
				want = len(hostRules) + len(watchRules) + len(containerRules)
			}
			if d.Count(Clean) != want || d.Count(Clean)+d.Count(DoesNotApply) != len(Rules()) {
				t.Errorf("%s, process %d: %d clean, want %d", name, pid, d.Count(Clean), want)
			}
		}
		w := newWorld(t, name)
		w.version = ""
		if d := w.diagnose(orders); d.Count(DoesNotApply) != len(goRules) || len(d.Findings) > 0 {
			t.Errorf("%s: not a Go program: %q, %d do not apply", name, d.found(), d.Count(DoesNotApply))
		}
	}
}

func TestRulesAreComplete(t *testing.T) {
	seen := make(map[string]bool)
	for _, r := range Rules() {
		if !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+$|^swappiness$|^swapping$`).MatchString(r.ID) || seen[r.ID] {
			t.Errorf("%q: bad or used twice", r.ID)
		}
		seen[r.ID] = true
		if r.Title == "" || r.Severity.rank() < 0 || len(r.Reads) == 0 || !strings.HasPrefix(r.Reference, "https://") || r.look == nil {
			t.Errorf("%s is incomplete: %+v", r.ID, r)
		}
	}
	if err := CheckRules([]string{"thp-never", "swapping"}); err != nil {
		t.Error(err)
	}
	if err := CheckRules([]string{"thp-never", "nope"}); err == nil || !strings.Contains(err.Error(), `"nope"`) {
		t.Errorf("nope: %v", err)
	}
}

func TestSkip(t *testing.T) {
	w := newWorld(t, "linux-5.15-cgroup-v2")
	w.write(thpEnabled, "always madvise [never]\n")
	if d := w.diagnose(0, "thp-never"); len(d.Findings) != 0 || d.Count(NotAsked) != 1 {
		t.Errorf("found %q, %d skipped", d.found(), d.Count(NotAsked))
	}
}

// The worst comes first; among equals the order of the rules stays.
func TestOrder(t *testing.T) {
	w := newWorld(t, "linux-6.8-cgroup-v2")
	w.write(ptesNone, "511\n")
	w.field("proc/4242/status", "VmSwap", "500000 kB")
	w.write(thpDefrag, "[always] defer defer+madvise madvise never\n")
	w.write(thpEnabled, "[always] madvise never\n")
	w.field("proc/4242/status", "THP_enabled", "0")
	want := []string{"problem thp-disabled", "problem swapped-out", "warning defrag-always", "warning max-ptes-none", "note thp-always"}
	if got := w.diagnose(orders).found(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Without any of the files nothing is found out, and nothing is passed over in
// silence.
func TestNothingToRead(t *testing.T) {
	w := &world{t: t, root: t.TempDir(), page: 4096}
	if _, err := w.read(orders); err == nil || err.Error() != "doctor 4242: no such process" {
		t.Errorf("error %v", err)
	}
	f, err := w.read(0)
	if err != nil {
		t.Fatal(err)
	}
	d := f.Diagnose()
	if got := d.found(); !slices.Equal(got, []string{"warning thp-missing"}) {
		t.Errorf("found %q", got)
	}
	for _, o := range d.Outcomes {
		switch {
		case o.State == NotChecked && o.Why == "":
			t.Errorf("%s: no reason", o.Rule.ID)
		case o.State == Clean && !strings.HasPrefix(o.Rule.ID, "thp-") &&
			!slices.Contains([]string{"defrag-always", "max-ptes-none", "hugetlb-unused", "base-page-size"}, o.Rule.ID):
			t.Errorf("%s is clean, and nothing was read", o.Rule.ID) // the others know that there is no THP and no pool
		}
	}
}

// What cannot be read is said, for each rule that reads it.
func TestNotChecked(t *testing.T) {
	for _, tt := range []struct {
		name   string
		breaks func(*world)
		want   []string
		why    string
	}{
		{"no vmstat", func(w *world) { w.remove("proc/vmstat") },
			[]string{"compaction-stalls", "huge-pages-refused", "huge-pages-split", "swapping"}, "no such file"},
		{"old vmstat", func(w *world) { w.write("proc/vmstat", "nr_free_pages 1\n") },
			[]string{"compaction-stalls", "huge-pages-refused", "huge-pages-split", "swapping"}, "does not count it"},
		{"no PSI", func(w *world) {
			w.remove("proc/pressure")
			w.remove("sys/fs/cgroup/system.slice/orders.service/memory.pressure")
		}, []string{"memory-pressure"}, "CONFIG_PSI"},
		{"not watched", func(w *world) { w.watch = 0 },
			[]string{"compaction-stalls", "huge-pages-refused", "huge-pages-split", "swapping", "memory-pressure",
				"go-tiny-heap"}, "nothing was watched: give --duration a time"},
		{"bad enabled", func(w *world) { w.write(thpEnabled, "none\n") }, []string{"thp-never", "thp-always", "max-ptes-none"}, "parse "},
		{"bad defrag", func(w *world) { w.write(thpDefrag, "none\n") }, []string{"defrag-always"}, "parse "},
		{"bad pools", func(w *world) { w.remove(hugetlbDir + "hugepages-2048kB/free_hugepages") }, []string{"hugetlb-unused"}, "no such file"},
		{"no buddyinfo", func(w *world) { w.remove("proc/buddyinfo") }, []string{"free-memory-in-pieces"}, "no such file"},
		{"no meminfo", func(w *world) { w.remove("proc/meminfo") }, []string{"swappiness"}, "no such file"},
		{"bad limit", func(w *world) { w.write("sys/fs/cgroup/system.slice/orders.service/memory.max", "much\n") },
			[]string{"container-full", "container-throttled", "go-no-memory-limit", "go-limit-above-container"}, "parse "},
		{"no usage", func(w *world) { w.remove("sys/fs/cgroup/system.slice/orders.service/memory.current") },
			[]string{"container-full"}, "does not say how much is in use"},
		{"no rollup", func(w *world) { w.remove("proc/4242/smaps_rollup") },
			[]string{"heap-on-base-pages", "fork-copies", "freed-but-resident"}, "no such file"},
		{"no smaps", func(w *world) { w.remove("proc/4242/smaps") },
			[]string{"advised-not-huge", "opted-out", "too-many-mappings"}, "no such file"},
		{"no max_map_count", func(w *world) { w.remove("proc/sys/vm/max_map_count") }, []string{"too-many-mappings"}, "no such file"},
		{"no environ", func(w *world) { w.remove("proc/4242/environ") }, []string{"go-disablethp", "go-setting-ignored", "go-setting-overridden"}, "no such file"},
		{"old status", func(w *world) { w.change("proc/4242/status", "THP_enabled:\t1\n", "") }, []string{"thp-disabled"}, "needs Linux 5.0"},
		{"no exe", func(w *world) { w.noExe = fmt.Errorf("open exe: %w", fs.ErrPermission) },
			[]string{"go-huge-page-faults", "go-no-memory-limit", "go-limit-above-container", "go-limit-too-low",
				"go-collector-off", "go-tiny-heap", "go-returned-memory", "go-goroutine-stacks", "go-finalizers-wait", "go-disablethp", "go-free-memory",
				"go-fragmentation", "go-setting-ignored", "go-setting-overridden"},
			"whether it is a Go program is not known: open exe: permission denied"},
		{"no debug information", func(w *world) { w.noState = goruntime.ErrNoDebugInfo },
			[]string{"go-limit-too-low", "go-finalizers-wait", "go-setting-overridden"}, "without debug information"},
		{"a small one without, and no samples", func(w *world) {
			w.noState = goruntime.ErrNoDebugInfo
			w.field("proc/4242/status", "RssAnon", "9000 kB")
		}, []string{"go-limit-too-low", "go-tiny-heap", "go-finalizers-wait", "go-setting-overridden"}, "without debug information"},
		{"neither runtime nor environment", func(w *world) { w.noState = goruntime.ErrNoDebugInfo; w.remove("proc/4242/environ") },
			[]string{"go-no-memory-limit", "go-limit-above-container", "go-limit-too-low", "go-collector-off", "go-finalizers-wait",
				"go-disablethp", "go-setting-ignored", "go-setting-overridden"}, ""},
		{"neither runtime nor parts", func(w *world) { w.noState, w.noParts = goruntime.ErrNoDebugInfo, goruntime.ErrNoDebugInfo },
			[]string{"go-limit-too-low", "go-returned-memory", "go-goroutine-stacks", "go-finalizers-wait", "go-free-memory", "go-fragmentation", "malloc-arenas", "go-setting-overridden"},
			"without debug information"},
		{"no parts", func(w *world) {
			w.memory = &inspect.Process{Notes: []string{"the parts of its memory are not known: no right"}}
		}, []string{"go-free-memory", "go-fragmentation", "malloc-arenas"}, "not known: no right"},
		{"no parts, and nobody says why", func(w *world) { w.memory = &inspect.Process{} },
			[]string{"go-free-memory", "go-fragmentation", "malloc-arenas"}, "the parts of its memory are not known"},
		{"an old Go", func(w *world) {
			w.version = "go1.17.13"
			w.states = []goruntime.State{{Cycles: 7}}
		}, []string{"go-limit-too-low"}, "needs Go 1.19"},
		{"a Go of one's own", func(w *world) { w.version = "devel +a1b2c3" }, []string{"go-huge-page-faults"}, "not a release of Go"},
		{"the runtime goes", func(w *world) { w.states = nil },
			[]string{"go-limit-too-low", "go-finalizers-wait", "go-setting-overridden"}, "gone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, "linux-5.15-cgroup-v2")
			tt.breaks(w)
			d := w.diagnose(orders)
			if got := d.found(); len(got) > 0 {
				t.Errorf("found %q", got)
			}
			for id, why := range d.unknown() {
				if !slices.Contains(tt.want, id) || !strings.Contains(why, tt.why) {
					t.Errorf("%s is not checked: %s", id, why)
				}
			}
			for _, id := range tt.want {
				if d.unknown()[id] == "" {
					t.Errorf("%s was checked", id)
				}
			}
		})
	}
}

// A process that cannot be looked at is one clear line.
func TestNoProcess(t *testing.T) {
	for want, breaks := range map[string]func(*world){
		"doctor 4242: no such process": func(w *world) { w.remove("proc/4242") },
		"doctor 4242: the process has ended, and waits for its parent to notice": func(w *world) {
			w.change("proc/4242/stat", ") S ", ") Z ")
			w.change("proc/4242/stat", " 20 0 11 0 ", " 20 0 1 0 ")
		},
		"doctor 4242: is a thread: folio doctor 4240 looks at its process": func(w *world) {
			w.change("proc/4242/status", "Tgid:\t4242",
				"Tgid:\t4240")
		},
		"doctor 4242: is a thread of the kernel (orders), which has no memory of its own": func(w *world) {
			w.write("proc/4242/status", "Name:\torders\nTgid:\t4242\nPid:\t4242\nUid:\t0\t0\t0\t0\n")
			w.write("proc/4242/stat", "4242 (orders) S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 412233 0 0\n")
		},
		"doctor 4242: it is ending: its memory has been freed": func(w *world) {
			w.write("proc/4242/status", "Name:\torders\nTgid:\t4242\nPid:\t4242\nUid:\t0\t0\t0\t0\n")
		},
		"doctor 4242: the process ended while it was looked at": func(w *world) { w.later = func() { w.remove("proc/4242") } },
	} {
		t.Run("", func(t *testing.T) {
			w := newWorld(t, "linux-6.18-cgroup-hybrid")
			breaks(w)
			if _, err := w.read(orders); err == nil || err.Error() != want {
				t.Errorf("%v\nwant %s", err, want)
			}
		})
	}
	w := newWorld(t, "linux-6.18-cgroup-hybrid")
	w.later = func() { w.change("proc/4242/stat", " 412233 ", " 999999 ") } // the number was given away
	if _, err := w.read(orders); err == nil || !strings.HasSuffix(err.Error(), "ended while it was looked at") {
		t.Errorf("another process of this number: %v", err)
	}
}

// Why a process may not be looked at is said by what is known of it, and not by the file.
func TestBecause(t *testing.T) {
	denied := &os.PathError{Op: "open", Path: "/proc/1/smaps", Err: fs.ErrPermission}
	f := &Facts{Process: &Process{Denied: "it is protected"}}
	host := denied.Error()
	if os.Geteuid() != 0 {
		host += ": run as root"
	}
	for scope, want := range map[Scope]string{OfProcess: denied.Error() + ": it is protected", OfGo: denied.Error() + ": it is protected", Host: host, Container: host} {
		if got := f.because(scope, denied); got != want {
			t.Errorf("%s: %q, want %q", scope, got, want)
		}
		if got := f.because(scope, errors.New("x")); got != "x" {
			t.Errorf("%q", got)
		}
	}
}

// Count returns how many rules came to this state.
func (d Diagnosis) Count(s State) (n int) {
	for _, o := range d.Outcomes {
		if o.State == s {
			n++
		}
	}
	return n
}
