package perf

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/test/testenv"
)

// roleEnv makes the test binary one of the programs in roles.
const roleEnv = "PERF_TEST_ROLE"

// roles is filled by TestMain: roles start others.
var roles map[string]func(args []string) error

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) == "" {
		os.Exit(m.Run())
	}
	roles = map[string]func([]string) error{
		"burn": burnRole, "fault": faultRole, "threads": threadsRole, "children": childrenRole,
		"exec": execRole, "session": sessionRole, "leaderless": leaderlessRole, "serve": serveRole,
		"denied": deniedRole, "churn": churnRole, "locked": lockedRole,
	}
	role, ok := roles[os.Args[1]]
	if !ok {
		fmt.Fprintf(os.Stderr, "no role %q\n", os.Args[1])
		os.Exit(99)
	}
	if err := role(os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(98)
	}
	os.Exit(0)
}

// roleCmd is the test binary in a role. It is started by a link that also works
// for users who cannot read the directory it is in.
func roleCmd(words ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", words...)
	cmd.Env = append(os.Environ(), roleEnv+"=1", "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = os.Stderr
	return cmd
}

// cpuTime returns what this thread has used.
func cpuTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}

var sink atomic.Uint64

// spin is where roles spend their time.
//
//go:noinline
func spin(n int) (x uint64) {
	for i := range n {
		x = x*31 + uint64(i)
	}
	return x
}

//go:noinline
func burn(d time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for begin := cpuTime(); cpuTime()-begin < d; {
		sink.Add(spin(200_000))
	}
}

func duration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		panic(err)
	}
	return d
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func burnRole(args []string) error {
	burn(duration(args[0]))
	return nil
}

// touch writes to each page of b.
//
//go:noinline
func touch(b []byte) {
	for i := 0; i < len(b); i += os.Getpagesize() {
		b[i] = 1
	}
}

// faultRole takes this many page faults.
func faultRole(args []string) error {
	b, err := unix.Mmap(-1, 0, number(args[0])*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	if err := unix.Madvise(b, unix.MADV_NOHUGEPAGE); err != nil && err != unix.EINVAL {
		return err
	}
	touch(b)
	return nil
}

// threadsRole burns in this many threads, for so long each.
func threadsRole(args []string) error {
	var wg sync.WaitGroup
	for range number(args[0]) {
		wg.Go(func() {
			runtime.LockOSThread() // never unlocked: the thread ends with it
			burn(duration(args[1]))
		})
	}
	wg.Wait()
	return nil
}

// childrenRole starts this many processes, one by one, that burn for so long.
func childrenRole(args []string) error {
	for range number(args[0]) {
		if err := roleCmd("burn", args[1]).Run(); err != nil {
			return err
		}
	}
	return nil
}

// execRole becomes another role.
func execRole(args []string) error {
	burn(20 * time.Millisecond)
	return syscall.Exec("/proc/self/exe", append([]string{"again"}, args...), os.Environ())
}

// churnRole starts threads, two at a time, each of which burns for so long and
// ends, until its input ends.
func churnRole(args []string) error {
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for !stop.Load() {
				done := make(chan bool)
				go func() {
					runtime.LockOSThread() // never unlocked: the thread ends with it
					burn(duration(args[0]))
					close(done)
				}()
				<-done
			}
		})
	}
	fmt.Println("ready")
	var b [1]byte
	os.Stdin.Read(b[:])
	stop.Store(true)
	wg.Wait()
	return nil
}

// leaderlessRole ends its first thread and burns on in another.
func leaderlessRole(args []string) error {
	go func() {
		burn(duration(args[0]))
		os.Exit(0)
	}()
	runtime.LockOSThread()
	unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
	return nil
}

// serveRole starts a child that waits, too, and burns in several threads when a
// line comes in, and in a new one.
func serveRole(args []string) error {
	var child *exec.Cmd
	if args[0] == "parent" {
		runtime.LockOSThread() // the child would be killed with the thread that started it
		child = roleCmd("serve", "child")
		child.Stdin = os.Stdin
		child.Stdout = os.Stdout
		if err := child.Start(); err != nil {
			return err
		}
	}
	var wg sync.WaitGroup
	start := make(chan bool)
	for range 3 {
		wg.Add(1)
		ready := make(chan bool)
		go func() {
			defer wg.Done()
			runtime.LockOSThread()
			ready <- true
			<-start
			burn(50 * time.Millisecond)
		}()
		<-ready
	}
	fmt.Println("ready", os.Getpid())
	var b [1]byte
	if n, err := os.Stdin.Read(b[:]); n != 1 {
		return err
	}
	close(start)
	wg.Go(func() { burn(50 * time.Millisecond) })
	wg.Wait()
	if child != nil {
		return child.Wait()
	}
	return nil
}

// log is a handler that remembers.
type log struct {
	samples []Sample
	maps    []Mapping
	events  []string // "exec PID COMM", "fork PID PARENT", "exit PID"
	at      []int    // how many samples there were before each of events
	astray  int      // samples that one drain told after a later one
}

