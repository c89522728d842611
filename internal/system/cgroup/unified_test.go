package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// both are limits of both kinds.
func both() Limits { return Limits{Memory: new(uint64(512 << 20)), CPUs: new(1.5)} }

func content(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := read(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A scope that is this user's: the process moves down, turns the controllers on, makes
// cgroups, and puts all back.
func TestDelegated(t *testing.T) {
	f := newFake(t, "/user.slice/run-1.scope")
	child := os.Getpid() + 1
	f.file("proc/"+strconv.Itoa(child)+"/stat", strings.Replace(content(t, f.root, "proc", strconv.Itoa(os.Getpid()), "stat"),
		strconv.Itoa(os.Getpid())+" ", strconv.Itoa(child)+" ", 1))
	scope := f.group("/user.slice/run-1.scope", "cpu memory pids", os.Getpid())
	was := f.tree()
	p, err := open(f.fs(), f, both())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	leaf := filepath.Join(scope, p.owner.name("self"))
	if in := content(t, leaf, "cgroup.procs"); in != strconv.Itoa(os.Getpid()) {
		t.Errorf("the leaf has %q", in)
	}
	if got := content(t, scope, "cgroup.procs"); got != "" {
		t.Errorf("%q are left in the scope", got)
	}
	if got := content(t, scope, "cgroup.subtree_control"); got != "memory cpu" {
		t.Errorf("subtree_control %q", got)
	}
	g, err := p.New()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(scope, p.owner.name(p.prefix()+"2")) // the first one was to see whether it goes
	if !slices.Equal(g.dirs, []string{dir}) {
		t.Fatalf("made in %q", g.dirs)
	}
	for file, want := range map[string]string{
		"memory.max": "536870912", "memory.swap.max": "0", "memory.oom.group": "1", "cpu.max": "150000 100000",
	} {
		if got := content(t, dir, file); got != want {
			t.Errorf("%s is %q, want %q", file, got, want)
		}
	}
	if err := g.Join(4242); err != nil || content(t, dir, "cgroup.procs") != "4242" {
		t.Errorf("join: %v", err)
	}
	if d, err := g.Dir(); err != nil || d.Name() != dir {
		t.Errorf("directory to clone into: %v, %v", d, err)
	} else {
		d.Close()
	}
	if leave, err := g.Enter(1); err != nil {
		t.Error(err)
	} else {
		leave()
	}
	if err := g.Remove(); err != nil || !slices.Equal(f.killed, []int{4242}) {
		t.Errorf("removed: %v, killed %v", err, f.killed)
	}
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := p.New(); err != nil { // left to Close
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	f.unchanged(was)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := p.New(); err == nil {
		t.Error("a group after Close")
	}
}

// Without a flag there is nothing, and one limit needs one controller.
func TestOneLimit(t *testing.T) {
	f := newFake(t, "/a")
	dir := f.group("/a", "cpu memory", os.Getpid())
	p, err := open(f.fs(), f, Limits{CPUs: new(0.01)})
	if err != nil {
		t.Fatal(err)
	}
	if got := content(t, dir, "cgroup.subtree_control"); got != "cpu" {
		t.Errorf("subtree_control %q", got)
	}
	g, err := p.New()
	if err != nil {
		t.Fatal(err)
	}
	if got := content(t, g.dirs[0], "cpu.max"); got != "1000 100000" {
		t.Errorf("cpu.max %q", got)
	}
	if u, err := g.Usage(); err != nil || u.Peak != nil || u.OOMKills != nil || u.Stalled != nil || u.Periods == nil {
		t.Errorf("%+v, %v", u, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// The root of the system may have processes, and needs no move.
func TestRootOfSystem(t *testing.T) {
	f := newFake(t, "/")
	f.file(mountPoint+"/cgroup.procs", strconv.Itoa(os.Getpid())+"\n1\n")
	was := f.tree()
	p, err := open(f.fs(), f, both())
	if err != nil {
		t.Fatal(err)
	}
	if p.stay.leaf != "" {
		t.Errorf("moved into %s", p.stay.leaf)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	f.unchanged(was)
}

// Where the controllers are on above, as in a container whose init has moved away, cgroups
// are made there: unless systemd owns it.
func TestAbove(t *testing.T) {
	f := newFake(t, "/init")
	f.group("/init", "cpu memory", os.Getpid(), 1)
	was := f.tree()
	p, err := open(f.fs(), f, both())
	if err != nil {
		t.Fatal(err)
	}
	if dir := p.places[0].dir; dir != f.path(mountPoint) {
		t.Errorf("made in %s", dir)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	f.unchanged(was)
	f.file("run/systemd/system/x", "")
	if _, err := open(f.fs(), f, both()); err == nil || !strings.Contains(err.Error(), "another process (1) is in ") {
		t.Errorf("systemd's: %v", err)
	}
	f.unchanged(was)
}

// Whatever is refused leaves all as it was, and is one line with what to do.
func TestRefused(t *testing.T) {
	user := "--user "
	if os.Geteuid() == 0 {
		user = ""
	}
	systemd := "; run folio below: systemd-run " + user + "--scope -p Delegate=yes folio ..."
	alone := "; run folio alone in a cgroup that its user may write, such as a privileged container with folio as its command"
	for _, c := range []struct {
		name        string
		controllers string
		in          []int
		broken      string
		err         error
		systemd     bool
		want        string // the paths are below the root
	}{
		{name: "not writable", controllers: "cpu memory", in: []int{os.Getpid()}, broken: "mkdir scope", err: syscall.EACCES, systemd: true,
			want: "make a cgroup for the program: mkdir /sys/fs/cgroup/scope: permission denied" + systemd},
		{name: "read only", controllers: "cpu memory", in: []int{os.Getpid()}, broken: "mkdir scope", err: syscall.EROFS,
			want: "make a cgroup for the program: mkdir /sys/fs/cgroup/scope: read-only file system" + alone},
		{name: "no controller", controllers: "memory pids", in: []int{os.Getpid()}, systemd: true,
			want: "make a cgroup for the program: ROOT/sys/fs/cgroup/scope may not use the controllers cpu" + systemd},
		{name: "a neighbor", controllers: "cpu memory", in: []int{os.Getpid(), 1}, systemd: true,
			want: "make a cgroup for the program: another process (1) is in ROOT/sys/fs/cgroup/scope, which must be folio's alone" + systemd},
		{name: "not turned on", controllers: "cpu memory", in: []int{os.Getpid()}, broken: "write scope/cgroup.subtree_control", err: syscall.EBUSY, systemd: true,
			want: "make a cgroup for the program: turn the memory controller on: write /sys/fs/cgroup/scope/cgroup.subtree_control: device or resource busy" + systemd},
		{name: "no move", controllers: "cpu memory", in: []int{os.Getpid()}, broken: "write -self/cgroup.procs", err: syscall.EACCES, systemd: true,
			want: "permission denied" + systemd},
		{name: "no limit", controllers: "cpu memory", in: []int{os.Getpid()}, broken: "write /memory.max", err: syscall.EACCES, systemd: true,
			want: "permission denied" + systemd},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t, "/scope")
			f.group("/scope", c.controllers, c.in...)
			f.put(f.path(mountPoint+"/cgroup.subtree_control"), "") // nothing to be had above
			if c.systemd {
				f.file("run/systemd/system/x", "")
			}
			if c.broken != "" {
				f.broken[c.broken] = c.err
			}
			was := f.tree()
			p, err := open(f.fs(), f, both())
			if p != nil || err == nil {
				t.Fatalf("opened, %v", err)
			}
			got := strings.ReplaceAll(err.Error(), f.root, "ROOT")
			if got != c.want && (strings.HasPrefix(c.want, "make") || !strings.HasSuffix(got, c.want)) || strings.Contains(got, "\n") {
				t.Errorf("error\n%s\nwant\n%s", got, c.want)
			}
			f.unchanged(was)
			parents.Lock()
			defer parents.Unlock()
			if len(parents.all) != 0 {
				t.Errorf("%d parents are left", len(parents.all))
			}
		})
	}
	t.Run("no cgroups", func(t *testing.T) {
		f := newFake(t, "/a")
		f.file("proc/self/mountinfo", "")
		_, err := open(f.fs(), f, both())
		if want := "make a cgroup for the program: the memory controller: no hierarchy of cgroups is mounted where this process can see its own; " +
			"mount cgroups with this controller, or run without --cgroup-memory and --cgroup-cpus"; err == nil || err.Error() != want {
			t.Errorf("%v", err)
		}
	})
}

// Swap that cannot be turned off is not there.
func TestOldKernel(t *testing.T) {
	f := newFake(t, "/a")
	f.group("/a", "cpu memory", os.Getpid())
	f.broken["write memory.swap.max"], f.broken["write memory.oom.group"] = os.ErrNotExist, os.ErrNotExist
	f.broken["write cgroup.kill"] = os.ErrNotExist // before Linux 5.14: one by one
	p, err := open(f.fs(), f, both())
	if err != nil {
		t.Fatal(err)
	}
	g, err := p.New()
	if err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(g.dirs[0], "below")
	for _, err := range []error{f.mkdir(below), f.write(filepath.Join(below, "cgroup.procs"), "77"), g.Join(76)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil || !slices.Equal(f.killed, []int{77, 76}) {
		t.Errorf("%v, killed %v", err, f.killed)
	}
}

func TestUsageOfVersion2(t *testing.T) {
	f := newFake(t, "/a")
	f.group("/a", "cpu memory", os.Getpid())
	p, err := open(f.fs(), f, both())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	g, err := p.New()
	if err != nil {
		t.Fatal(err)
	}
	dir := g.dirs[0]
	f.put(dir+"/cpu.stat", "usage_usec 9\nnr_periods 10\nnr_throttled 4\nthrottled_usec 2500\n")
	f.put(dir+"/memory.pressure", "some avg10=0.00 total=3000\nfull avg10=0.00 total=1000\n")
	before, err := g.Usage()
	if err != nil {
		t.Fatal(err)
	}
	f.put(dir+"/cpu.stat", "usage_usec 9\nnr_periods 110\nnr_throttled 44\nthrottled_usec 7500\n")
	f.put(dir+"/memory.pressure", "some avg10=0.00 total=5000\nfull avg10=0.00 total=1500\n")
	f.put(dir+"/memory.stat", "anon 5\nworkingset_refault_anon 7\nworkingset_refault_file 8\n")
	f.put(dir+"/memory.peak", "536870912\n")
	f.put(dir+"/memory.events", "low 0\nmax 12\noom 1\noom_kill 2\n")
	u, err := g.Usage()
	if err != nil {
		t.Fatal(err)
	}
	// What is read often is the same, and no more.
	w, err := g.Waits()
	if err != nil || *w.ThrottledFor != *u.ThrottledFor || *w.Stalled != *u.Stalled || w.Peak != nil || w.RefaultAnon != nil {
		t.Errorf("%+v, %v", w, err)
	}
	u = u.Since(before)
	if *u.Periods != 100 || *u.Throttled != 40 || *u.ThrottledFor != 5*time.Millisecond || *u.Stalled != 2*time.Millisecond ||
		*u.FullStalled != 500*time.Microsecond || *u.RefaultAnon != 7 || *u.RefaultFile != 8 || *u.Peak != 512<<20 || *u.OOMKills != 2 || !u.AtLimit {
		t.Errorf("%+v", u)
	}
	// What an older kernel does not say is not known, and is not 0.
	for _, file := range []string{"memory.peak", "memory.pressure", "cpu.stat"} {
		if err := os.Remove(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	f.put(dir+"/memory.stat", "anon 5\nworkingset_refault 9\n")
	if u, err = g.Usage(); err != nil || u.Peak != nil || u.Stalled != nil || u.FullStalled != nil || u.Periods != nil ||
		u.Throttled != nil || u.ThrottledFor != nil || *u.RefaultFile != 9 || u.RefaultAnon != nil {
		t.Errorf("%+v, %v", u, err)
	}
	if w, err := g.Waits(); err != nil || w.Stalled != nil || w.ThrottledFor != nil {
		t.Errorf("%+v, %v", w, err)
	}
	f.put(dir+"/cpu.stat", "nr_periods many\n")
	if _, err := g.Usage(); err == nil {
		t.Error("a number that is none was read")
	}
	if _, err := g.Waits(); err == nil {
		t.Error("a number that is none was read often")
	}
}

// Memory is of version 1 and the CPU of version 2, as in a hybrid layout.
func TestHybrid(t *testing.T) {
	f := newFake(t, "/a")
	dir := f.group("/a", "cpu", os.Getpid())
	f.file("proc/self/cgroup", "4:memory:/m\n0::/a\n")
	f.file("proc/self/mountinfo", "31 23 0:28 / /"+mountPoint+" rw - cgroup2 cgroup2 rw\n32 23 0:29 / /sys/fs/memory rw - cgroup cgroup rw,memory\n")
	f.v1 = []string{"sys/fs/memory"}
	f.file("sys/fs/memory/m/tasks", "")
	was := f.tree()
	p, err := open(f.fs(), f, both())
	if err != nil {
		t.Fatal(err)
	}
	g, err := p.New()
	if err != nil {
		t.Fatal(err)
	}
	name := p.owner.name(p.prefix() + "2")
	if want := []string{f.path("sys/fs/memory/m/" + name), filepath.Join(dir, name)}; !slices.Equal(g.dirs, want) {
		t.Errorf("made in %q, want %q", g.dirs, want)
	}
	// Without an account of swap, swapping is turned off.
	if content(t, g.dirs[0], "memory.limit_in_bytes") != "536870912" || content(t, g.dirs[0], "memory.swappiness") != "0" {
		t.Error("version 1 has no limit")
	}
	leave, err := g.Enter(321)
	if err != nil || content(t, g.dirs[0], "tasks") != "321" {
		t.Errorf("enter: %v", err)
	}
	leave()
	if content(t, f.path("sys/fs/memory/m/tasks")) != "321" {
		t.Error("the thread is not back")
	}
	f.put(f.path("sys/fs/memory/m/tasks"), "")
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	f.unchanged(was)
}

// Version 1 refuses more CPUs than a cgroup above allows.
func TestQuotaAbove(t *testing.T) {
	f := newFake(t, "/a")
	f.file("proc/self/cgroup", "4:cpu,cpuacct:/c\n")
	f.file("proc/self/mountinfo", "32 23 0:29 / /sys/fs/cpu rw - cgroup cgroup rw,cpu,cpuacct\n")
	f.v1 = []string{"sys/fs/cpu"}
	f.file("sys/fs/cpu/c/tasks", "")
	f.broken["write cpu.cfs_quota_us"] = syscall.EINVAL
	was := f.tree()
	_, err := open(f.fs(), f, Limits{CPUs: new(8.0)})
	if err == nil || !strings.Contains(err.Error(), "a cgroup above allows fewer CPUs than 8; run folio as root, or give its user the directories of its cgroups (") {
		t.Errorf("%v", err)
	}
	f.unchanged(was)
}

// What a folio left that was killed is removed, and nothing else.
func TestSweep(t *testing.T) {
	f := newFake(t, "/a/b")
	own := f.group("/a/b", "cpu memory", os.Getpid())
	me, err := self(f.fs())
	if err != nil {
		t.Fatal(err)
	}
	dead := me
	dead.started--
	far := dead
	far.namespace = "1"
	gone, zombie := dead, me
	gone.pid, zombie.pid = 999999, 999998
	f.file("proc/999998/stat", fmt.Sprintf("999998 (x) Z%s 1 0 %d%s\n", strings.Repeat(" 0", 16), me.started, strings.Repeat(" 0", 30)))
	for i, c := range []struct {
		dir  string
		name string
		in   string
		left bool
	}{
		{own, me.name("1"), "", true},                      // it lives
		{own, dead.name("2"), "51\n52", false},             // the process id is another's by now
		{filepath.Dir(own), gone.name("3"), "53", false},   // above
		{own, zombie.name("4"), "", false},                 //
		{own, far.name("5"), "54", true},                   // in another PID namespace: not known
		{own, gone.name("self"), "", false},                //
		{filepath.Dir(own), dead.name("self"), "55", true}, // nobody there was a trial's
		{own, "folio-lab-999999", "", true},                // another's
		{own, strings.Replace(dead.name("6"), "-", "--", 1), "", true},
	} {
		dir := filepath.Join(c.dir, c.name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(i, err)
		}
		f.put(dir+"/cgroup.procs", c.in)
		f.put(dir+"/cgroup.kill", "")
		defer func() {
			if _, err := os.Stat(dir); (err == nil) != c.left {
				t.Errorf("%s is left: %v, want %v", c.name, err == nil, c.left)
			}
		}()
	}
	sweep(f.fs(), f)
	if slices.Sort(f.killed); !slices.Equal(f.killed, []int{51, 52, 53}) {
		t.Errorf("killed %v", f.killed)
	}
}

// CloseAll is for the end out of order.
func TestCloseAll(t *testing.T) {
	f := newFake(t, "/a")
	f.group("/a", "cpu memory", os.Getpid())
	was := f.tree()
	p, err := open(f.fs(), f, both())
	if err != nil {
		t.Fatal(err)
	}
	g, err := p.New()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Join(88); err != nil {
		t.Fatal(err)
	}
	CloseAll()
	f.unchanged(was)
	if !slices.Equal(f.killed, []int{88}) {
		t.Errorf("killed %v", f.killed)
	}
}
