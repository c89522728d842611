package diagnose

import (
	"os/exec"
	"runtime"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// TestStripped: nothing is left unchecked of a program for want of debug information.
func TestStripped(t *testing.T) {
	path := testenv.Build{Source: testenv.MetricsSource(), Args: []string{"-ldflags=-s -w"}, Env: []string{"CGO_ENABLED=0"}}.Do(t)
	pid, ask := testenv.StartMetrics(t, path)
	r, err := goruntime.OpenState(procmem.FS{}, pid, runtime.Version())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	if live := ask()["/gc/heap/live"]; *s.Marked != live || *s.Percent != -1 {
		t.Errorf("%d marked, GOGC %d; the program says %d", *s.Marked, *s.Percent, live)
	}
	sleep := exec.Command("sleep", "100")
	if err := sleep.Start(); err != nil {
		testenv.Missing(t, "%v", err)
	}
	defer func() { _ = sleep.Process.Kill(); _ = sleep.Wait() }()
	if _, err := goruntime.OpenState(procmem.FS{}, sleep.Process.Pid, runtime.Version()); err == nil {
		t.Error("sleep has a Go runtime")
	}
}