// handler returns a handler for one drain.
func (l *log) handler() *Handler {
	var last uint64
	event := func(format string, args ...any) {
		l.events = append(l.events, fmt.Sprintf(format, args...))
		l.at = append(l.at, len(l.samples))
	}
	return &Handler{
		Sample: func(s *Sample) {
			if s.Time < last {
				l.astray++
			}
			last = s.Time
			c := *s
			c.Kernel, c.User = bytesOf(s.Kernel), bytesOf(s.User)
			l.samples = append(l.samples, c)
		},
		Mmap: func(m *Mapping) { l.maps = append(l.maps, *m) },
		Exec: func(pid int, comm string) { event("exec %d %s", pid, comm) },
		Fork: func(pid, parent int) { event("fork %d %d", pid, parent) },
		Exit: func(pid int) { event("exit %d", pid) },
	}
}

func bytesOf(list []uint64) []uint64 { return append([]uint64(nil), list...) }

// sum returns the periods of the samples of a kind.
func (l *log) sum(kind Kind) (total uint64) {
	for _, s := range l.samples {
		if s.Kind == kind {
			total += s.Period
		}
	}
	return total
}

func (l *log) count(kind Kind, match func(*Sample) bool) (n int) {
	for i := range l.samples {
		if s := &l.samples[i]; s.Kind == kind && (match == nil || match(s)) {
			n++
		}
	}
	return n
}

func (l *log) pids() map[int]int {
	pids := map[int]int{}
	for _, s := range l.samples {
		pids[s.PID]++
	}
	return pids
}

// name returns the function at an address of a process that runs the test
// binary, which is linked to fixed addresses.
func name(pc uint64) string {
	f := runtime.FuncForPC(uintptr(pc))
	if f == nil {
		return ""
	}
	return f.Name()[strings.LastIndexByte(f.Name(), '.')+1:]
}

// in reports whether a sample was in this function, or called by it.
func in(function string) func(*Sample) bool {
	return func(s *Sample) bool {
		for i, pc := range s.User {
			if i > 0 {
				pc--
			}
			if name(pc) == function {
				return true
			}
		}
		return false
	}
}

// needPerf skips the test where nothing can be sampled.
func needPerf(t *testing.T) {
	t.Helper()
	if err := Check(); err != nil {
		testenv.Missing(t, "%v", err)
	}
}

// watch runs a command and returns what was seen of it.
func watch(t *testing.T, cfg Config, cmd *exec.Cmd) (*log, *Session) {
	t.Helper()
	needPerf(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s, err := OpenThread(0, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	l := &log{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for end := false; !end; {
		select {
		case err := <-done:
			if end = true; err != nil {
				t.Fatal(err)
			}
		case <-time.After(10 * time.Millisecond):
		}
		if err := s.Drain(l.handler()); err != nil {
			t.Fatal(err)
		}
	}
	check(t, l)
	return l, s
}

// check checks what holds of everything that is seen.
func check(t *testing.T, l *log) {
	t.Helper()
	if l.astray > 0 {
		t.Errorf("%d samples are told after later ones", l.astray)
	}
	for i, s := range l.samples {
		if s.PID <= 0 || s.TID <= 0 || s.CPU < 0 || s.Period == 0 || s.Time == 0 {
			t.Fatalf("sample %d makes no sense: %+v", i, s)
		}
		if !s.InKernel && len(s.Kernel) > 0 || len(s.User)+len(s.Kernel) == 0 {
			t.Errorf("sample %d has the wrong call chains: %+v", i, s)
		}
		for _, pc := range append(bytesOf(s.Kernel), s.User...) {
			if pc >= contextMax {
				t.Errorf("sample %d: the marker %#x is left in a call chain", i, pc)
			}
		}
	}
	for _, m := range l.maps {
		if !m.Exec || m.Len == 0 || m.PID <= 0 {
			t.Errorf("mapping makes no sense: %+v", m)
		}
	}
}

// openFiles returns what this process has open.
func openFiles(t *testing.T) map[string]int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, e := range list {
		if link, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.Contains(link, "perf_event") {
			out[link]++
		}
	}
	return out
}

func TestNothingIsLeftOpen(t *testing.T) {
	needPerf(t)
	before := openFiles(t)
	for range 3 {
		s, err := OpenThread(0, Config{Faults: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("the second time: %v", err)
		}
		if err := s.Drain(&Handler{}); err == nil {
			t.Error("a closed session drains")
		}
	}
	if _, err := Attach(1<<30, Config{}); err == nil {
		t.Error("a process that is not there can be sampled")
	}
	text, _ := os.ReadFile("/proc/self/maps")
	if after := openFiles(t); !maps.Equal(before, after) || bytes.Contains(text, []byte("perf_event")) {
		t.Errorf("open before: %v, after: %v\n%s", before, after, text)
	}
}
