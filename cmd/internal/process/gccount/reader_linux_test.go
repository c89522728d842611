package gccount

import (
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// TestReader follows a program from its start, whose GC runs all the time: no cycle and no
// pause is lost, and in the end the sums are what the program says.
func TestReader(t *testing.T) {
	path := testenv.Build{Source: testenv.CyclesSource(), Args: []string{"-ldflags=-s -w"}, Env: []string{"CGO_ENABLED=0"}}.Do(t)
	for _, mode := range []string{"forced", "assist"} {
		t.Run(mode, func(t *testing.T) { follow(t, path, mode) })
	}
}

func follow(t *testing.T, path, mode string) {
	cmd := exec.Command(path, mode, "300")
	in, out := testenv.Start(t, cmd)
	defer func() { _ = cmd.Wait() }()
	defer in.Close()
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	said := make(chan error, 1)
	go func() { // it rests once it answers
		_, err := out.ReadString('\n')
		said <- err
	}()
	var programs goruntime.Programs
	var r *Reader
	testenv.Eventually(t, "its runtime can be read", func() bool {
		var err error
		r, err = Open(&programs, procmem.FS{}, cmd.Process.Pid, true)
		return err == nil
	})
	defer r.Close()
	first := r.Figures()
	next, pauses := uint32(first.Cycles)+1, time.Duration(0)
	torn, last := 0, false
	for !last {
		select {
		case err := <-said:
			if err != nil {
				t.Fatal(err)
			}
			last = true
		case <-time.After(time.Millisecond):
		}
		s, err := r.Read()
		if errors.Is(err, goruntime.ErrInconsistent) && !last {
			torn++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if s.Lost > 0 {
			t.Logf("%d pauses were lost: the machine is busy", s.Lost)
			next += uint32(s.Lost)
		}
		for _, c := range s.Cycles {
			if c.Cycle != next {
				t.Fatalf("cycle %d follows %d", c.Cycle, next-1)
			}
			if d := c.Detail; d != nil && (d.Number != c.Cycle || d.Start > c.At || d.End != c.At || d.HeapStart == 0) {
				t.Errorf("%+v of %+v", d, c)
			}
			pauses += c.Length
			next++
		}
	}
	f := r.Figures()
	if f.Cycles < 300 || uint32(f.Cycles) != next-1 || f.LostPauses == 0 && f.PauseTotal != pauses+first.PauseTotal {
		t.Errorf("%d cycles, the next is %d; pauses %v, in all %v and %v", f.Cycles, next, pauses, f.PauseTotal, first.PauseTotal)
	}
	g := r.Last()
	if uint64(g.Cycles) != f.Cycles || uint64(g.Forced) != f.Forced || g.PauseTotal != f.PauseTotal || plus(g.CPU, g.Unfinished) != f.CPU || g.Live != f.Live {
		t.Errorf("%+v", f)
	}
	if mode == "forced" && f.Forced != f.Cycles || mode == "assist" && (f.Forced != 0 || f.CPU.Assist == 0) {
		t.Errorf("%+v", f)
	}
	if f.HeapPeak < f.LivePeak || f.InUsePeak == 0 || f.MappedPeak < f.InUsePeak || f.GoalPeak < 4<<20 {
		t.Errorf("%+v", f)
	}
	t.Logf("%d readings, %d torn", f.Readings, torn)
}

// TestReaderEnds: of a process that was killed the last reading stays.
func TestReaderEnds(t *testing.T) {
	path := testenv.Build{Source: testenv.CyclesSource(), Env: []string{"CGO_ENABLED=0"}}.Do(t)
	cmd := exec.Command(path, "forced", "3")
	in, out := testenv.Start(t, cmd)
	defer in.Close()
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	r, err := Open(new(goruntime.Programs), procmem.FS{}, cmd.Process.Pid, true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if !strings.HasPrefix(r.Version(), "go1.") {
		t.Error(r.Version())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if _, err := r.Read(); !errors.Is(err, goruntime.ErrGone) || r.Figures().Cycles != 3 || r.Figures().Forced != 3 {
		t.Errorf("%v, %+v", err, r.Figures())
	}
}

func TestReaderNotGo(t *testing.T) {
	cmd := exec.Command("sleep", "100")
	if err := cmd.Start(); err != nil {
		testenv.Missing(t, "%v", err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	testenv.Eventually(t, "sleep is known not to be Go", func() bool { // after its exec
		_, err := Open(new(goruntime.Programs), procmem.FS{}, cmd.Process.Pid, true)
		return errors.Is(err, executable.ErrNotGo)
	})
}
