package spawn

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// roleEnv makes the test binary one of the programs in roles.
const roleEnv = "SPAWN_TEST_ROLE"

var roles = map[string]func(words []string) error{
	"describe": roleDescribe, "usage": roleUsage, "ids": roleIDs, "starter": roleStarter, "start": roleStart, "noexec": roleNoExec,
}

func init() {
	if os.Getenv(roleEnv) != "" {
		runtime.LockOSThread() // to the first one: it alone knows what it inherited
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) == "" {
		os.Exit(m.Run())
	}
	if err := roles[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(98)
	}
	os.Exit(0)
}

func self() string {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return exe
}

func environ() []string { return append(os.Environ(), roleEnv+"=1", "GORACE=atexit_sleep_ms=0") }

// null returns three streams: nothing, nothing, and the standard error of the test.
func null() [3]*os.File { f := devNull(); return [3]*os.File{f, f, os.Stderr} }

var devNull = sync.OnceValue(func() *os.File {
	f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	return f
})

// role returns a program that plays a role.
func role(words ...string) *Program {
	return &Program{Path: self(), Argv: append([]string{"role"}, words...), Env: environ(), Files: null()}
}

// ways are the ways to start a program.
var ways = map[string]func(p *Program) (*Process, error){
	"stub":         (*Program).Prepare,
	"fork":         func(p *Program) (*Process, error) { return p.PrepareFork(), nil },
	"stub, traced": func(p *Program) (*Process, error) { return traced(p).Prepare() },
	"fork, traced": func(p *Program) (*Process, error) { return traced(p).PrepareFork(), nil },
}

// traced stops a program at its exec. It checks that this is where it is.
func traced(p *Program) *Program {
	p.AtExec = func(pid int) error {
		var got, want unix.Stat_t
		err := unix.Stat(fmt.Sprintf("/proc/%d/exe", pid), &got)
		if err == nil {
			err = unix.Stat(p.Path, &want)
		}
		switch {
		case err != nil:
			return err
		case got.Ino != want.Ino || got.Dev != want.Dev:
			return fmt.Errorf("process %d is not %s", pid, p.Path)
		}
		// One that runs cannot be asked for its registers.
		var regs unix.PtraceRegs
		return unix.PtraceGetRegs(pid, &regs)
	}
	return p
}

// needStub is for tests of what only the stub does.
func needStub(t testing.TB) {
	t.Helper()
	p := &Program{Path: "/bin/true", Argv: []string{"true"}, Files: null()}
	proc, err := p.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Abort()
	if _, ok := proc.PID(); !ok {
		testenv.Missing(t, "the stub does not work on this system")
	}
}

// output starts a program, waits for its end, and returns what it wrote on standard
// output and what it used.
func output(t testing.TB, p *Program, prepare func(*Program) (*Process, error)) (string, unix.WaitStatus, unix.Rusage) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p.Files[1] = w
	proc, err := prepare(p)
	if err == nil {
		var pid int
		if pid, err = proc.Start(); err == nil {
			w.Close()
			return finish(t, pid, r)
		}
	}
	w.Close()
	t.Fatal(err)
	return "", 0, unix.Rusage{}
}

func finish(t testing.TB, pid int, r *os.File) (string, unix.WaitStatus, unix.Rusage) {
	t.Helper()
	var text strings.Builder
	if _, err := bufio.NewReader(r).WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	var ws unix.WaitStatus
	var ru unix.Rusage
	if _, err := unix.Wait4(pid, &ws, 0, &ru); err != nil {
		t.Fatal(err)
	}
	return text.String(), ws, ru
}

// checkNoneLeft checks that this process has no child, not even a dead one.
func checkNoneLeft(t testing.TB) {
	t.Helper()
	if err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != unix.ECHILD {
		pids, _ := procmem.FS{}.Descendants(os.Getpid())
		t.Errorf("processes %v are left", pids)
	}
}

