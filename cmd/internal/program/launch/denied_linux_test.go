//go:build linux && (amd64 || arm64)

package launch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/test/testenv"
)

func TestPtraceDenied(t *testing.T) {
	denied := "seccomp=" + strconv.Itoa(unix.SYS_PTRACE)
	asItIs(t, run(t, nil, after(t, denied, launched(t, "role:sum", "32")...)...),
		"ptrace: operation not permitted: a seccomp filter may deny it")
	r := run(t, nil, after(t, denied, self(t), "role:launch", "strict", self(t), "role:sum", "32")...)
	if r.code() != 126 || r.stdout != "" || !strings.Contains(r.stderr, "ptrace: operation not permitted") {
		t.Errorf("strict: %v", r)
	}
}

// TestWaitDenied: the program would not be able to wait for the helper.
func TestWaitDenied(t *testing.T) {
	asItIs(t, run(t, nil, after(t, "seccomp="+strconv.Itoa(unix.SYS_WAITID), launched(t, "role:sum", "32")...)...), "waitid is denied")
}

func TestNotDumpable(t *testing.T) {
	needRoot(t)
	// A program that its user cannot read is not dumpable.
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self(t))
	if err != nil {
		t.Fatal(err)
	}
	launcher := dir + "/unreadable"
	if err := os.WriteFile(launcher, data, 0o711); err != nil {
		t.Fatal(err)
	}
	r := run(t, asNobody, launcher, "role:launch", self(t), "role:sum", "32")
	// The launcher cannot read itself either.
	if r.code() != 98 && !strings.Contains(r.stderr, "may not be traced") {
		t.Error(r)
	}
}

func TestNoMoreProcesses(t *testing.T) {
	// The helper is a child without flags, threads have some.
	denied := fmt.Sprintf("seccomp=%d,0", unix.SYS_CLONE)
	asItIs(t, run(t, nil, after(t, denied, launched(t, "role:sum", "32")...)...),
		"a helper process cannot be started: operation not permitted")
}

// TestFewProcesses has room for some threads and then for no helper. The Go
// runtime ends a program for which it finds no thread, with a launcher or without.
func TestFewProcesses(t *testing.T) {
	needRoot(t)
	for n := 2; n < 14; n++ {
		command := after(t, fmt.Sprintf("nproc=%d", n), launched(t, "role:sum", "32")...)
		r := run(t, func(cmd *exec.Cmd) {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}}
		}, command...)
		switch {
		case noThread(r.stderr):
		case r.stderr == "":
			patched(t, r)
		default:
			asItIs(t, r, "a helper process cannot be started: resource temporarily unavailable")
		}
	}
}

// noThread recognizes what the Go runtime says when it ends without a
// thread; with cgo it is libc that was asked for one.
func noThread(stderr string) bool {
	return strings.Contains(stderr, "failed to create new OS thread") ||
		strings.Contains(stderr, "runtime/cgo: pthread_create failed: Resource temporarily unavailable")
}

