package shortage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

const mib = 1 << 20

// A world is a fake system, with this process in the cgroup /a/b.
type world struct {
	t     *testing.T
	root  string
	fs    procmem.FS
	now   time.Time
	steps []func(w *world) (psi bool) // one for each time that a watch waits
	waits []time.Duration
}

func newWorld(t *testing.T, unified bool) *world {
	w := &world{t: t, root: t.TempDir(), now: time.Unix(1e9, 0)}
	w.fs = procmem.New(w.root)
	groups, mounts := "4:memory:/a/b\n", "1 0 0:1 / /cg rw - cgroup cgroup rw,memory\n"
	if unified {
		groups, mounts = "0::/a/b\n", "1 0 0:1 / /cg rw - cgroup2 cgroup2 rw\n"
	}
	pid := os.Getpid()
	w.put(fmt.Sprintf("proc/%d/cgroup", pid), groups)
	w.put("proc/self/cgroup", groups)
	w.put("proc/self/mountinfo", mounts)
	w.machine(16<<10, 12<<10)
	return w
}

func (w *world) put(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		w.t.Fatal(err)
	}
}

// machine has so much memory, in MiB.
func (w *world) machine(total, available int) {
	w.put("proc/meminfo", fmt.Sprintf("MemTotal: %d kB\nMemFree: 1 kB\nMemAvailable:   %d kB\n", total<<10, available<<10))
}

// unified is a cgroup of version 2, in MiB; no limit is 0.
func (w *world) unified(dir string, limit, usage, inactive, active int) {
	most := "max\n"
	if limit > 0 {
		most = fmt.Sprintln(limit * mib)
	}
	w.put(dir+"/cgroup.procs", "")
	w.put(dir+"/memory.max", most)
	w.put(dir+"/memory.current", fmt.Sprintln(usage*mib))
	w.put(dir+"/memory.stat", fmt.Sprintf("anon 1\nfile 7\ninactive_file %d\nactive_file %d\n", inactive*mib, active*mib))
	w.put(dir+"/memory.events", "oom 0\noom_kill 0\n")
}

// first is one of version 1.
func (w *world) first(dir string, limit, usage, cache int) {
	most := "9223372036854771712\n"
	if limit > 0 {
		most = fmt.Sprintln(limit * mib)
	}
	w.put(dir+"/cgroup.procs", "")
	w.put(dir+"/memory.limit_in_bytes", most)
	w.put(dir+"/memory.usage_in_bytes", fmt.Sprintln(usage*mib))
	w.put(dir+"/memory.stat", fmt.Sprintf("cache 7\ninactive_file 5\ntotal_inactive_file %d\ntotal_active_file %d\n", cache*mib, 0))
	w.put(dir+"/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")
}

// watched begins a watch whose clock and kernel are those of the test.
func (w *world) watched(watch *Watch, err error) *Watch {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := watch.Close(); err != nil {
			w.t.Error(err)
		}
	})
	watch.now = func() time.Time { return w.now }
	watch.poll = func(fds []unix.PollFd, d time.Duration) error {
		w.waits = append(w.waits, d)
		w.now = w.now.Add(d)
		if len(w.steps) == 0 {
			return errors.New("nothing more happens")
		}
		step := w.steps[0]
		w.steps = w.steps[1:]
		if step(w) {
			for i := range fds {
				if fds[i].Events == unix.POLLPRI {
					fds[i].Revents = unix.POLLPRI
				}
			}
		}
		return nil
	}
	return watch
}

// then is what happens next; nothing else wakes the watch.
func then(f func(*world)) func(*world) bool { return func(w *world) bool { f(w); return false } }

// next waits, and returns the event in words.
func (w *world) next(watch *Watch) string {
	e, err := watch.Wait(context.Background())
	if err != nil {
		return err.Error()
	}
	if e.At != w.now {
		w.t.Errorf("at %v, it is %v", e.At, w.now)
	}
	return fmt.Sprintf("%s %s %d of %d, cache %d, killed %v", e.Cause, strings.TrimPrefix(e.Group, w.root), e.Use/mib, e.Limit/mib, e.Cache/mib, e.Killed)
}

func (w *world) want(watch *Watch, want string) {
	w.t.Helper()
	if got := w.next(watch); got != want {
		w.t.Errorf("%s, want %s", got, want)
	}
}

