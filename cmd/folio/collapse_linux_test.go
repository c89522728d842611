package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// cmdPID waits until a file has the id of a process, and sets a variable to it.
func cmdPID(ts *testscript.TestScript, neg bool, args []string) {
	scriptUsage(ts, neg, args, 2, "pid VARIABLE file")
	pid := ""
	if !testenv.Within(func() bool {
		data, err := os.ReadFile(ts.MkAbs(args[1]))
		pid = strings.TrimSuffix(string(data), "\n")
		return err == nil && pid != string(data)
	}) {
		ts.Fatalf("nobody wrote %s", args[1])
	}
	ts.Setenv(args[0], pid)
}

// sleeper is a program with a heap of 64 MiB, unless flags of gcprog say otherwise.
func sleeper(t *testing.T, uid uint32, flags ...string) (pid int) {
	t.Helper()
	cmd := exec.Command("gcprog", append([]string{"-alloc", "64", "-sleep", "1h", "-pidfile", "/dev/stdout"}, flags...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), raceEnv}
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid, NoSetGroups: true}}
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := out.Read(make([]byte, 64)); err != nil { // it has its memory
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func needCollapse(t *testing.T) {
	t.Helper()
	if err := trial.MayCollapse(); err != nil {
		testenv.Missing(t, "%v", err)
	}
}

// begun waits until a part of a process is on huge pages.
func begun(t *testing.T, pid int) {
	t.Helper()
	if !testenv.Within(func() bool {
		s, err := procmem.New("").SmapsRollup(pid)
		return err == nil && s.AnonHugePages != nil && *s.AnonHugePages > 0
	}) {
		t.Fatal("nothing was collapsed")
	}
}

// An interrupt half-way: what was done is said.
func TestCollapseInterrupted(t *testing.T) {
	t.Parallel()
	needCollapse(t)
	pid := sleeper(t, 0)
	c := newChild(t, "collapse", "--max-rate", "4MiB", strconv.Itoa(pid))
	c.start()
	begun(t, pid)
	c.signal(unix.SIGINT)
	c.end(exitInterrupted)
	if out := c.stdout.String(); !strings.Contains(out, "not reached: interrupted") || !strings.Contains(out, " put on huge pages, in ") {
		t.Errorf("%s", out)
	}
	if c.stderr.Len() > 0 {
		t.Errorf("on standard error: %s", &c.stderr)
	}
}

// With --watch that is how it ends, and so is the end of the program.
func TestCollapseWatch(t *testing.T) {
	t.Parallel()
	needCollapse(t)
	pid := sleeper(t, 0)
	c := newChild(t, "collapse", "--max-rate", "off", "--watch=10ms", strconv.Itoa(pid))
	c.start()
	begun(t, pid)
	c.signal(unix.SIGTERM)
	c.end(exitOK)
	if out := c.stdout.String(); !strings.Contains(out, " put on huge pages, in ") {
		t.Errorf("%s", out)
	}
	pid = sleeper(t, 0)
	c = newChild(t, "collapse", "--max-rate", "off", "--watch=10ms", strconv.Itoa(pid))
	c.start()
	begun(t, pid)
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.end(exitOK)
}

// The program ends half-way: one line, and what was done.
func TestCollapseTargetEnds(t *testing.T) {
	t.Parallel()
	needCollapse(t)
	pid := sleeper(t, 0)
	c := newChild(t, "collapse", "--max-rate", "4MiB", strconv.Itoa(pid))
	c.start()
	begun(t, pid)
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.end(exitFailure)
	if want := "folio: collapse process " + strconv.Itoa(pid) + ": the process has ended\n"; c.stderr.String() != want {
		t.Errorf("%q, want %q", &c.stderr, want)
	}
	if out := c.stdout.String(); !strings.Contains(out, "not reached: the process ended") {
		t.Errorf("%s", out)
	}
}

// nobody is a user that owns nothing.
const nobody = 65534

// asNobody runs folio as another user, through a link that needs no right to the
// directory.
func asNobody(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	c := byNobody(t, args...)
	c.start()
	_ = c.cmd.Wait()
	return c.stdout.String(), c.stderr.String(), c.cmd.ProcessState.ExitCode()
}

// byNobody is a child of another user, to be started.
func byNobody(t *testing.T, args ...string) *child {
	t.Helper()
	c := newChild(t, args...)
	c.cmd.Path, c.cmd.Dir = "/proc/self/exe", "/"
	c.cmd.Args[0] = "folio"
	c.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody, NoSetGroups: true}
	return c
}

func TestCollapseUnprivileged(t *testing.T) {
	t.Parallel()
	needCollapse(t)
	testenv.Root(t, "to become somebody else")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pid := strconv.Itoa(sleeper(t, 0))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"collapse", pid}, "CAP_SYS_PTRACE"},
		{[]string{"run", "--thp", "collapse", "--", self}, "--thp collapse: operation not permitted: needs CAP_SYS_NICE"},
	} {
		stdout, stderr, code := asNobody(t, c.args...)
		if code != exitFailure || stdout != "" || strings.Count(stderr, "\n") != 1 ||
			!strings.HasPrefix(stderr, "folio: ") || !strings.Contains(stderr, c.want) || !strings.Contains(stderr, "setcap") {
			t.Errorf("%s: code %d, %q, %q", c.args[0], code, stdout, stderr)
		}
	}
	if stdout, stderr, code := asNobody(t, "inspect"); code != exitOK || stderr != "" || !strings.Contains(stdout, "not read: ") {
		t.Errorf("inspect: code %d, %q, %q", code, stdout, stderr)
	}
}

// folio inspect --watch ends with the process.
func TestInspectWatch(t *testing.T) {
	t.Parallel()
	pid := sleeper(t, 0)
	c := newChild(t, "inspect", "--watch=10ms", "--json", "f.json", strconv.Itoa(pid))
	c.start()
	if !testenv.Within(func() bool { _, err := os.Stat(c.path("f.json")); return err == nil }) {
		t.Error("no file")
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.end(exitOK)
	if want := "process " + strconv.Itoa(pid) + " has ended\n"; c.stderr.String() != want {
		t.Errorf("%q, want %q", &c.stderr, want)
	}
}
