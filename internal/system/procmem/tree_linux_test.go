package procmem

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/test/testenv"
)

// childEnv makes the test binary a process with a known size, see child.
const childEnv = "PROCMEM_TEST_CHILD"

const mib = 1 << 20

func TestMain(m *testing.M) {
	if mode := os.Getenv(childEnv); mode != "" {
		if err := child(strings.Fields(mode)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child does what the words say, one after another:
//
//	touch N  make N MiB resident
//	kinds    have memory of each kind
//	ready    print the pid
//	wait     until stdin ends
//	spawn    start a process that does the rest of the words, and
//	orphan   the same, and exit once that has said "ready"
//	fork N   start N processes that do nothing, one after another
func child(words []string) error {
	for i := 0; i < len(words); i++ {
		var n int
		switch words[i] {
		case "touch", "fork":
			var err error
			if n, err = strconv.Atoi(words[i+1]); err != nil {
				return err
			}
		}
		switch words[i] {
		case "touch":
			mem, err := unix.Mmap(-1, 0, n*mib, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
			if err != nil {
				return err
			}
			for off := 0; off < len(mem); off += os.Getpagesize() {
				mem[off] = 1
			}
			i++
		case "kinds":
			if err := kinds(); err != nil {
				return err
			}
		case "ready":
			fmt.Println(os.Getpid())
		case "wait":
			io.Copy(io.Discard, os.Stdin)
		case "fork":
			for range n {
				if err := self("exit").Run(); err != nil {
					return err
				}
			}
			i++
		case "exit":
			return nil
		case "spawn", "orphan":
			// Both are ready before the parent goes on: its line comes second.
			cmd := self(words[i+1:]...)
			cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				return err
			}
			if err := cmd.Start(); err != nil {
				return err
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				return err
			}
			fmt.Print(line)
			if words[i] == "orphan" {
				return nil
			}
			fmt.Println(os.Getpid())
			cmd.Wait() // a test may have killed it
			return nil
		default:
			return fmt.Errorf("unknown word %q", words[i])
		}
	}
	return nil
}

func self(words ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join(words, " "),
		"GORACE=atexit_sleep_ms=0") // a second by default
	return cmd
}

// start runs a child, waits for n of its processes to be ready, and returns
// their pids in the order in which they were. stop ends them all.
func start(t testing.TB, n int, words string) (root int, pids []int, stop func()) {
	t.Helper()
	cmd := self(strings.Fields(words)...)
	cmd.Stderr = os.Stderr
	in, out := testenv.Start(t, cmd)
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			in.Close()
			io.Copy(io.Discard, out) // until the last of them is gone
			cmd.Wait()
		}
	}
	t.Cleanup(stop)
	for range n {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatalf("child %q: %v", words, err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return cmd.Process.Pid, pids, stop
}

func openFiles(t testing.TB) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

func update(t testing.TB, tree *Tree) {
	t.Helper()
	if err := tree.Update(); err != nil {
		t.Fatal(err)
	}
}

func TestRealTree(t *testing.T) {
	var f FS
	_, _, stop := start(t, 1, "ready wait") // opens what the runtime keeps open
	stop()
	files := openFiles(t)
	root, pids, stop := start(t, 2, "touch 64 spawn touch 32 ready wait")
	tree := f.NewTree(root)
	update(t, tree)

	want := slices.Sorted(slices.Values(pids))
	if got := tree.PIDs(); !reflect.DeepEqual(got, want) {
		t.Errorf("members = %v, want %v", got, want)
	}
	total, largest, n := tree.RSS()
	var sum uint64
	for _, pid := range pids {
		s, err := f.Status(pid)
		if err != nil || s.VmRSS == nil || s.VmHWM == nil {
			t.Fatalf("status: %+v, %v", s, err)
		}
		sum += *s.VmRSS
		if got, ok := tree.HWM(pid); !ok || got < *s.VmRSS {
			t.Errorf("HWM = %d, %v, less than VmRSS %d", got, ok, *s.VmRSS)
		}
		if got, ok := tree.Root(pid); got != root || !ok {
			t.Errorf("Root(%d) = %d, %v", pid, got, ok)
		}
	}
	if n != 2 || largest < 64*mib || total < 96*mib || total < sum-4*mib || total > sum+4*mib {
		t.Errorf("RSS = %d, %d, %d, want about %d", total, largest, n, sum)
	}
	if got, err := f.Descendants(root); err != nil || !reflect.DeepEqual(got, pids[:1]) {
		t.Errorf("Descendants = %v, %v, want %v", got, err, pids[:1])
	}
	if got, err := f.Descendants(0); err != nil || !slices.Contains(got, pids[0]) {
		t.Errorf("own Descendants = %v, %v, want %d among them", got, err, pids[0])
	}

	stop()
	testenv.Eventually(t, "the tree is empty", func() bool { update(t, tree); return len(tree.PIDs()) == 0 })
	if total, _, n := tree.RSS(); total != 0 || n != 0 {
		t.Errorf("RSS of the dead = %d of %d", total, n)
	}
	if got := openFiles(t); got != files+1 { // loadavg
		t.Errorf("%d files open after the members ended, had %d", got, files)
	}
	tree.Close()
	if got := openFiles(t); got != files {
		t.Errorf("%d files open after Close, had %d", got, files)
	}
}

func TestRealTreeClose(t *testing.T) {
	files := openFiles(t)
	tree := FS{}.NewTree(os.Getpid())
	update(t, tree)
	if got := openFiles(t); got != files+2 {
		t.Errorf("%d files open, had %d", got, files)
	}
	tree.Close()
	if got := openFiles(t); got != files {
		t.Errorf("%d files open after Close, had %d", got, files)
	}
}

// TestRealOrphan is a grandchild whose parent has ended: it stays a member if
// it was one, and becomes one through the reaper if it was never seen.
func TestRealOrphan(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		testenv.Missing(t, "subreaper: %v", err)
	}
	defer unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	var f FS
	for _, seen := range []bool{true, false} {
		// The middle process ends after its child is ready. Its own end is seen
		// when the child's parent is this process.
		tree := f.NewTree()
		if seen {
			// stdin holds the middle process back until the tree has seen both.
			root, pids, stop := start(t, 2, "spawn spawn touch 8 ready wait")
			tree.AddRoot(root)
			update(t, tree)
			if !slices.Contains(tree.PIDs(), pids[0]) {
				t.Fatalf("members = %v, want %d among them", tree.PIDs(), pids[0])
			}
			middle, err := f.Stat(pids[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := unix.Kill(middle.PPID, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			adopted(t, f, pids[0])
			check(t, tree, root, pids[0])
			stop()
			reap(t, pids[0])
		} else {
			root, pids, stop := start(t, 1, "orphan touch 8 ready wait")
			adopted(t, f, pids[0])
			tree.AddRoot(root) // a zombie by now
			tree.SetReaper(os.Getpid())
			update(t, tree)
			if got := tree.PIDs(); !slices.Contains(got, pids[0]) {
				t.Errorf("members = %v, want the orphan %d", got, pids[0])
			}
			if total, _, _ := tree.RSS(); total < 8*mib {
				t.Errorf("RSS = %d, want the orphan's", total)
			}
			stop()
			reap(t, pids[0])
		}
		tree.Close()
	}
}

func adopted(t *testing.T, f FS, pid int) {
	t.Helper()
	testenv.Eventually(t, "the orphan has a new parent", func() bool {
		s, err := f.Stat(pid)
		return err == nil && s.PPID == os.Getpid()
	})
}

func check(t *testing.T, tree *Tree, root, pid int) {
	t.Helper()
	update(t, tree)
	if got, ok := tree.Root(pid); got != root || !ok {
		t.Errorf("Root(%d) = %d, %v, want %d", pid, got, ok, root)
	}
	if total, _, _ := tree.RSS(); total < 8*mib {
		t.Errorf("RSS = %d, want the orphan's", total)
	}
}

func reap(t *testing.T, pid int) {
	t.Helper()
	if _, err := unix.Wait4(pid, nil, 0, nil); err != nil {
		t.Errorf("wait for orphan %d: %v", pid, err)
	}
}

// TestRealForks is a process with much memory that starts many small ones. For
// a moment each of them runs in its parent's memory.
func TestRealForks(t *testing.T) {
	root, pids, _ := start(t, 1, "touch 256 ready fork 80 wait")
	if _, ok := sameMemory(root, os.Getpid()); !ok {
		testenv.Missing(t, "the kernel does not compare address spaces for us")
	}
	tree := FS{}.NewTree(root)
	defer tree.Close()
	seen := make(map[int]bool)
	var peak uint64
	shared := 0
	update(t, tree)
	scans := tree.scans
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); {
		update(t, tree)
		total, _, n := tree.RSS()
		peak = max(peak, total)
		members := tree.PIDs()
		if n < len(members) {
			shared++
		}
		for _, pid := range members {
			seen[pid] = true
		}
		if !seen[pids[0]] {
			t.Fatal("the root is not a member")
		}
	}
	if peak < 256*mib || peak > 400*mib {
		t.Errorf("peak RSS = %d MiB, want between 256 and 400", peak/mib)
	}
	// How many of those that live for a moment are seen is up to the machine.
	t.Logf("saw %d processes of 81, %d ticks with shared or no memory; %d full scans, %d probes",
		len(seen), shared, tree.scans-scans, tree.probes)
}

// TestRealAnonHuge asks for huge pages and compares the tree's answer with the
// process's own.
func TestRealAnonHuge(t *testing.T) {
	var f FS
	root, pids, _ := start(t, 2, "spawn touch 16 ready wait")
	if _, err := f.SmapsRollup(pids[0]); err != nil {
		testenv.Missing(t, "smaps_rollup: %v", err)
	}
	tree := f.NewTree(root)
	defer tree.Close()
	update(t, tree)
	var want uint64
	for _, pid := range pids {
		s, err := f.SmapsRollup(pid)
		if err != nil || s.AnonHugePages == nil || s.Rss == nil {
			t.Fatalf("SmapsRollup = %+v, %v", s, err)
		}
		want += *s.AnonHugePages
	}
	if got, ok := tree.AnonHuge(); !ok || got != want {
		t.Errorf("AnonHuge = %d, %v, want %d", got, ok, want)
	}
}

// TestRealSelf reads all files of this process and of this machine.
func TestRealSelf(t *testing.T) {
	var f FS
	s, err := f.Stat(0)
	if err != nil || s.PID != os.Getpid() || s.PPID != os.Getppid() || s.Threads < 1 || s.MinFlt == 0 || s.StartTime == 0 {
		t.Errorf("Stat = %+v, %v", s, err)
	}
	if st, err := f.Status(0); err != nil || st.PID == nil || *st.PID != os.Getpid() || st.EUID == nil ||
		*st.EUID != os.Geteuid() || st.VmHWM == nil {
		t.Errorf("Status = %+v, %v", st, err)
	}
	if sm, err := f.Statm(0); err != nil || sm.RSS < mib || sm.Shared > sm.RSS || sm.RSS > sm.Size {
		t.Errorf("Statm = %+v, %v", sm, err)
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		t.Fatal(err)
	}
	if m, err := f.Meminfo(); err != nil || m.MemTotal == nil || *m.MemTotal != uint64(info.Totalram)*uint64(info.Unit) {
		t.Errorf("Meminfo = %+v, %v", m, err)
	}
	if _, err := f.THP(); err != nil {
		t.Errorf("THP: %v", err)
	}
	if limit, ok, err := f.MemoryLimit(0); err != nil || ok && limit.Bytes < mib {
		t.Errorf("MemoryLimit = %d, %v, %v", limit.Bytes, ok, err)
	}
	if _, _, err := f.MemoryLimit(os.Getppid()); err != nil {
		t.Errorf("MemoryLimit of the parent: %v", err)
	}
	before, err := load(f.path("proc/loadavg"), parseLoadavg)
	if err != nil {
		t.Fatal(err)
	}
	if err := self("exit").Run(); err != nil {
		t.Fatal(err)
	}
	if after, err := load(f.path("proc/loadavg"), parseLoadavg); err != nil || after == before {
		t.Errorf("last pid = %d, %v, the same as before a fork", after, err)
	}
}

// BenchmarkTree is a tick of the sampler in which nothing was forked.
func BenchmarkTree(b *testing.B) {
	for _, members := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("members=%d", members), func(b *testing.B) {
			tree := FS{}.NewTree()
			defer tree.Close()
			for range members {
				root, _, stop := start(b, 1, "ready wait")
				defer stop()
				tree.AddRoot(root)
			}
			update(b, tree)
			update(b, tree)
			tree.RSS()
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if err := tree.Update(); err != nil {
					b.Fatal(err)
				}
				if _, _, n := tree.RSS(); n != members {
					b.Fatalf("%d members", n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(members), "ns/member")
		})
	}
}

// BenchmarkTreeFork is a tick after one process was started and has ended.
func BenchmarkTreeFork(b *testing.B) {
	tree := FS{}.NewTree(os.Getpid())
	defer tree.Close()
	update(b, tree)
	for range b.N {
		b.StopTimer()
		if err := self("exit").Run(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		update(b, tree)
		tree.RSS()
	}
}