func TestUnified(t *testing.T) {
	w := newWorld(t, true)
	w.unified("cg/a", 1000, 300, 0, 0)
	w.unified("cg/a/b", 500, 300, 20, 10)
	w.put("cg/a/b/memory.pressure", "some total=1\n")
	watch := w.watched(Process(w.fs, os.Getpid()))
	if l := fmt.Sprint(watch.Limits()); l != fmt.Sprintf("[{/cg/a/b %d %d} {/cg/a %d %d}]", 500*mib, 475*mib, 1000*mib, 950*mib) {
		t.Error(l)
	}
	w.steps = []func(*world) bool{
		then(func(w *world) { w.unified("cg/a/b", 500, 499, 200, 100) }), // full of files
		then(func(w *world) { w.unified("cg/a/b", 500, 499, 20, 10) }),
		then(func(w *world) { w.unified("cg/a/b", 500, 499, 20, 4) }),
	}
	w.want(watch, "limit /cg/a/b 475 of 500, cache 24, killed false")
	if len(w.waits) != 3 || w.waits[0] != 700*time.Millisecond || w.waits[2] > 30*time.Millisecond {
		t.Errorf("it looked after %v", w.waits)
	}
	// It is said once, until use has fallen below 450; then a parent is short.
	w.waits = nil
	w.steps = []func(*world) bool{
		then(func(w *world) { w.unified("cg/a/b", 500, 499, 0, 0) }),
		then(func(w *world) { w.unified("cg/a/b", 500, 460, 0, 0) }),
		then(func(w *world) { w.unified("cg/a/b", 500, 499, 0, 0) }),
		then(func(w *world) { w.unified("cg/a/b", 500, 449, 0, 0) }),
		then(func(w *world) { w.unified("cg/a/b", 500, 480, 0, 0) }),
	}
	w.want(watch, "limit /cg/a/b 480 of 500, cache 0, killed false")
	if len(w.steps) != 0 || w.waits[0] != time.Second {
		t.Errorf("%d steps are left; it looked after %v", len(w.steps), w.waits)
	}
	w.steps = []func(*world) bool{then(func(w *world) { w.unified("cg/a", 1000, 990, 0, 0) })}
	w.want(watch, "limit /cg/a 990 of 1000, cache 0, killed false")
	// A limit that is raised is noticed.
	w.unified("cg/a", 2000, 990, 0, 0)
	w.unified("cg/a/b", 500, 100, 0, 0)
	w.steps = []func(*world) bool{
		then(func(w *world) { w.now = w.now.Add(time.Minute) }),
		then(func(w *world) { w.unified("cg/a", 2000, 1899, 0, 0) }), then(func(w *world) { w.unified("cg/a", 2000, 1901, 0, 0) }),
	}
	w.want(watch, "limit /cg/a 1901 of 2000, cache 0, killed false")
	// And the group goes, with a kill.
	w.steps = []func(*world) bool{then(func(w *world) {
		w.put("cg/a/b/memory.events", "oom 1\noom_kill 1\n")
		watch.ended = true
	})}
	w.want(watch, "ended  0 of 0, cache 0, killed true")
}

// Tasks that wait for memory count where less than a tenth of a limit is left.
func TestStalls(t *testing.T) {
	w := newWorld(t, true)
	w.unified("cg/a/b", 500, 440, 0, 0)
	w.put("cg/a/b/memory.pressure", "some total=1\n")
	watch := w.watched(Process(w.fs, os.Getpid()))
	if data, err := os.ReadFile(filepath.Join(w.root, "cg/a/b/memory.pressure")); err != nil || !strings.HasPrefix(string(data), "some 200000 2000000\x00") {
		t.Errorf("%q, %v", data, err)
	}
	stalls := func(*world) bool { return true }
	w.steps = []func(*world) bool{
		stalls, // 440 are less than nine tenths
		func(w *world) bool { w.unified("cg/a/b", 500, 490, 30, 20); return true }, // as files fill it
		then(func(w *world) { w.unified("cg/a/b", 500, 470, 10, 5) }),
		stalls,
	}
	w.want(watch, "stall /cg/a/b 455 of 500, cache 15, killed false")
	// Not again within a minute, then two, then four, as long as memory is short.
	began := w.now
	for _, minutes := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
		w.steps = nil
		for range 30 * minutes { // the kernel says it every 2 s
			w.steps = append(w.steps, func(w *world) bool { w.now = began.Add(w.now.Sub(began).Truncate(window) + window); return true })
		}
		w.want(watch, "stall /cg/a/b 455 of 500, cache 15, killed false")
		if took := w.now.Sub(began); took < time.Duration(minutes)*time.Minute || took > time.Duration(minutes)*time.Minute+window {
			t.Errorf("said after %v, want %d minutes", took, minutes)
		}
		began = w.now
	}
	w.steps = []func(*world) bool{
		func(w *world) bool { w.unified("cg/a/b", 500, 440, 0, 0); w.now = w.now.Add(time.Minute); return true },
		func(w *world) bool { w.unified("cg/a/b", 500, 460, 0, 0); return true },
	}
	w.want(watch, "stall /cg/a/b 460 of 500, cache 0, killed false")
}

