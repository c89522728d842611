package collapser

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/internal/system/feature"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// roles are programs of the test binary.
var roles = map[string]func() error{
	"dense": denseRole, "sparse": sparseRole, "off": offRole, "churn": churnRole, "collapse": collapseRole,
}

func TestMain(m *testing.M) {
	testenv.PlayRole(roles)
	os.Exit(m.Run())
}

const heapBytes = 64 << 20

type node struct {
	next *node
	data [7]uint64
}

// onBase runs f with huge pages off for this process, whatever the system's policy is.
func onBase(f func()) error {
	if err := unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0); err != nil {
		return err
	}
	f()
	return unix.Prctl(unix.PR_SET_THP_DISABLE, 0, 0, 0, 0)
}

func list(bytes int) (head *node) {
	for i := range bytes / 64 {
		head = &node{next: head, data: [7]uint64{uint64(i)}}
	}
	return head
}

// count checks a list and returns its length.
func count(head *node) (n int) {
	for ; head != nil; head = head.next {
		n++
	}
	return n
}

// await says that the role is ready, and waits for a line.
func await() { fmt.Println("ready"); _, _ = bufio.NewReader(os.Stdin).ReadString('\n') }

// denseRole holds a heap that is full.
func denseRole() error {
	var head *node
	if err := onBase(func() { head = list(heapBytes) }); err != nil {
		return err
	}
	await()
	if n := count(head); n != heapBytes/64 {
		return fmt.Errorf("%d nodes are left", n)
	}
	return nil
}

// sparseRole holds one page in 16 of what its heap was.
func sparseRole() error {
	kept := make([]*[4096]byte, heapBytes/4096)
	err := onBase(func() {
		for i := range kept {
			kept[i] = new([4096]byte)
			kept[i][0] = 1
		}
	})
	if err != nil {
		return err
	}
	for i := range kept {
		if i%16 != 0 {
			kept[i] = nil
		}
	}
	debug.FreeOSMemory()
	await()
	runtime.KeepAlive(kept)
	return nil
}

func offRole() error {
	head := list(heapBytes / 8)
	if err := unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0); err != nil {
		return err
	}
	await()
	runtime.KeepAlive(head)
	return nil
}

// churnRole maps, fills, checks and unmaps memory, and grows and frees its heap, until
// its input ends.
func churnRole() error {
	fmt.Println("ready")
	end := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); close(end) }()
	for round := byte(1); ; round++ {
		select {
		case <-end:
			return nil
		default:
		}
		n := (4 + int(round)%3) * page.WindowSize()
		b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			return err
		}
		for i := 0; i < n; i += 512 {
			b[i] = round
		}
		if err := unix.Madvise(b[:n/2/page.Size()*page.Size()], unix.MADV_DONTNEED); err != nil {
			return err
		}
		for i := 0; i < n; i += 512 {
			if got := b[i]; got != round && (i >= n/2 || got != 0) {
				return fmt.Errorf("byte %d is %d in round %d", i, got, round)
			}
		}
		if err := unix.Munmap(b); err != nil {
			return err
		}
		if head := list(heapBytes / 4); count(head) != heapBytes/4/64 {
			return errors.New("nodes are lost")
		}
		if round%16 == 0 {
			debug.FreeOSMemory()
		}
	}
}

// collapseRole tries to collapse a process as the user it is.
func collapseRole() error {
	pid, err := strconv.Atoi(os.Getenv("COLLAPSER_TEST_PID"))
	if err != nil {
		return err
	}
	c, err := Open(inspect.New(), pid, Options{}, os.Getenv("COLLAPSER_TEST_DRY") != "")
	if err != nil {
		fmt.Println(err)
		return nil
	}
	defer c.Close()
	p, err := c.Plan()
	fmt.Println("plan of", len(p.Todo), err)
	return nil
}

// nobody is a user that owns nothing.
const nobody = 65534

func role(name string, uid int, env ...string) *exec.Cmd {
	return testenv.RoleAs(uid, name, append([]string{"GODEBUG=", "GOGC=100"}, env...)...)
}

