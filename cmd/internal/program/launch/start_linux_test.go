//go:build linux && (amd64 || arm64)

package launch

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/spawn"
	"github.com/foliomem/folio/internal/test/testenv"
)

// shared holds what the tests build once, where any user can run it.
var shared struct {
	once      sync.Once
	dir, self string
	err       error
}

// self returns the path of a copy of the test binary that every user can run.
func self(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() {
		path, err := os.Executable()
		if err == nil {
			shared.dir, err = os.MkdirTemp("", "folio-launch-")
		}
		var data []byte
		if err == nil {
			data, err = os.ReadFile(path)
		}
		shared.self = filepath.Join(shared.dir, "prog")
		shared.err = errors.Join(err, os.WriteFile(shared.self, data, 0o755), os.Chmod(shared.dir, 0o755))
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.self
}

// result is how a command ended.
type result struct {
	stdout, stderr string
	err            error
}

func (r result) code() int {
	var e *exec.ExitError
	if errors.As(r.err, &e) {
		return e.ExitCode()
	}
	if r.err != nil {
		return -2
	}
	return 0
}

func (r result) String() string {
	return fmt.Sprintf("%v\nstdout: %s\nstderr: %s", r.err, r.stdout, r.stderr)
}

// run runs a command of the test binary; change may be nil.
func run(t testing.TB, change func(*exec.Cmd), args ...string) result {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), isChild+"=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if change != nil {
		change(cmd)
	}
	err := cmd.Run()
	return result{out.String(), errs.String(), err}
}

// launched is a command line that launches the test binary in a role.
func launched(t testing.TB, role ...string) []string {
	t.Helper()
	return append([]string{self(t), "role:launch", self(t)}, role...)
}

// after is a command line that first sets things up.
func after(t testing.TB, conditions string, command ...string) []string {
	t.Helper()
	args := append([]string{self(t), "role:before"}, strings.Fields(conditions)...)
	return append(append(args, "--"), command...)
}

func asNobody(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}

func needRoot(t *testing.T) {
	t.Helper()
	testenv.Root(t, "to change what a program may do")
}

// patched checks that the program ran, with its heap asking for huge pages.
func patched(t *testing.T, r result) {
	t.Helper()
	var sum, advised int
	if _, err := fmt.Sscanf(r.stdout, "sum %d advised %d", &sum, &advised); err != nil || r.err != nil || r.stderr != "" {
		t.Fatalf("%v", r)
	}
	if advised < 32<<20 {
		t.Errorf("%d bytes ask for huge pages, want the heap: %v", advised, r)
	}
}

// asItIs checks that the program ran without the patch, and that one line says
// why.
func asItIs(t *testing.T, r result, why string) {
	t.Helper()
	var sum, advised int
	if _, err := fmt.Sscanf(r.stdout, "sum %d advised %d", &sum, &advised); err != nil || r.err != nil {
		t.Fatalf("%v", r)
	}
	if advised >= 4<<20 {
		t.Errorf("%d bytes ask for huge pages", advised)
	}
	if strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, why) {
		t.Errorf("stderr %q, want a line with %q", r.stderr, why)
	}
}

// startChild runs a program as a child that is patched at its exec.
func startChild(t *testing.T, p *Program, argv ...string) (r result, err error) {
	t.Helper()
	rd, wr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	proc, err := (&spawn.Program{
		Path: p.Path, Argv: argv, Env: append(os.Environ(), isChild+"=1"), Files: [3]*os.File{os.Stdin, wr, wr}, AtExec: p.Apply,
	}).Prepare()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := proc.Start()
	wr.Close()
	if err != nil {
		return r, err
	}
	var out bytes.Buffer
	if _, err := out.ReadFrom(rd); err != nil {
		t.Fatal(err)
	}
	var ws unix.WaitStatus
	if _, err := unix.Wait4(pid, &ws, 0, nil); err != nil {
		t.Fatal(err)
	}
	if ws.ExitStatus() != 0 {
		r.err = fmt.Errorf("%v", ws)
	}
	r.stdout = out.String()
	return r, nil
}

// ended waits for a command, but not forever.
func ended(t *testing.T, cmd *exec.Cmd) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case <-time.After(testenv.Patience):
		state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		_ = cmd.Process.Kill()
		t.Fatalf("process %d does not end:\n%s", cmd.Process.Pid, state)
	}
	return nil
}
