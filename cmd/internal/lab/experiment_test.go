package lab

import (
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/lab/settings"
	"github.com/foliomem/folio/internal/system/cgroup"
	"github.com/foliomem/folio/internal/system/page"
)

// machine is a machine like those of clouds, whose kernel files are below root.
func machine(root string) *Machine {
	return &Machine{
		Root: root, BasePage: 4096, HugePage: 2 << 20, THPSizes: []int{64 << 10, 2 << 20},
		PoolSizes: []int{2 << 20, 1 << 30}, CPUs: 2, Spare: 64 << 30, FreeWindows: 1000,
	}
}

func TestArms(t *testing.T) {
	m := machine(kernel(t, nil))
	for _, e := range Experiments() {
		if e.Name == "" || !strings.HasSuffix(e.Question, "?") || e.Source == "" || len(e.Figures) == 0 {
			t.Errorf("%s: no name, question, source or figures", e.Name)
		}
		seen := map[string]bool{}
		for _, f := range e.Figures {
			if seen[f.Key] || seen[f.Label] || f.Key == "" || f.Unit == "" || strings.ContainsAny(f.Unit+f.Key, " ") {
				t.Errorf("%s: figure %+v", e.Name, f)
			}
			seen[f.Key], seen[f.Label] = true, true
		}
		for _, p := range []Params{e.defaults, e.quick} {
			if p.Size&(p.Size-1) != 0 || p.Size == 0 || p.Count == 0 || p.Rounds == 0 {
				t.Errorf("%s: parameters %+v", e.Name, p)
			}
			names := map[string]bool{}
			for _, a := range e.Arms(m, p) {
				if names[a.Name] || a.Name == "" || a.About == "" || strings.ContainsAny(a.Name, " =") {
					t.Errorf("%s: arm %+v", e.Name, a)
				}
				names[a.Name] = true
				if a.NotRun != "" {
					t.Errorf("%s %s cannot run: %s", e.Name, a.Name, a.NotRun)
				}
				if a.Task.Experiment != e.Name || a.Task.Arm != a.Name || a.Task.Size == 0 || a.Task.Count != p.Count {
					t.Errorf("%s %s: task %+v", e.Name, a.Name, a.Task)
				}
			}
		}
	}
}

