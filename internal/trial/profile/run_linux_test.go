package profile

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/program/symbol"
	"github.com/foliomem/folio/internal/system/perf"
	"github.com/foliomem/folio/internal/test/testenv"
)

// build builds the program of testdata with a toolchain, "" for this one.
func build(t *testing.T, toolchain string, args ...string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", append(append([]string{"build", "-o", bin}, args...), "testdata/program/main.go")...)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if toolchain != "" {
		// A file outside of this module: its go.mod wants a later version.
		dir := t.TempDir()
		src, err := os.ReadFile("testdata/program/main.go")
		if err != nil {
			t.Fatal(err)
		}
		// Old versions know neither.
		src = bytes.ReplaceAll(src, []byte("clear(bytes)"), []byte("for i := range bytes {\n\tbytes[i] = 0\n}"))
		old := string(src)
		for _, n := range []string{"200_000", "2_000_000", "uint64(20_000_000)", "50_000"} {
			old = strings.ReplaceAll(old, "for range "+n+" {", "for i := 0; i < "+n+"; i++ {")
			old = strings.ReplaceAll(old, "for i := range "+n+" {", "for i := "+zeroOf(n)+"; i < "+n+"; i++ {")
		}
		for name, text := range map[string]string{"main.go": old, "go.mod": "module program\n\ngo 1.18\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd = exec.Command("go", append(append([]string{"build", "-o", bin}, args...), "main.go")...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOTOOLCHAIN="+toolchain, "PWD="+dir)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		if toolchain != "" {
			testenv.Missing(t, "toolchain %s: %v\n%s", toolchain, err, out)
		}
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

func zeroOf(n string) string {
	if strings.HasPrefix(n, "uint64") {
		return "uint64(0)"
	}
	return "0"
}

// collect samples a run of a program and returns the collector and its result.
func collect(t *testing.T, opts *Options, cfg perf.Config, name string, args ...string) (*Collector, *Result) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s, err := perf.OpenThread(unix.Gettid(), cfg)
	if err != nil {
		testenv.Missing(t, "%v", err)
	}
	defer s.Close()
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	c := New(opts)
	t.Cleanup(c.Close)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for running := true; running; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			running = false
		case <-time.After(10 * time.Millisecond):
		}
		if err := s.Drain(c.Handler()); err != nil {
			t.Fatal(err)
		}
	}
	state := cmd.ProcessState
	return c, c.Result(AccountsOf(s, state.UserTime().Seconds(), state.SystemTime().Seconds()))
}

// kernelNames returns options with the kernel's symbols, or without if they are
// hidden from us.
func kernelNames(t *testing.T) *Options {
	t.Helper()
	k, err := symbol.Kernel()
	if err != nil {
		t.Logf("without names of the kernel: %v", err)
	}
	return &Options{KernelSymbols: k}
}
