package profile

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/system/perf"
	"github.com/foliomem/folio/internal/test/testenv"
)

// build builds the program of testdata with a toolchain, "" for this one.
func build(t *testing.T, toolchain string, args ...string) string {
	t.Helper()
	if toolchain == "" {
		return testenv.Build{Dir: "testdata/program", Args: args}.Do(t)
	}
	src, err := os.ReadFile("testdata/program/main.go")
	if err != nil {
		t.Fatal(err)
	}
	// Old versions know neither.
	old := strings.ReplaceAll(string(src), "clear(bytes)", "for i := range bytes {\n\tbytes[i] = 0\n}")
	for _, n := range []string{"200_000", "2_000_000", "uint64(20_000_000)", "50_000"} {
		old = strings.ReplaceAll(old, "for range "+n+" {", "for i := 0; i < "+n+"; i++ {")
		old = strings.ReplaceAll(old, "for i := range "+n+" {", "for i := "+zeroOf(n)+"; i < "+n+"; i++ {")
	}
	bin, err := testenv.Build{Source: testenv.Module(old), Args: args, Env: []string{"GOTOOLCHAIN=" + toolchain}}.Try(t)
	if err != nil {
		testenv.Missing(t, "toolchain %s: %v", toolchain, err)
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