// What each arm needs of the system, on a system as most distributions have it.
func TestChanges(t *testing.T) {
	root := kernel(t, nil)
	m := machine(root)
	thp, pool := root+"/sys/kernel/mm/transparent_hugepage/", root+"/sys/kernel/mm/hugepages/"
	for _, tt := range []struct {
		e    *Experiment
		arm  string
		want []settings.Change
	}{
		{pages, "base", nil},
		{pages, "thp", nil},
		{pages, "hugetlb-2MiB", []settings.Change{{Path: pool + "hugepages-2048kB/nr_hugepages", Value: "2052", Pool: true}}}, // 5 there, 1 free
		{pages, "hugetlb-1GiB", []settings.Change{{Path: pool + "hugepages-1048576kB/nr_hugepages", Value: "4", Pool: true}}},
		{pages, "thp-64KiB", []settings.Change{
			{Path: thp + "hugepages-64kB/enabled", Value: "madvise"}, {Path: thp + "hugepages-2048kB/enabled", Value: "never"},
		}},
		{fork, "hugetlb-2MiB", []settings.Change{{Path: pool + "hugepages-2048kB/nr_hugepages", Value: "516", Pool: true}}},
		{madvise, "thp-free", nil},
		{madvise, "thp-free-pressure", []settings.Change{{Path: "cgroup", Dir: true, Limit: "memory.limit_in_bytes", Value: "704643072"}}},
		{bloat, "khugepaged-0", []settings.Change{
			{Path: thp + "khugepaged/max_ptes_none", Value: "0"},
			{Path: thp + "khugepaged/scan_sleep_millisecs", Value: "10"},
			{Path: thp + "khugepaged/pages_to_scan", Value: "65536"},
		}},
		{stall, "defrag-defer+madvise", []settings.Change{{Path: thp + "defrag", Value: "defer+madvise"}}},
	} {
		got := find(t, tt.e, m, tt.arm).Changes
		for i := range got {
			if got[i].Dir && strings.HasPrefix(got[i].Path, root+"/sys/fs/cgroup/memory/group/folio-lab-") {
				got[i].Path = "cgroup"
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s %s:\n got %v\nwant %v", tt.e.Name, tt.arm, got, tt.want)
		}
	}
}

func find(t *testing.T, e *Experiment, m *Machine, arm string) *Arm {
	t.Helper()
	for _, a := range e.Arms(m, e.defaults) {
		if a.Name == arm {
			return a
		}
	}
	t.Fatalf("%s has no arm %s", e.Name, arm)
	return nil
}

// What keeps arms from running, and whether that is a lack of the machine.
func TestNotRun(t *testing.T) {
	for _, tt := range []struct {
		name    string
		files   map[string]string
		machine func(*Machine)
		e       *Experiment
		arm     string
		want    string
		missing bool
	}{
		{"no THP", nil, func(m *Machine) { m.HugePage = 0 }, pages, "thp", "the kernel has no transparent huge pages", true},
		{"no THP to shatter with", nil, func(m *Machine) { m.HugePage = 0 }, stall, "base-pieces", "the kernel has none", false},
		{"a pool too large", nil, func(m *Machine) { m.Spare = 1 << 30 }, pages, "hugetlb-2MiB",
			"its pool needs 4094MiB more, the machine can spare 1GiB", false},
		{"one processor", nil, func(m *Machine) { m.CPUs = 1 }, faults, "ahead", "one CPU: no second thread", false},
		{"much free memory", nil, func(m *Machine) { m.FreeWindows = 1 << 20 }, stall, "thp-pieces", "too much free memory", false},
		{"no memory cgroup", map[string]string{"proc/self/cgroup": "0::/\n"}, nil, madvise, "base-free-pressure",
			"no memory cgroup can be made", false},
		{"no pool", map[string]string{"sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": ""}, nil, pages,
			"hugetlb-2MiB", "cannot be read", true},
	} {
		m := machine(kernel(t, tt.files))
		if tt.machine != nil {
			tt.machine(m)
		}
		a := find(t, tt.e, m, tt.arm)
		if !strings.Contains(a.NotRun, tt.want) || a.Missing != tt.missing {
			t.Errorf("%s: not run: %q, missing %v", tt.name, a.NotRun, a.Missing)
		}
	}
	// THP is off: those who ask must be allowed.
	m := machine(kernel(t, map[string]string{thpDir + "enabled": "always madvise [never]\n"}))
	a := find(t, pages, m, "thp")
	if len(a.Changes) != 1 || a.Changes[0].Value != "madvise" {
		t.Errorf("THP never: %+v", a)
	}
}

// Under limits run all arms but those that bring their own, or take what there is; and what
// they may take is within the limit.
func TestLimits(t *testing.T) {
	l := cgroup.Limits{Memory: new(uint64(1 << 30))}
	r := &run{Options: Options{Machine: machine(kernel(t, nil)), Limits: l, AllowSystem: true}}
	notRun := make(map[string]string)
	for _, e := range []*Experiment{madvise, stall, faults} {
		for _, a := range r.prepare(e).Arms {
			if a.Arm.NotRun != "" {
				notRun[a.Arm.Name] = a.Arm.NotRun
			}
		}
	}
	const own, all = "has a cgroup of its own: run it without --cgroup-memory and --cgroup-cpus",
		"takes all free memory of the machine: run it without --cgroup-memory"
	for arm, want := range map[string]string{"base-free-pressure": own, "thp-dontneed-pressure": own, "thp-pieces": all, "defrag-never": all,
		"thp": "", "base-free": "", "ahead": ""} {
		if notRun[arm] != want {
			t.Errorf("%s: not run: %q, want %q", arm, notRun[arm], want)
		}
	}
	a := find(t, stall, r.Machine, "thp-pieces")
	if why := beyond(a, cgroup.Limits{CPUs: new(1.0)}); why != "" {
		t.Errorf("a CPU quota keeps an arm from running: %s", why)
	}
}

func TestCgroupVersion2(t *testing.T) {
	m := machine(kernel(t, map[string]string{
		"proc/self/cgroup": "0::/user/shell\n",
		"sys/fs/cgroup/user/shell/cgroup.subtree_control": "\n",
		"sys/fs/cgroup/user/cgroup.subtree_control":       "cpu memory\n",
	}))
	dir, limit, err := m.cgroup()
	if dir != m.Root+"/sys/fs/cgroup/user" || limit != "memory.max" || err != nil {
		t.Errorf("%s, %s, %v", dir, limit, err)
	}
}

func TestLookup(t *testing.T) {
	for name, want := range map[string]string{
		"pagse": "did you mean pages?", "Faults": "did you mean faults?", "mad": "did you mean madvise?", "forks": "did you mean fork?",
		"xyzzy": "want one of pages, faults, madvise, fork, bloat, stall", "": "want one of",
	} {
		if _, err := Lookup(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", name, err, want)
		}
	}
	if e, err := Lookup("stall"); e != stall || err != nil {
		t.Errorf("stall: %v, %v", e, err)
	}
}

func TestTaskArgs(t *testing.T) {
	for _, want := range []Task{
		{Experiment: "pages", Arm: "x", Kind: page.HugeTLB, PageSize: 1 << 30, Size: 1 << 32, Count: 7},
		{Experiment: "madvise", Arm: "y", Kind: page.THP, How: "free-pressure", Cgroup: "/sys/fs/cgroup/a b=c"},
	} {
		got, err := ParseTask(want.Args())
		if got != want || err != nil {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	for _, bad := range [][]string{nil, {"pages"}, {"pages", "a", "kind=tiny"}, {"pages", "a", "size=-1"},
		{"pages", "a", "count=9999999999"}, {"pages", "a", "x"}, {"pages", "a", "size=9223372036854775808"}} {
		if got, err := ParseTask(bad); err == nil {
			t.Errorf("%q: %+v, want an error", bad, got)
		}
	}
}

func FuzzParseTask(f *testing.F) {
	f.Add("pages\x00base\x00kind=thp\x00size=1024\x00count=3\x00how=x\x00cgroup=/a\x00page=4096")
	f.Fuzz(func(t *testing.T, text string) {
		task, err := ParseTask(strings.Split(text, "\x00"))
		if err != nil {
			return
		}
		again, err := ParseTask(task.Args())
		if again != task || err != nil {
			t.Errorf("%+v became %+v, %v", task, again, err)
		}
	})
}

func TestParams(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spare uint64
		o     Options
		size  uint64
		note  string
		err   string
	}{
		{"default", 64 << 30, Options{}, 4 << 30, "", ""},
		{"little memory", 3 << 30, Options{}, 2 << 30, "4GiB does not fit into free memory: 2GiB instead", ""},
		{"quick", 64 << 30, Options{Quick: true}, 1 << 30, "", ""},
		{"size", 64 << 30, Options{Size: 5 << 20}, 4 << 20, "sizes are powers of two: 4MiB instead of 5MiB", ""},
		{"too large", 3 << 30, Options{Size: 4 << 30}, 4 << 30, "",
			"pages: --size 4GiB is too much: the machine, or this container, can spare 2GiB for it"},
		{"beyond the address space", 3 << 30, Options{Size: 1 << 62}, 1 << 62, "", "is too much"},
		{"no memory", 500 << 10, Options{}, 4 << 30, "", "too little free memory"},
	} {
		p, notes, err := pages.params(&Machine{Spare: tt.spare, BasePage: 4096}, tt.o)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if p.Size != tt.size || strings.Join(notes, "; ") != tt.note || !strings.Contains(text, tt.err) || (err != nil) != (tt.err != "") {
			t.Errorf("%s: %d bytes, notes %q, error %q", tt.name, p.Size, notes, text)
		}
	}
}
