package charge

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/internal/system/cgroup"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/cgrouptest"
	"github.com/foliomem/folio/internal/test/testenv"
)

// A container is a cgroup of the running system.
type container struct {
	t     *testing.T
	group *cgroup.Group
	Group // once a process has joined
}

func newContainer(t *testing.T) *container {
	t.Helper()
	if testenv.Race {
		t.Skip("memory of the race detector is the program's")
	}
	g := cgrouptest.WithMemory(t, 1<<30)
	return &container{t: t, group: g}
}

// join puts a process into the cgroup.
func (c *container) join(pid int) {
	c.t.Helper()
	if err := c.group.Join(pid); err != nil {
		c.t.Fatal(err)
	}
	g, err := OfProcess(procmem.FS{}, pid)
	if err != nil {
		c.t.Fatal(err)
	}
	c.Group = g
}

// A member is a process in a role; end ends it.
type member struct {
	pid int
	in  io.Writer
	out *bufio.Reader
	end func()
}

// begin starts a program in the cgroup: all that it allocates is charged there.
func (c *container) begin(cmd *exec.Cmd) (in io.WriteCloser, out *bufio.Reader) {
	c.t.Helper()
	dir, err := c.group.Dir()
	if err != nil {
		c.t.Fatal(err)
	}
	if dir != nil {
		defer dir.Close()
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	leave, err := c.group.Enter(unix.Gettid())
	if err != nil {
		c.t.Fatal(err)
	}
	defer leave()
	in, out = testenv.Start(c.t, cmd)
	return in, out
}

// start starts a role in the cgroup; it does nothing yet.
func (c *container) start(name string, env ...string) *member {
	c.t.Helper()
	cmd := testenv.Role(c.t, name, append([]string{"GODEBUG=", "GOGC=off"}, env...)...)
	cmd.Stderr = os.Stderr
	in, out := c.begin(cmd)
	ended := false
	m := &member{pid: cmd.Process.Pid, in: in, out: out, end: func() {
		if !ended {
			ended = true
			in.Close()
			_, _ = io.Copy(io.Discard, out)
			_ = cmd.Wait()
		}
	}}
	c.t.Cleanup(m.end)
	if line, err := out.ReadString('\n'); err != nil || line != "started\n" {
		c.t.Fatalf("%s: %q, %v", name, line, err)
	}
	return m
}

// do has the role do what it does.
func (c *container) do(m *member) {
	c.t.Helper()
	if _, err := m.in.Write([]byte("\n")); err != nil {
		c.t.Fatal(err)
	}
	if line, err := m.out.ReadString('\n'); err != nil || line != "done\n" {
		c.t.Fatalf("%q, %v", line, err)
	}
}

// run starts a role in the cgroup.
func (c *container) run(name string, env ...string) *member {
	c.t.Helper()
	m := c.start(name, env...)
	c.join(m.pid)
	c.do(m)
	return m
}

// read reads the cgroup once the kernel has added up what CPUs counted, which it does every two
// seconds: parts and charge differ by less than a fiftieth then.
func (c *container) read() (out *Charge) {
	c.t.Helper()
	testenv.Eventually(c.t, "the parts add up to the charge", func() bool {
		var err error
		if out, err = New(inspect.New(), c.Group).Read(); err != nil {
			c.t.Fatal(err)
		}
		if got := out.Sum() + out.Unexplained - out.Excess; got != out.Usage {
			c.t.Fatalf("the sum of all parts is %d, the charge %d: %+v", got, out.Usage, out)
		}
		return max(out.Unexplained-out.Reserve, out.Excess) <= out.Usage/50
	})
	for _, p := range out.Parts {
		c.t.Logf("%-28s %9d %s %v", p.Kind, p.Bytes, p.Back, p.Of)
	}
	c.t.Logf("%-28s %9d (reserve %d, excess %d) of %d; apart %+v", "unexplained", out.Unexplained, out.Reserve, out.Excess, out.Usage, out.Apart)
	return out
}

// is checks that a part has so many bytes, and at most some few more.
func (c *container) is(out *Charge, k Kind, bytes uint64, back Back) Part {
	c.t.Helper()
	p := out.Part(k)
	if p.Bytes < bytes || p.Bytes > bytes+3*mib || p.Back != back {
		c.t.Errorf("%s: %d bytes, %s; want %d, %s", k, p.Bytes, p.Back, bytes, back)
	}
	return p
}

func (c *container) apart(out *Charge, k Kind, bytes uint64) {
	c.t.Helper()
	for _, a := range out.Apart {
		if a.Kind == k && a.Bytes >= bytes && a.Bytes <= bytes+3*mib {
			return
		}
	}
	c.t.Errorf("%s: want %d in %+v", k, bytes, out.Apart)
}

// on returns what comes back where swap is on: No elsewhere.
func on(t *testing.T) Back {
	t.Helper()
	if m, err := (procmem.FS{}).Meminfo(); err == nil && m.SwapTotal != nil && *m.SwapTotal > 0 {
		return Swap
	}
	return No
}

// The heap of each process is a part, and the sum of all.
func TestHeaps(t *testing.T) {
	c := newContainer(t)
	c.run("heap")
	c.run("heap")
	out := c.read()
	c.is(out, Kind(waterfall.Since.String()), 96*mib, on(t)) // there was no GC cycle
	if len(out.Processes) != 2 || out.Limit == nil || *out.Limit != 1<<30 {
		t.Fatalf("%+v", out)
	}
	for _, p := range out.Processes {
		if p.Waterfall == nil || p.Waterfall.Part(waterfall.Since).Bytes < 48*mib || p.Why != "" {
			t.Errorf("process %d: %+v", p.PID, p)
		}
	}
	if !c.Unified && out.Part(KernelStacks).Bytes == 0 {
		t.Error("no stacks of threads")
	}
}

// Huge pages that were released in part are charged as a whole until the kernel splits them.
func TestReleasedInPart(t *testing.T) {
	thp, err := (procmem.FS{}).THP()
	if err != nil || thp.Enabled.Selected != "madvise" && thp.Enabled.Selected != "always" {
		testenv.Missing(t, "no transparent huge pages: %v", err)
	}
	var c *container
	var m *member
	var out *Charge
	// Elsewhere on the machine the kernel may run short of memory, and split some of them.
	for range 5 {
		c = newContainer(t)
		m = c.run("huge")
		if out = c.read(); out.Part(Unsplit).Bytes >= 24*mib {
			break
		}
	}
	if len(out.Processes) != 1 || out.Processes[0].Anonymous == nil || *out.Processes[0].Anonymous < 24*mib {
		t.Fatalf("process %d: %+v", m.pid, out.Processes)
	}
	if out.Part(Unsplit).Bytes == 0 {
		testenv.Missing(t, "the kernel gave no huge pages")
	}
	c.is(out, Unsplit, 24*mib, Yes)
	c.is(out, Kind(waterfall.Other.String()), 24*mib, on(t))
}

// The ring of a packet socket is in RSS, and charged to nobody.
func TestRing(t *testing.T) {
	testenv.Root(t, "to open a packet socket")
	c := newContainer(t)
	c.run("ring")
	out := c.read()
	c.apart(out, ApartRings, 16*mib)
	if out.Usage >= 16*mib || out.Processes[0].RSS < 16*mib {
		t.Errorf("charged %d, RSS %d", out.Usage, out.Processes[0].RSS)
	}
}

// Memory of a process that joined later is charged where it was allocated.
func TestChargedElsewhere(t *testing.T) {
	before, c := newContainer(t), newContainer(t)
	m := before.run("heap")
	c.join(m.pid)
	out := c.read()
	c.apart(out, ApartAnonymous, 48*mib)
	if n := out.Part(OfProcesses).Bytes; n > 3*mib {
		t.Errorf("%d bytes of its memory are charged", n)
	}
	left := before.read()
	before.is(left, Elsewhere, 48*mib, on(t))
}

// Memory that forked processes share is charged once, and in the RSS of each.
func TestForked(t *testing.T) {
	c := newContainer(t)
	c.run("fork")
	out := c.read()
	// So is all else that the program had.
	if i := slices.IndexFunc(out.Apart, func(a Apart) bool { return a.Kind == ApartAnonymous }); i < 0 || out.Apart[i].Bytes < forks*32*mib || out.Apart[i].Bytes > forks*40*mib {
		t.Errorf("%+v", out.Apart)
	}
	p := out.Part(OfProcesses)
	if p.Bytes < 32*mib || p.Bytes > 44*mib || p.Back != on(t) {
		t.Errorf("%+v", p)
	}
	if i := slices.IndexFunc(p.Of, func(s waterfall.Share) bool { return s.Name == waterfall.Other.Title() }); i < 0 || p.Of[i].Bytes < 32*mib {
		t.Errorf("%+v", p.Of)
	}
	if len(out.Processes) != 1+forks {
		t.Errorf("%d processes", len(out.Processes))
	}
}

// Written files are page cache that comes back.
func TestPageCache(t *testing.T) {
	c := newContainer(t)
	c.run("file", fileEnv+"="+filepath.Join(t.TempDir(), "file"))
	out := c.read()
	c.is(out, CacheInactive, 31*mib, Yes) // the last pages may not be on a list yet
	if out.Dirty == nil || out.Writeback == nil || out.Mapped == nil {
		t.Errorf("%+v", out)
	}
}

// shm returns the name of a file of tmpfs that is removed with the test.
func shm(t *testing.T) string {
	t.Helper()
	var fs unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &fs); err != nil || fs.Type != unix.TMPFS_MAGIC {
		testenv.Missing(t, "/dev/shm is no tmpfs: %v", err)
	}
	dir, err := os.MkdirTemp("/dev/shm", "folio-test-")
	if err != nil {
		testenv.Missing(t, "%v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "file")
}

// Files of tmpfs stay charged when the process that wrote them ends: by which mount.
func TestTmpfsThatNobodyMaps(t *testing.T) {
	c, file := newContainer(t), shm(t)
	m := c.run("tmpfs", fileEnv+"="+file)
	m.end()
	out := c.read()
	p := c.is(out, SharedUnmapped, 24*mib, on(t))
	if len(out.Processes) > 0 || out.Part(SharedMapped).Bytes > 0 || len(p.Of) == 0 || p.Of[0].Name != "/dev/shm" || p.Of[0].Bytes != p.Bytes {
		t.Errorf("%+v", out)
	}
	// Two processes that map all of it have each page once.
	reads := []*member{c.run("maps", fileEnv+"="+file), c.run("maps", fileEnv+"="+file)}
	out = c.read()
	c.is(out, SharedMapped, 24*mib, on(t))
	c.apart(out, ApartShared, 24*mib)
	if n := out.Part(SharedUnmapped).Bytes; n > 64<<10 || len(reads) != len(out.Processes) {
		t.Errorf("%d are said to be mapped by nobody, of %d processes", n, len(out.Processes))
	}
}

// A memfd has pages that are open and not mapped.
func TestMemfd(t *testing.T) {
	c := newContainer(t)
	m := c.run("memfd")
	out := c.read()
	c.is(out, SharedMapped, 4*mib, on(t))
	p := c.is(out, SharedUnmapped, 12*mib, on(t))
	want := fmt.Sprintf("/memfd:charge-test, open in process %d", m.pid)
	if len(p.Of) == 0 || p.Of[0].Name != want || p.Of[0].Bytes != 12*mib {
		t.Errorf("%+v, want %s", p.Of, want)
	}
}

// Memory of malloc is malloc's: brk, and the arenas of threads.
func TestMallocOfLibrary(t *testing.T) {
	const source = `package main

/*
#cgo LDFLAGS: -lpthread
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *fill(void *unused) {
	for (int i = 0; i < 1024; i++)
		memset(malloc(16 << 10), 1, 16 << 10);
	return NULL;
}

// Its memory stays when the thread has ended.
static void library(void) {
	pthread_t t;
	fill(NULL);
	pthread_create(&t, NULL, fill, NULL);
	pthread_join(t, NULL);
}
*/
import "C"

import "fmt"

func main() {
	fmt.Println("started")
	fmt.Scanln()
	C.library()
	fmt.Println("done")
	fmt.Scanln()
}
`
	c := newContainer(t)
	path, err := testenv.Build{Source: testenv.Module(source), Env: []string{"CGO_ENABLED=1"}}.Try(t)
	if err != nil {
		testenv.Missing(t, "no C compiler: %v", err)
	}
	cmd := testenv.Role(t, "")
	cmd.Path, cmd.Args = path, []string{path}
	in, out := c.begin(cmd)
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	if line, err := out.ReadString('\n'); err != nil || line != "started\n" {
		t.Fatalf("%q, %v", line, err)
	}
	c.join(cmd.Process.Pid)
	c.do(&member{in: in, out: out})
	got := c.read()
	c.is(got, Kind(waterfall.Malloc.String()), 32*mib, on(t))
	if a := got.Processes[0].Waterfall.Arenas; a.Count == 0 || a.Bytes < 16*mib {
		t.Errorf("arenas: %+v", a)
	}
}

// A group is found by its directory, by where it is below the mount, by a process, and by its name.
func TestFind(t *testing.T) {
	c := newContainer(t)
	m := c.run("memfd")
	f := procmem.FS{}
	top, err := root(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{c.Dir, strings.TrimPrefix(c.Dir, top), fmt.Sprint(m.pid), filepath.Base(c.Dir)} {
		if g, err := Find(f, name); err != nil || g != c.Group {
			t.Errorf("%s: %+v, %v", name, g, err)
		}
		if dir, err := Directory(f, name); err != nil || dir != c.Dir {
			t.Errorf("%s: directory %s, %v", name, dir, err)
		}
	}
	if _, err := Find(f, "no-such-group"); !errors.Is(err, ErrNotFound) {
		t.Errorf("no such group: %v", err)
	}
	if _, err := Find(f, "2000000000"); !errors.Is(err, procmem.ErrNoProcess) {
		t.Errorf("no such process: %v", err)
	}
}
