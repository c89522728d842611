package testenv

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var (
	//go:embed testdata/library/main.go
	libraryMain string
	//go:embed testdata/library/host.txt
	hostC string
	//go:embed testdata/library/host.py
	hostPython string
)

// CC skips the test without a C compiler.
func CC(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"gcc", "cc"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Missing(t, "no C compiler")
	return ""
}

// Python skips the test without Python and its package ctypes.
func Python(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err == nil {
		err = exec.Command(path, "-c", "import ctypes").Run()
	}
	if err != nil {
		Missing(t, "python3 with ctypes: %v", err)
	}
	return path
}

// Library builds a Go library that programs in C load, with further arguments of go build,
// and returns its file. It does what [Host.Do] asks for: see its source.
func Library(t testing.TB, name string, args ...string) string {
	t.Helper()
	CC(t)
	return Build{Source: map[string]string{"main.go": libraryMain, "go.mod": "module example.test/" + strings.TrimSuffix(name, ".so") + "\n\ngo 1.22\n"},
		Args: append([]string{"-buildmode=c-shared"}, args...), Env: []string{"CGO_ENABLED=1"}, Output: filepath.Join(t.TempDir(), name)}.Do(t)
}

// HostProgram builds a program in C that loads the libraries of its arguments.
func HostProgram(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	source, out := filepath.Join(dir, "host.c"), filepath.Join(dir, "host")
	if err := os.WriteFile(source, []byte(hostC), 0o644); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command(CC(t), "-o", out, source, "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// PythonHost is a program in Python that does what [HostProgram] does: the first arguments of
// a command.
func PythonHost(t testing.TB) []string {
	t.Helper()
	python, out := Python(t), filepath.Join(t.TempDir(), "host.py")
	if err := os.WriteFile(out, []byte(hostPython), 0o644); err != nil {
		t.Fatal(err)
	}
	return []string{python, out}
}

// A Host is a process with libraries.
type Host struct {
	PID int
	t   testing.TB
	in  io.WriteCloser
	out *bufio.Reader
}

// LibraryStats is what package runtime says in a library.
type LibraryStats struct {
	Cycles, HeapAlloc, HeapInUse uint64
	Goroutines                   int
}

// StartHost starts a program that loads libraries, and waits until it has. It ends with the
// test.
func StartHost(t testing.TB, command ...string) *Host {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	in, out := Start(t, cmd)
	h := &Host{PID: cmd.Process.Pid, t: t, in: in, out: out}
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Errorf("%q: %v", command, err)
		}
	})
	if line := h.line(); line != "ready" {
		t.Fatalf("%q: %q", command, line)
	}
	return h
}

func (h *Host) line() string {
	h.t.Helper()
	line, err := h.out.ReadString('\n')
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// Ask has a library run a command, and returns its answer.
func (h *Host) Ask(library int, command string) string {
	h.t.Helper()
	if _, err := fmt.Fprintln(h.in, library, command); err != nil {
		h.t.Fatal(err)
	}
	return h.line()
}

// Do has a library run a command, and returns its statistics afterwards.
func (h *Host) Do(library int, command string) (s LibraryStats) {
	h.t.Helper()
	if _, err := fmt.Sscan(h.Ask(library, command), &s.Cycles, &s.HeapAlloc, &s.HeapInUse, &s.Goroutines); err != nil {
		h.t.Fatal(err)
	}
	return s
}
