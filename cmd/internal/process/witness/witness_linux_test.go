//go:build linux && (amd64 || arm64)

package witness

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/test/testenv"
)

// isSelf wants this test binary changed.
func isSelf(e *Exec) bool {
	own, err := programOf(os.Getpid())
	st, err2 := status(e.file)
	return err == nil && err2 == nil && own == identityOf(&st)
}

// both runs a test with and without the flag of Linux 5.19.
func both(t *testing.T, f func(t *testing.T)) {
	t.Run("killable", f)
	t.Run("interruptible", func(t *testing.T) {
		noKillable = true
		defer func() { noKillable = false }()
		f(t)
	})
}

func sorted(s []string) string {
	slices.Sort(s)
	return strings.Join(s, "\n")
}

// check runs a program and compares what was seen of its tree.
func check(t *testing.T, want func(*Exec) bool, argv, execs, exits []string) (r result, s *seen) {
	t.Helper()
	s = &seen{}
	r = run(t, s.options(want), argv...)
	if got := sorted(s.execs); got != sorted(execs) {
		t.Errorf("%q: execs:\n%s\nwant:\n%s", argv, got, sorted(execs))
	}
	if got := sorted(s.exits); got != sorted(exits) {
		t.Errorf("%q: exits:\n%s\nwant:\n%s", argv, got, sorted(exits))
	}
	for pid, n := range s.pids {
		if n != 1 {
			t.Errorf("%q: %d exits of process %d", argv, n, pid)
		}
	}
	if len(s.errs) > 0 {
		t.Errorf("%q: %v", argv, s.errs)
	}
	if t.Failed() {
		t.Logf("%v: %s", r.ws, r.output)
	}
	return r, s
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	testenv.WriteProgram(t, path, []byte(text))
	return path
}

const advised = "advised true tracer 0\n"

