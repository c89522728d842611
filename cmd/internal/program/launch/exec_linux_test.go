//go:build linux && (amd64 || arm64)

package launch

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/test/testenv"
)

func TestExecPatchesTheProgram(t *testing.T) {
	patched(t, run(t, nil, launched(t, "role:sum", "32")...))
}

func TestExecAsAnotherUser(t *testing.T) {
	needRoot(t)
	patched(t, run(t, asNobody, launched(t, "role:sum", "32")...))
}

func TestExecWithoutPrivileges(t *testing.T) {
	patched(t, run(t, nil, after(t, "nnp=1", launched(t, "role:sum", "32")...)...))
}

// TestNothingIsLeft looks for a helper that the program would have as a child.
func TestNothingIsLeft(t *testing.T) {
	for range 20 {
		r := run(t, nil, launched(t, "role:children")...)
		if r.err != nil || !strings.HasPrefix(r.stdout, "children: no child processes; ") ||
			!strings.HasSuffix(r.stdout, "tracer 0\n") || r.stderr != "" {
			t.Fatal(r)
		}
	}
}

// TestFirstOfItsNamespace: to the first process of a PID namespace all orphans
// come back.
func TestFirstOfItsNamespace(t *testing.T) {
	if _, err := exec.LookPath("unshare"); err != nil {
		testenv.Missing(t, "unshare")
	}
	for _, c := range [][]string{{"--pid", "--fork", "--mount-proc"}, {"--pid", "--fork"}} {
		unshare := append([]string{"unshare"}, c...)
		if os.Geteuid() != 0 {
			unshare = append(unshare, "--user", "--map-root-user")
		}
		if r := run(t, nil, append(unshare, "true")...); r.err != nil {
			testenv.Missing(t, "a PID namespace: %v", r)
		}
		r := run(t, nil, append(unshare, launched(t, "role:children")...)...)
		if r.err != nil || !strings.HasPrefix(r.stdout, "children: no child processes; pid 1;") {
			t.Errorf("%q: %v", c, r)
		}
		if len(c) == 3 {
			patched(t, run(t, nil, append(unshare, launched(t, "role:sum", "32")...)...))
		}
	}
}

// TestReplacedBetweenCheckAndExec executes another file than the one that was
// checked.
func TestReplacedBetweenCheckAndExec(t *testing.T) {
	data, err := os.ReadFile(self(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "prog")
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := Prepare(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	r, err := startChild(t, p, path, "role:sum", "32")
	if err == nil || !strings.Contains(err.Error(), "another file was executed") {
		t.Errorf("%v: %v", err, r)
	}
}

func TestChild(t *testing.T) {
	p, err := Prepare(self(t))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		r, err := startChild(t, p, self(t), "role:sum", "32")
		if err != nil {
			t.Fatal(err)
		}
		patched(t, r)
	}
}

// TestFailedExec says what is wrong, and leaves no helper.
func TestFailedExec(t *testing.T) {
	data, err := os.ReadFile(self(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "busy")
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{self(t), "role:launch", path, "role:sum", "32"}, "launch: text file busy"},
		{launched(t, "role:sum", "32", longArgument), "launch: argument list too long"},
	} {
		r := run(t, nil, c.args...)
		if r.code() != 126 || r.stdout != "" || !strings.Contains(r.stderr, c.says) ||
			!strings.Contains(r.stderr, "children: no child processes") {
			t.Errorf("want %q: %v", c.says, r)
		}
	}
}

func TestManyArguments(t *testing.T) {
	args := launched(t, "role:sum", "32")
	for range 15 {
		args = append(args, strings.Repeat("y", 100<<10))
	}
	patched(t, run(t, nil, args...))
}

// TestHeapOnHugePages checks what it is all for, by exact counts.
func TestHeapOnHugePages(t *testing.T) {
	const mib = 256
	state, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || bytes.Contains(state, []byte("[never]")) {
		testenv.Missing(t, "transparent huge pages (%s, %v)", state, err)
	}
	report := func(args ...string) (r heapReport) {
		t.Helper()
		out := run(t, nil, args...)
		if err := json.Unmarshal([]byte(out.stdout), &r); err != nil || out.err != nil {
			t.Fatalf("%v: %v", err, out)
		}
		return r
	}
	size := strconv.Itoa(mib)
	plain, huge := report(self(t), "role:heap", size), report(launched(t, "role:heap", size)...)
	off := report(after(t, "thp=1", launched(t, "role:heap", size)...)...)
	t.Logf("plain %+v\nhuge %+v\noff %+v", plain, huge, off)
	if huge.AnonHuge < mib<<20*9/10 {
		t.Errorf("%d MiB of %d are on huge pages, want 90%%", huge.AnonHuge>>20, mib)
	}
	// Stacks are of the heap, too.
	if huge.Advised < mib<<20 || huge.Advised > huge.HeapSys+8<<20 {
		t.Errorf("%d bytes ask for huge pages; the heap has %d, %d of it in use", huge.Advised, huge.HeapSys, mib<<20)
	}
	if len(huge.Outside) > 0 {
		t.Errorf("these are not the heap and ask for huge pages: %q", huge.Outside)
	}
	if bytes.Contains(state, []byte("[madvise]")) {
		if plain.Advised > 0 || plain.AnonHuge > 16<<20 || plain.Faults < mib<<20/4096 {
			t.Errorf("the program as it is: %+v", plain)
		}
		if !testenv.Race && huge.Faults*20 > plain.Faults { // the race detector has memory of its own
			t.Errorf("%d faults, as it is %d: want a twentieth", huge.Faults, plain.Faults)
		}
	}
	if off.AnonHuge != 0 || off.Faults < mib<<20/4096 {
		t.Errorf("with huge pages turned off for it: %+v", off)
	}
}

// TestSignalsWhileLaunching sends signals at all moments of a launch, to the
// process and, as a terminal does, to its group, which the helper is in.
func TestSignalsWhileLaunching(t *testing.T) {
	delays := testenv.Some(15, 30)
	for i := range delays {
		delay := time.Duration(i) * 21 * time.Millisecond / time.Duration(delays)
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGSTOP, syscall.SIGTSTP} {
			for _, group := range []bool{false, true} {
				signaled(t, s, delay, group)
			}
		}
	}
}

func signaled(t *testing.T, s syscall.Signal, delay time.Duration, group bool) {
	t.Helper()
	cmd := exec.Command(self(t), launched(t, "role:sum", "32")[1:]...)
	cmd.Env = append(os.Environ(), isChild+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	to := cmd.Process.Pid
	if group {
		to = -to
	}
	time.Sleep(delay)
	_ = syscall.Kill(to, s)
	if s == syscall.SIGSTOP || s == syscall.SIGTSTP {
		time.Sleep(2 * time.Millisecond)
		_ = syscall.Kill(to, syscall.SIGCONT)
	}
	err := ended(t, cmd)
	ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case err == nil && strings.HasPrefix(out.String(), "sum "):
	case ws.Signaled() && ws.Signal() == s: // by default, as without the launcher
	default:
		t.Errorf("%v after %v, to the group %v: %v: %s", s, delay, group, err, out.String())
	}
}