// The pressure of the machine rises with any cgroup that is at its own limit, and with
// compaction: it says nothing while there is memory.
func TestStallsOfMachine(t *testing.T) {
	w := newWorld(t, true)
	w.unified("cg/a/b", 0, 300, 0, 0)
	w.put("proc/pressure/memory", "some total=1\n")
	w.machine(24<<10, 23<<10)
	watch := w.watched(Process(w.fs, os.Getpid()))
	stalls := func(*world) bool { return true }
	w.steps = []func(*world) bool{
		stalls, stalls, // 1 of 24 GiB are in use
		func(w *world) bool { w.machine(24<<10, 2500); return true }, // nine tenths are not
		func(w *world) bool { w.machine(24<<10, 2400); return true },
	}
	w.want(watch, "stall  22176 of 24576, cache 0, killed false")
	if len(w.steps) != 0 {
		t.Errorf("%d steps are left", len(w.steps))
	}
}

// What else can be short: memory.high, at which the kernel slows tasks down, and the
// machine, whatever limit a process has.
func TestStallsElsewhere(t *testing.T) {
	stalls := func(*world) bool { return true }
	pressure := func(w *world) { w.put("cg/a/b/memory.pressure", "some total=1\n") }

	w := newWorld(t, true)
	w.unified("cg/a/b", 500, 300, 0, 0)
	pressure(w)
	watch := w.watched(Process(w.fs, os.Getpid()))
	w.steps = []func(*world) bool{stalls, func(w *world) bool { w.machine(16<<10, 1000); return true }}
	w.want(watch, "stall  15384 of 16384, cache 0, killed false")

	for _, limit := range []int{0, 500} {
		w = newWorld(t, true)
		w.unified("cg/a/b", limit, 300, 0, 0)
		w.put("cg/a/b/memory.high", fmt.Sprintln(320*mib))
		pressure(w)
		watch = w.watched(Process(w.fs, os.Getpid()))
		machine := limit == 0
		if l := watch.Limits(); len(l) != 1 || (l[0].Group == "") != machine {
			t.Errorf("%+v", l)
		}
		w.steps = []func(*world) bool{then(func(*world) {}), stalls}
		e, err := watch.Wait(context.Background())
		if err != nil || e.Cause != Stall || !e.High || e.Limit != 320*mib || e.Use != 300*mib || e.Group != "/cg/a/b" {
			t.Errorf("%+v, %v", e, err)
		}
	}
}

// What the kernel says again and again is heard some times a second.
func TestOften(t *testing.T) {
	w := newWorld(t, false)
	w.first("cg/a/b", 500, 300, 0)
	watch := w.watched(Process(w.fs, os.Getpid()))
	said := 0
	often, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	watch.wakes = append(watch.wakes, &wake{f: often, events: unix.POLLIN, often: true, then: func() { said++; watch.stalled = true }})
	end := w.now.Add(time.Second)
	watch.poll = func(fds []unix.PollFd, d time.Duration) error {
		if !w.now.Before(end) {
			return errors.New("enough")
		}
		if last := &fds[len(fds)-1]; last.Fd >= 0 {
			last.Revents = unix.POLLIN
			d = time.Microsecond
		}
		w.now = w.now.Add(d)
		return nil
	}
	if got := w.next(watch); got != "enough" {
		t.Error(got)
	}
	if most := int(time.Second/least) + 1; said < most/2 || said > most {
		t.Errorf("%d times a second", said)
	}
}

// A heap that falls at each GC cycle, and comes near the limit before the next one, is said
// once a minute, and at once if it comes nearer.
func TestSawtooth(t *testing.T) {
	w := newWorld(t, true)
	w.unified("cg/a/b", 500, 300, 0, 0)
	watch := w.watched(Process(w.fs, os.Getpid()))
	high := 476
	cycle := func() []func(*world) bool {
		return []func(*world) bool{
			then(func(w *world) { w.unified("cg/a/b", 500, 300, 0, 0) }),
			then(func(w *world) {
				w.unified("cg/a/b", 500, high, 0, 0)
				w.now = w.now.Truncate(time.Second).Add(time.Second)
			}),
		}
	}
	for range 100 {
		w.steps = append(w.steps, cycle()...)
	}
	w.want(watch, "limit /cg/a/b 476 of 500, cache 0, killed false")
	began := w.now
	w.want(watch, "limit /cg/a/b 476 of 500, cache 0, killed false")
	if took := w.now.Sub(began); took < again || took > again+2*time.Second {
		t.Errorf("said again after %v", took)
	}
	began, high = w.now, 482
	w.want(watch, "limit /cg/a/b 482 of 500, cache 0, killed false")
	if took := w.now.Sub(began); took > 3*time.Second {
		t.Errorf("said after %v, want at once", took)
	}
}