// roleDescribe prints what a program can see of how it was started.
func roleDescribe([]string) error {
	d := map[string]any{}
	file := func(name string) string {
		data, err := os.ReadFile("/proc/self/" + name)
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
	for _, name := range []string{"cmdline", "environ", "oom_score_adj", "limits", "coredump_filter", "timerslack_ns",
		"cgroup", "personality", "comm", "autogroup", "cpuset"} {
		d[name] = file(name)
	}
	for line := range strings.Lines(file("status")) {
		key, value, _ := strings.Cut(line, ":")
		switch {
		case strings.HasPrefix(key, "Vm"), strings.HasPrefix(key, "Rss"), strings.HasSuffix(key,
			"ctxt_switches"), key == "NSpid", key == "NStgid", key == "Pid", key == "State", key == "Tgid", key == "SigQ", key == "Threads", key == "FDSize":
		default:
			d["status "+key] = strings.TrimSpace(value)
		}
	}
	stat := file("stat")
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	for n, key := range map[int]string{4: "parent", 5: "group", 6: "session", 7: "terminal", 8: "foreground",
		18: "priority", 19: "nice", 38: "signal to the parent", 40: "realtime", 41: "policy"} {
		d["stat "+key] = fields[n-3]
	}
	exe, _ := os.Readlink("/proc/self/exe")
	dir, _ := os.Getwd()
	dumpable, _ := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	var death int32
	_ = unix.Prctl(unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&death)), 0, 0, 0) // Safety: death outlives the call.
	d["exe"], d["dir"], d["dumpable"], d["death"], d["args"] = exe, dir, dumpable, death, os.Args
	fds := map[string]string{}
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, n := range names {
		to, err := os.Readlink("/proc/self/fd/" + n.Name())
		// The directory itself is gone again, and the runtime's own may be there.
		if err == nil && !strings.HasPrefix(to, "anon_inode:") && !strings.HasPrefix(to, "/proc/") {
			fds[n.Name()] = to
		}
	}
	d["fds"] = fds
	return json.NewEncoder(os.Stdout).Encode(d)
}

// roleUsage (KiB) touches memory and prints what the kernel says of its own use, as
// the last thing that it does.
func roleUsage(words []string) error {
	n, err := strconv.Atoi(words[0])
	if err != nil {
		return err
	}
	mem := make([]byte, n<<10)
	for i := 0; i < len(mem); i += 4096 {
		mem[i] = 1
	}
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		return err
	}
	fmt.Println(ru.Maxrss, ru.Minflt)
	return nil
}

// roleIDs prints the user that the process is, and has the rights of.
func roleIDs([]string) error {
	fmt.Println(os.Getuid(), os.Geteuid())
	return nil
}

// roleStart (program) starts a program as role ids and passes its output on.
func roleStart(words []string) error {
	p := &Program{Path: words[0], Argv: []string{words[0], "ids"}, Env: environ(), Files: [3]*os.File{os.Stdin, os.Stdout, os.Stderr}}
	proc, err := p.Prepare()
	if err != nil {
		return err
	}
	if _, ok := proc.PID(); !ok {
		return errNoStub
	}
	pid, err := proc.Start()
	if err == nil {
		wait(pid)
	}
	return err
}

var errNoStub = fmt.Errorf("no stub")

// roleStarter starts programs and kills them, until it is killed itself.
func roleStarter([]string) error {
	signal.Ignore(syscall.SIGHUP)
	p := &Program{Path: "/bin/sleep", Argv: []string{"sleep", "1000"}, Env: os.Environ(), Files: null()}
	for first := true; ; first = false {
		if p.AtExec = nil; rand.IntN(2) == 0 {
			p.AtExec = func(int) error { return nil }
		}
		proc, err := p.Prepare()
		if err != nil {
			return err
		}
		pid, err := proc.Start()
		if err != nil {
			return err
		}
		if first {
			fmt.Println("started")
		}
		_ = unix.Kill(pid, unix.SIGKILL)
		wait(pid)
	}
}

// roleNoExec, the first process of a pid namespace, forbids files in memory to be
// executed, and starts a program all the same.
func roleNoExec([]string) error {
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	if err := os.WriteFile("/proc/sys/vm/memfd_noexec", []byte("2"), 0); err != nil {
		return err
	}
	p := &Program{Path: self(), Argv: []string{"role", "ids"}, Env: environ(), Files: [3]*os.File{os.Stdin, os.Stdout, os.Stderr}}
	for range 2 {
		proc, err := p.Prepare()
		if err != nil {
			return err
		}
		_, ok := proc.PID()
		fmt.Println("stub", ok)
		pid, err := proc.Start()
		if err != nil {
			return err
		}
		fmt.Println("exit", wait(pid).ExitStatus())
	}
	return nil
}

// copyOf copies the test binary.
func copyOf(t *testing.T, mode os.FileMode) string {
	t.Helper()
	data, err := os.ReadFile(self())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) { // others must get there
		if st, err := os.Stat(dir); err == nil && st.Mode()&0o001 == 0 {
			_ = os.Chmod(dir, st.Mode()|0o011)
		}
	}
	return path
}

func roleCmd(words ...string) *exec.Cmd {
	cmd := exec.Command(self(), words...)
	cmd.Env = environ()
	return cmd
}