// target starts a role that must end well.
func target(t *testing.T, name string, uid int) (pid int, end func()) {
	t.Helper()
	cmd := role(name, uid)
	in, out := testenv.Start(t, cmd)
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the target: %v", err)
		}
	}
	t.Cleanup(end)
	if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd.Process.Pid, end
}

func needCollapse(t *testing.T) {
	t.Helper()
	if page.HugeSize() == 0 {
		testenv.Missing(t, "no transparent huge pages")
	}
	for _, f := range []feature.Feature{feature.Collapse, feature.PagemapScan} {
		if err := feature.Have(f); err != nil {
			testenv.Missing(t, "%v", err)
		}
	}
}

func opened(t *testing.T, pid int, o Options) *Collapser {
	t.Helper()
	c, err := Open(inspect.New(), pid, o, false)
	if err != nil {
		if errors.Is(err, syscall.EPERM) {
			testenv.Missing(t, "%v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestCollapse(t *testing.T) {
	needCollapse(t)
	pid, end := target(t, "dense", 0)
	c := opened(t, pid, Options{})
	ctx := context.Background()
	before, err := c.State(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.Pass(ctx)
	if err != nil || out.Collapsed < before.Windows.Dense*3/4 || out.Collapsed == 0 {
		if out.Refused["ENOMEM"] > 0 {
			testenv.Missing(t, "the machine has no huge pages left: %v", out.Reason)
		}
		t.Fatalf("%+v, %v, before %+v", out, err, before)
	}
	after, err := c.State(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	if after.Windows.Huge < out.Collapsed || after.Windows.Coverage() < 0.8 {
		t.Errorf("after %+v, collapsed %+v", after, out)
	}
	if huge, err := inspect.New().FS.SmapsRollup(pid); err != nil || *huge.AnonHugePages < out.Bytes {
		t.Errorf("the kernel says %d, collapsed were %d: %v", *huge.AnonHugePages, out.Bytes, err)
	}
	if after.Resident > before.Resident+out.Filled+before.Resident/20 {
		t.Errorf("RSS %d became %d", before.Resident, after.Resident)
	}
	if again, err := c.Pass(ctx); err != nil || again.Collapsed > out.Collapsed/4 || again.Already > before.Windows.Huge+out.Collapsed/4 {
		t.Errorf("again: %+v, %v", again, err)
	}
	end() // it checks its memory
	if _, err := c.Pass(ctx); !errors.Is(err, ErrEnded) {
		t.Errorf("after its end: %v", err)
	}
	if _, err := c.State(ctx, 0); !errors.Is(err, ErrEnded) {
		t.Errorf("state after its end: %v", err)
	}
}

// TestSparseHeapStaysSparse: the naive way makes it 15 times as large.
func TestSparseHeapStaysSparse(t *testing.T) {
	needCollapse(t)
	pid, _ := target(t, "sparse", 0)
	c := opened(t, pid, Options{MinDensity: inspect.LeastDensity, All: true})
	before, err := c.State(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if before.Windows.Sparse < heapBytes/page.HugeSize()/2 {
		t.Fatalf("the heap is not sparse: %+v", before)
	}
	out, err := c.Pass(context.Background())
	if err != nil || out.Sparse < before.Windows.Sparse*3/4 {
		t.Errorf("%+v, %v", out, err)
	}
	after, err := c.State(context.Background(), 0)
	if err != nil || after.Resident > before.Resident+before.Windows.Fill+before.Resident/20 {
		t.Errorf("RSS %d became %d, %v", before.Resident, after.Resident, err)
	}
}

// TestChangingMemory collapses what is mapped, released and unmapped at the same time:
// the target checks what it reads.
func TestChangingMemory(t *testing.T) {
	needCollapse(t)
	pid, _ := target(t, "churn", 0)
	c := opened(t, pid, Options{All: true, MinDensity: 0.5})
	collapsed, least := 0, 2*time.Second
	if testing.Short() {
		least = 200 * time.Millisecond
	}
	for begin := time.Now(); time.Since(begin) < least || collapsed == 0 && time.Since(begin) < testenv.Patience; {
		out, err := c.Pass(context.Background())
		if err != nil {
			t.Fatalf("%+v, %v", out, err)
		}
		collapsed += out.Collapsed
	}
	if collapsed == 0 {
		t.Error("nothing was collapsed")
	}
}

func TestTargetEnds(t *testing.T) {
	needCollapse(t)
	cmd := role("churn", 0)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	c := opened(t, cmd.Process.Pid, Options{All: true})
	go func() { time.Sleep(100 * time.Millisecond); _ = cmd.Process.Kill() }()
	if err := c.Watch(context.Background(), time.Millisecond, nil); !errors.Is(err, ErrEnded) {
		t.Errorf("while it is a zombie: %v", err)
	}
	_ = cmd.Wait()
	if _, err := c.Pass(context.Background()); !errors.Is(err, ErrEnded) {
		t.Errorf("after it was reaped: %v", err)
	}
	if _, err := Open(inspect.New(), cmd.Process.Pid, Options{}, false); !errors.Is(err, procmem.ErrNoProcess) {
		t.Errorf("open what has ended: %v", err)
	}
}

func TestOptedOutProcess(t *testing.T) {
	needCollapse(t)
	pid, _ := target(t, "off", 0)
	if _, err := Open(inspect.New(), pid, Options{}, true); !errors.Is(err, ErrOptedOut) {
		t.Error(err)
	}
}

func TestNoGoProgram(t *testing.T) {
	needCollapse(t)
	cmd := exec.Command("/bin/sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip(err) // no such program
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if _, err := Open(inspect.New(), cmd.Process.Pid, Options{}, true); !errors.Is(err, inspect.ErrNotGo) ||
		!strings.Contains(err.Error(), "--all-anonymous") {
		t.Error(err)
	}
	if c, err := Open(inspect.New(), cmd.Process.Pid, Options{All: true}, true); err != nil {
		t.Error(err)
	} else if _, err := c.Plan(); err != nil {
		t.Error(err)
	}
}

// TestUnprivileged: what is missing is named, with the way to get it.
func TestUnprivileged(t *testing.T) {
	needCollapse(t)
	testenv.Root(t, "to become somebody else")
	mine, _ := target(t, "dense", nobody)
	others, _ := target(t, "dense", 0)
	plain := exec.Command("/bin/sleep", "60")
	plain.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, NoSetGroups: true}}
	if err := plain.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = plain.Process.Kill(); _ = plain.Wait() }()
	for _, c := range []struct {
		pid   int
		dry   string
		want  []string
		never string // what is not the cause
	}{
		{mine, "", []string{"CAP_SYS_NICE", "setcap", "--cap-add"}, "PTRACE"},
		{mine, "1", []string{"plan of "}, "CAP_"},
		{others, "", []string{"it belongs to user 0, and folio runs as user 65534", "CAP_SYS_PTRACE and CAP_SYS_NICE", "setcap", "--cap-add"}, "protected"},
		{others, "1", []string{"needs user 0 or CAP_SYS_PTRACE ("}, "protected"},
		{plain.Process.Pid, "", []string{"not a Go program"}, "CAP_"},
		{2, "", []string{"a thread of the kernel"}, "CAP_"},
	} {
		if comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", c.pid)); c.pid == 2 && string(comm) != "kthreadd\n" {
			continue // in a container it is somebody else
		}
		out, err := role("collapse", nobody, "COLLAPSER_TEST_PID="+strconv.Itoa(c.pid), "COLLAPSER_TEST_DRY="+c.dry).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("own process %v, dry run %q: %q does not say %q", c.pid == mine, c.dry, out, want)
			}
		}
		if strings.Contains(string(out), c.never) {
			t.Errorf("own process %v, dry run %q: %q names what is not the cause: %s", c.pid == mine, c.dry, out, c.never)
		}
	}
}