// shell is the file of /bin/sh.
func shell(t *testing.T) string {
	t.Helper()
	path, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEveryKindOfExec(t *testing.T) {
	both(t, func(t *testing.T) {
		self, sh := self(t), shell(t)
		dir, name := filepath.Split(self)
		text := file(t, "text", "no program\n")
		if err := os.Chmod(text, 0o755); err != nil {
			t.Fatal(err)
		}
		script := file(t, "script", "#!"+self+" role:heap\n")
		deep := file(t, "deep", "#!"+script+"\n")
		ok := func(path string) string { return path + " true 0" }
		for _, c := range []struct {
			name         string
			argv         []string
			execs, exits []string
			output       string
		}{
			{"the program itself", []string{self, "role:heap"}, []string{self + " role:heap"}, []string{ok(self)}, advised},
			{"a child", []string{"/bin/sh", "-c", self + " role:heap; exit 0"}, []string{"/bin/sh -c " + self + " role:heap; exit 0", self + " role:heap"},
				[]string{ok(sh), ok(self)}, advised},
			{"a second exec", []string{self, "role:become", self, "role:heap"}, []string{self + " role:become " + self + " role:heap", self + " role:heap"},
				[]string{ok(self)}, advised},
			{"a thread", []string{self, "role:thread", self, "role:heap"}, []string{self + " role:thread " + self + " role:heap", self + " role:heap"},
				[]string{ok(self)}, advised},
			{"execs that fail", []string{self, "role:fails", text}, []string{self + " role:fails " + text, self + " " + strings.Repeat("x", maxPath)},
				[]string{ok(self)}, advised},
			{"a script", []string{script, "one"}, []string{script + " one"}, []string{ok(self)}, advised},
			{"a script of a script", []string{deep}, []string{deep + " "}, []string{ok(self)}, advised},
			{"relative to a directory", []string{self, "role:at", dir, name, "role:heap"},
				[]string{self + " role:at " + dir + " " + name + " role:heap", name + " role:heap"}, []string{ok(self)}, advised},
			{"by a link", []string{self, "role:become", "/proc/self/exe", "role:heap"},
				[]string{self + " role:become /proc/self/exe role:heap", "/proc/self/exe role:heap"}, []string{ok(self)}, advised},
		} {
			t.Run(c.name, func(t *testing.T) {
				for i := range c.execs {
					c.execs[i] = strings.TrimSpace(c.execs[i])
				}
				r, _ := check(t, isSelf, c.argv, c.execs, c.exits)
				if r.ws != 0 || r.output != c.output {
					t.Errorf("%v, %q, want %q", r.ws, r.output, c.output)
				}
			})
		}
	})
}

// TestMemory executes a program that has no file.
func TestMemory(t *testing.T) {
	for _, how := range [][]string{nil, {"at"}} {
		var s seen
		r := run(t, s.options(func(e *Exec) bool { return e.Program.IsGo() }), append([]string{self(t), "role:memfd"}, how...)...)
		if r.ws != 0 || r.output != advised || len(s.execs) != 2 || len(s.exits) != 1 || len(s.errs) > 0 {
			t.Errorf("%q: %v, %v", how, r, &s)
		}
		if len(s.execs) > 1 && !strings.HasPrefix(s.execs[1], "/proc/self/fd/") {
			t.Errorf("%q: %q", how, s.execs[1])
		}
	}
}

// TestOnlyWhatIsWanted leaves other programs as they are.
func TestOnlyWhatIsWanted(t *testing.T) {
	var s seen
	r := run(t, s.options(func(*Exec) bool { return false }), self(t), "role:heap")
	if r.output != "advised false tracer 0\n" {
		t.Errorf("%q", r.output)
	}
}

func TestExitCodes(t *testing.T) {
	sh := shell(t)
	for _, c := range []struct {
		script, exit string
		want         unix.WaitStatus
	}{
		{"exit 3", " true 3", 3 << 8},
		{"exit 255", " true 255", 255 << 8},
		{"kill -9 $$", " false 0", 9},
		{"kill -TERM $$", " false 0", 15},
	} {
		r, _ := check(t, nil, []string{"/bin/sh", "-c", c.script}, []string{"/bin/sh -c " + c.script}, []string{sh + c.exit})
		if r.ws&^0x80 != c.want { // without the bit of a core dump
			t.Errorf("%q: %#x, want %#x", c.script, r.ws, c.want)
		}
	}
}

// TestMemoryAtExit reads what a process has in memory while it waits.
func TestMemoryAtExit(t *testing.T) {
	found := false
	r := run(t, Options{OnExit: func(e *Exit) {
		data, err := os.ReadFile("/proc/" + statusOf(e.PID, "Pid") + "/maps")
		found = err == nil && e.Seen && strings.Contains(string(data), "[stack]")
	}}, self(t), "role:exit", "4")
	if r.ws.ExitStatus() != 4 || !found {
		t.Errorf("%v, read %v", r.ws, found)
	}
}

// TestSignalsWhileItWaits: signals interrupt a wait for an answer, and the call is made again.
func TestSignalsWhileItWaits(t *testing.T) {
	both(t, func(t *testing.T) {
		n := 0
		r := run(t, Options{OnExit: func(e *Exit) {
			n++
			for range 20 {
				_ = unix.Kill(e.PID, unix.SIGUSR1)
				time.Sleep(time.Millisecond)
			}
		}}, self(t), "role:signaled")
		if n != 1 || r.ws.ExitStatus() != 5 {
			t.Errorf("%d exits, %v", n, r.ws)
		}
	})
}

// TestTracedByAnother leaves a program that has a tracer to it.
func TestTracedByAnother(t *testing.T) {
	var s seen
	r := run(t, s.options(func(e *Exec) bool { return e.PID != 0 && isSelf(e) }), self(t), "role:traced", self(t), "role:exit", "6")
	if r.ws.ExitStatus() != 6 || len(s.errs) != 1 || !strings.Contains(s.errs[0].Error(), " traces it") {
		t.Errorf("%v, %v", r, s.errs)
	}
}

func TestNotStarted(t *testing.T) {
	p, _ := program(t, file(t, "text", "no program\n"))
	if _, err := Start(p, Options{OnExit: func(e *Exit) { t.Errorf("an exit: %v", e) }}); err != unix.ENOEXEC {
		t.Errorf("%v, want ENOEXEC", err)
	}
	p.Path = "/nosuch"
	if _, err := Start(p, Options{OnExit: func(e *Exit) { t.Errorf("an exit: %v", e) }}); err != unix.ENOENT {
		t.Errorf("%v, want ENOENT", err)
	}
}

// TestNested: the outer one sees what the inner one does not start.
func TestNested(t *testing.T) {
	var s seen
	r := run(t, s.options(nil), self(t), "role:nested", "/bin/true")
	if r.ws != 0 || r.output != ErrNested.Error()+"\n" {
		t.Errorf("%v", r)
	}
}

// TestDenied has a sandbox that does not know seccomp, or denies it.
func TestDenied(t *testing.T) {
	for errno, why := range map[string]string{"38": "function not implemented", "1": "operation not permitted", "22": "invalid argument"} {
		var s seen
		r := run(t, s.options(nil), "/usr/bin/env", self(t), "role:denied", errno, "/bin/true")
		if !strings.HasPrefix(r.output, ErrUnsupported.Error()+": seccomp: "+why) {
			t.Errorf("%s: %v", errno, r)
		}
	}
}

// TestOtherABI sees the exec of a 32-bit program by a 64-bit one, and leaves it as it is.
func TestOtherABI(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		testenv.Missing(t, "a 32-bit ABI")
	}
	path := testenv.Build{Source: testenv.Module("package main\n\nimport \"os\"\n\nfunc main() { println(\"32 bits\"); os.Exit(4) }\n"),
		Env: []string{"GOARCH=386", "CGO_ENABLED=0"}}.Do(t)
	if err := exec.Command(path).Run(); errors.Is(err, unix.ENOEXEC) {
		testenv.Missing(t, "a kernel that runs 32-bit programs: %v", err)
	}
	var h Heaps
	var exits []Exit
	r := run(t, Options{OnExec: h.OnExec, OnExit: func(e *Exit) { exits = append(exits, *e) }}, path)
	if c := h.Counts(); len(c) != 1 || c[0].NotGo || c[0].Changed != 0 || !strings.Contains(c[0].Why, "a Go program for 386") {
		t.Errorf("%+v", c)
	}
	if r.output != "32 bits\n" || r.ws.ExitStatus() != 4 || len(exits) != 1 || exits[0].Seen || !exits[0].Program.IsGo() {
		t.Errorf("%v, exits %+v", r, exits)
	}
}