// TestAlreadyTraced runs the launcher under a tracer of its own.
func TestAlreadyTraced(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	pid, err := syscall.ForkExec(self(t), launched(t, "role:sum", "32"), &syscall.ProcAttr{
		Env: append(os.Environ(), isChild+"=1"), Files: []uintptr{0, out.Fd(), out.Fd()}, Sys: &syscall.SysProcAttr{Ptrace: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	var ws unix.WaitStatus
	for {
		if _, err := unix.Wait4(pid, &ws, unix.WALL, nil); err != nil {
			t.Fatal(err)
		}
		if !ws.Stopped() {
			break
		}
		signal := ws.StopSignal()
		if signal == unix.SIGTRAP {
			signal = 0
		}
		if err := unix.PtraceCont(pid, int(signal)); err != nil {
			t.Fatal(err)
		}
	}
	data, _ := os.ReadFile(out.Name())
	says := fmt.Sprintf("process %d traces it already", os.Getpid())
	if ws.ExitStatus() != 0 || !strings.Contains(string(data), says) &&
		!strings.Contains(string(data), "traces it already") || !strings.Contains(string(data), "sum ") {
		t.Errorf("%v: %s", ws, data)
	}
}

func TestOtherPrograms(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho it ran \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, why string }{
		{script, "a script for \"/bin/sh\""},
		{"/bin/echo", "not a Go program"},
	} {
		r := run(t, nil, self(t), "role:launch", c.path, "it ran", "well")
		if r.err != nil || !strings.HasPrefix(r.stdout, "it ran") || !strings.Contains(r.stderr, c.why) {
			t.Errorf("%s: %v", c.path, r)
		}
		r = run(t, nil, self(t), "role:launch", "strict", c.path)
		if r.code() != 126 || r.stdout != "" {
			t.Errorf("%s, strict: %v", c.path, r)
		}
	}
}

// TestPrivilegedProgramsAreNotTraced: they get their privileges. The kernel
// would take them away silently if an unprivileged process traced the exec.
func TestPrivilegedProgramsAreNotTraced(t *testing.T) {
	needRoot(t)
	data, err := os.ReadFile(self(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, why, status string
		change            func(path string) error
	}{
		{"setuid", "it is setuid", "Uid:\t65534\t0\t0\t0", func(p string) error { return os.Chmod(p, 0o755|os.ModeSetuid) }},
		{"setgid", "it is setgid", "Gid:\t65534\t0\t0\t0", func(p string) error { return os.Chmod(p, 0o755|os.ModeSetgid) }},
		{"capabilities", "it has file capabilities", "CapEff:\t0000000000000400", func(p string) error {
			return unix.Setxattr(p, "security.capability", []byte{1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(filepath.Dir(self(t)), c.name)
			if err := os.WriteFile(path, data, 0o755); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(path)
			if err := c.change(path); err != nil {
				t.Fatal(err)
			}
			var st unix.Statfs_t
			if err := unix.Statfs(path, &st); err != nil || st.Flags&unix.ST_NOSUID != 0 {
				testenv.Missing(t, "a file system with setuid programs (%v)", err)
			}
			r := run(t, asNobody, self(t), "role:launch", path, "role:status")
			if r.err != nil || !strings.Contains(r.stdout, c.status) || !strings.Contains(r.stderr, c.why) {
				t.Errorf("want %q and %q: %v", c.status, c.why, r)
			}
			// Where the bits mean nothing, it is a program like any other.
			r = run(t, asNobody, after(t, "nnp=1", self(t), "role:launch", path, "role:sum", "32")...)
			patched(t, r)
			// The same of root is not asked for: it may not be traced either.
			r = run(t, nil, self(t), "role:launch", "strict", path, "role:status")
			if r.code() != 126 || !strings.Contains(r.stderr, c.why) {
				t.Errorf("strict: %v", r)
			}
		})
	}
}

// TestRootThatDroppedCapabilities gets them back at an exec; traced by one who
// may not trace everything, it would not.
func TestRootThatDroppedCapabilities(t *testing.T) {
	needRoot(t)
	r := run(t, nil, self(t), "role:launch", "drop", self(t), "role:status")
	caps := map[string]string{}
	for line := range strings.Lines(r.stdout) {
		key, value, _ := strings.Cut(line, ":")
		caps[key] = strings.TrimSpace(value)
	}
	if r.err != nil || caps["CapPrm"] == "" || caps["CapPrm"] != caps["CapBnd"] ||
		!strings.Contains(r.stderr, "fewer capabilities than root gets") {
		t.Errorf("%v", r)
	}
	// With no_new_privs nobody gets them, and nothing is lost.
	r = run(t, nil, after(t, "nnp=1", self(t), "role:launch", "drop", self(t), "role:sum", "32")...)
	patched(t, r)
}

func TestCredentialsThatChange(t *testing.T) {
	for _, c := range []struct {
		c    credentials
		want string
	}{
		{credentials{}, ""},
		{credentials{permitted: 7, bounding: 7}, ""},
		{credentials{permitted: 3, bounding: 7}, "fewer capabilities"},
		{credentials{permitted: 3, bounding: 3, inheritable: 4}, "fewer capabilities"},
		{credentials{permitted: 3, bounding: 7, noRoot: true}, ""},
		{credentials{uids: [4]int{5, 5, 5, 5}, bounding: 7}, ""},
		{credentials{uids: [4]int{5, 0, 0, 0}}, "another effective"},
		{credentials{uids: [4]int{5, 5, 5, 5}, gids: [4]int{5, 6, 6, 6}}, "another effective"},
	} {
		if got := c.c.change(); got != c.want && (c.want == "" || !strings.Contains(got, c.want)) {
			t.Errorf("%+v: %q, want %q", c.c, got, c.want)
		}
	}
}