func TestVersion1(t *testing.T) {
	w := newWorld(t, false)
	w.first("cg/a/b", 500, 300, 20)
	w.first("cg/a", 0, 300, 20)
	watch := w.watched(Process(w.fs, os.Getpid()))
	if len(watch.Limits()) != 1 {
		t.Errorf("%+v", watch.Limits())
	}
	w.steps = []func(*world) bool{then(func(w *world) { w.first("cg/a/b", 500, 499, 30) }), then(func(w *world) { w.first("cg/a/b", 500, 499, 3) })}
	w.want(watch, "limit /cg/a/b 496 of 500, cache 3, killed false")
	watch.ended = true // as the pidfd says
	w.put("cg/a/b/memory.oom_control", "oom_kill 4\n")
	w.want(watch, "ended  0 of 0, cache 0, killed true")
}

func TestMachine(t *testing.T) {
	for name, make := range map[string]func(*world) (*Watch, error){
		"no cgroup": func(w *world) (*Watch, error) { return Process(w.fs, os.Getpid()) },
		"no limit": func(w *world) (*Watch, error) {
			w.unified("cg/a/b", 0, 300, 0, 0)
			return Process(w.fs, os.Getpid())
		},
		"a group without": func(w *world) (*Watch, error) {
			w.unified("cg/a/b", 0, 300, 0, 0)
			return Group(w.fs, filepath.Join(w.root, "cg/a/b"))
		},
	} {
		w := newWorld(t, true)
		watch := w.watched(make(w))
		if l := watch.Limits(); len(l) != 1 || l[0].Group != "" || l[0].Bytes != 16<<30 {
			t.Errorf("%s: %+v", name, l)
		}
		w.steps = []func(*world) bool{then(func(w *world) { w.machine(16<<10, 900) }), then(func(w *world) { w.machine(16<<10, 800) })}
		w.want(watch, "limit  15584 of 16384, cache 0, killed false")
	}
}

func TestGroupErrors(t *testing.T) {
	w := newWorld(t, true)
	if _, err := Group(w.fs, w.root); err == nil || !strings.Contains(err.Error(), "not the directory of a cgroup: no cgroup.procs") {
		t.Error(err)
	}
	w.put("cg/c/cgroup.procs", "")
	if _, err := Group(w.fs, filepath.Join(w.root, "cg/c")); err == nil || !strings.Contains(err.Error(), "does not count memory") {
		t.Error(err)
	}
	if _, err := Process(w.fs, 1<<30); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	w.unified("cg/a/b", 500, 300, 0, 0)
	w.put("cg/a/b/memory.current", "much\n")
	watch := w.watched(Process(w.fs, os.Getpid()))
	if got := w.next(watch); !strings.Contains(got, "memory.current: ") {
		t.Error(got)
	}
	w.unified("cg/a/b", 500, 490, 0, 0)
	w.put("cg/a/b/memory.stat", "active_file -1\n")
	if got := w.next(watch); !strings.Contains(got, "memory.stat: active_file: ") {
		t.Error(got)
	}
	w.put("proc/meminfo", "MemTotal: 5 kB\n")
	m, err := openMachine(filepath.Join(w.root, "proc/meminfo"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	if _, err := m.usage(); err == nil || !strings.Contains(err.Error(), "needs Linux 3.14") {
		t.Error(err)
	}
}

// Whatever is waited for, a wait ends with its context, and another one can follow.
func TestCanceled(t *testing.T) {
	watch, err := Process(procmem.New(""), os.Getpid())
	if err != nil {
		testenv.Missing(t, "%v", err)
	}
	defer watch.Close()
	for range 3 {
		ctx, cancel := context.WithCancel(context.Background())
		entered := make(chan bool, 1)
		watch.poll = func(fds []unix.PollFd, d time.Duration) error {
			select {
			case entered <- true:
			default:
			}
			return pollFor(fds, d)
		}
		go func() { <-entered; cancel() }()
		if _, err := watch.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
}