// TestPrivilegedPrograms are not stopped, and run as they would: with the privileges of root's
// tree, without them in an ordinary user's.
func TestPrivilegedPrograms(t *testing.T) {
	testenv.Root(t, "to make programs that gain privileges")
	data, err := os.ReadFile(self(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Flags&unix.ST_NOSUID != 0 {
		testenv.Missing(t, "a file system with setuid programs (%v)", err)
	}
	plain := filepath.Join(dir, "plain")
	testenv.WriteProgram(t, plain, data)
	if err := os.Chmod(plain, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, why string
		change    func(path string) error
	}{
		{"setuid", "it is setuid (user 0, mode 4755)", func(p string) error { return os.Chmod(p, 0o755|os.ModeSetuid) }},
		{"capabilities", "it has file capabilities", func(p string) error {
			return unix.Setxattr(p, "security.capability", []byte{1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0)
		}},
	} {
		path := filepath.Join(dir, c.name)
		testenv.WriteProgram(t, path, data)
		if err := c.change(path); err != nil {
			t.Fatal(err)
		}
		var s seen
		why := ""
		r := run(t, s.options(func(e *Exec) bool {
			if strings.HasSuffix(e.Program.Path, c.name) {
				why = e.Program.Privileged
				return true
			}
			return false
		}), path, "role:heap")
		if why != c.why || r.output != "advised false tracer 0\n" || len(s.errs) != 1 || !strings.Contains(s.errs[0].Error(), c.why) {
			t.Errorf("%s: %q, %v, %v", c.name, why, r, s.errs)
		}
		// The same as an ordinary user: the tree is another process's.
		cmd := exec.Command(plain, "role:supervise", path, "role:status")
		cmd.Env = append(os.Environ(), isChild+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if text := string(out); err != nil || !strings.Contains(text, "Uid:\t65534\t65534\t") || !strings.Contains(text, "CapEff:\t0000000000000000") ||
			!strings.Contains(text, "NoNewPrivs:\t1") {
			t.Errorf("%s as an ordinary user: %v, %s", c.name, err, out)
		}
	}
	// Root's tree gives them to an ordinary user.
	path := filepath.Join(dir, "setuid")
	r := run(t, Options{OnExit: func(*Exit) {}}, "/usr/bin/setpriv", "--reuid", "65534", "--clear-groups", path, "role:status")
	if !strings.Contains(r.output, "Uid:\t65534\t0\t") {
		t.Errorf("an ordinary user in the tree of root: %v", r)
	}
}

// TestClose gives a tree up that goes on.
func TestClose(t *testing.T) {
	p, output := program(t, "/bin/sh", "-c", "read line; /bin/true && echo ok")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p.Files[0] = r
	var s seen
	tree := start(t, p, s.options(nil))
	tree.Close()
	if _, err := w.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	ws, _, err := tree.Wait()
	if err != nil || ws != 0 || output() != "ok\n" || len(s.execs) != 1 {
		t.Errorf("%v, %v, %q, %v", ws, err, output(), s.execs)
	}
}

// TestManyAtOnce has more processes that wait than there are workers.
func TestManyAtOnce(t *testing.T) {
	const n = 2 * maxWorkers
	var mu sync.Mutex
	waiting, exits := 0, 0
	r := run(t, Options{OnExit: func(*Exit) {
		mu.Lock()
		waiting++
		mu.Unlock()
		// Until so many wait as can, or all have come.
		for end := time.Now().Add(testenv.Patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
			mu.Lock()
			enough := waiting >= maxWorkers
			mu.Unlock()
			if enough {
				break
			}
		}
		mu.Lock()
		exits++
		mu.Unlock()
	}}, "/bin/sh", "-c", "i=0; while [ $i -lt "+strconv.Itoa(n)+" ]; do /bin/true & i=$((i+1)); done; wait")
	if r.ws != 0 || exits != n+1 {
		t.Errorf("%v, %d exits, want %d", r, exits, n+1)
	}
}

// What is found in a file holds for the trees that follow, until the file changes.
func TestFilesAreLookedAtOnce(t *testing.T) {
	data, err := os.ReadFile(self(t))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "program")
	of := func() (found *Program) {
		run(t, Options{OnExec: func(e *Exec) AtExec { found = e.Program; return nil }}, file, "role:heap")
		return found
	}
	testenv.WriteProgram(t, file, data)
	first := of()
	if again := of(); first == nil || again != first {
		t.Errorf("the same file, another program: %p, %p", first, again)
	}
	testenv.WriteProgram(t, file, data)
	if changed := of(); changed == nil || changed == first {
		t.Errorf("another file, the same program: %p", changed)
	}
}

// A file that has several names, as hard links are, is counted by that which was executed.
func TestHeapsByName(t *testing.T) {
	data, err := os.ReadFile(self(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	testenv.WriteProgram(t, one, data)
	if err := os.Link(one, two); err != nil {
		t.Fatal(err)
	}
	var h Heaps
	for _, path := range []string{one, two, two} {
		run(t, Options{OnExec: h.OnExec}, path, "role:heap")
	}
	want := []Heap{{Name: "two", Execs: 2, Changed: 2}, {Name: "one", Execs: 1, Changed: 1}}
	if got := h.Counts(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
