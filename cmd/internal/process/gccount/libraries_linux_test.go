package gccount

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// TestLibraries counts the GC cycles of two Go libraries in one process: their sum, from the
// start or from the first reading.
func TestLibraries(t *testing.T) {
	libs := []string{testenv.Library(t, "liba.so"), testenv.Library(t, "libb.so")}
	h := testenv.StartHost(t, append([]string{testenv.HostProgram(t)}, libs...)...)
	total := func() (n uint64) { return h.Do(0, "stats").Cycles + h.Do(1, "stats").Cycles }
	h.Do(0, "collect")
	before := total()
	var programs goruntime.Programs
	open := func(born bool) *Reader {
		r, err := Open(&programs, procmem.FS{}, h.PID, born)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		return r
	}
	born, late := open(true), open(false)
	h.Do(0, "collect")
	for range 4 {
		h.Do(1, "collect")
	}
	read := func(r *Reader) Step {
		t.Helper()
		s, err := r.Read()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	now := total()
	s := read(born)
	if n := uint64(len(s.Cycles)) + s.Lost; n != now-before || s.Forced != now-before {
		t.Errorf("the step has %d cycles, %d forced; want %d", n, s.Forced, now-before)
	}
	read(late)
	if f := born.Figures(); f.Cycles != now || f.Forced != now {
		t.Errorf("from the start: %+v, want %d cycles", f, now)
	}
	if f := late.Figures(); f.Cycles != 5 || f.Forced != 5 {
		t.Errorf("from then on: %+v, want 5 cycles", f)
	}
	if err := born.Unread(); err != nil {
		t.Error(err)
	}
	born.Restart()
	if f := born.Figures(); f.Cycles != 0 {
		t.Errorf("restarted: %+v", f)
	}
}

// TestNoLibrary finds no runtime in a program of C.
func TestNoLibrary(t *testing.T) {
	cmd := exec.Command(testenv.HostProgram(t))
	in, out := testenv.Start(t, cmd)
	defer func() { _ = cmd.Wait() }()
	defer in.Close()
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if r, err := Open(new(goruntime.Programs), procmem.FS{}, cmd.Process.Pid, true); !errors.Is(err, executable.ErrNotGo) {
		t.Errorf("%v, %v", r, err)
	}
}
