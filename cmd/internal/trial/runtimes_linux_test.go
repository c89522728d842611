package trial

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// collecting is a process that completes a GC cycle whenever it is asked to.
type collecting struct {
	pid     int
	collect func()
	cycles  int           // so far
	paused  time.Duration // as it says, in all
	end     func()
}

func startCollecting(t *testing.T) *collecting {
	t.Helper()
	cmd := roleCmd("cycles")
	in, out := testenv.Start(t, cmd)
	c := &collecting{pid: cmd.Process.Pid, end: func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}}
	t.Cleanup(c.end)
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	c.collect = func() {
		t.Helper()
		if _, err := io.WriteString(in, "\n"); err != nil {
			t.Fatal(err)
		}
		line, err := out.ReadString('\n')
		if err == nil {
			_, err = fmt.Sscanf(line, "collected %d %d\n", &c.cycles, &c.paused)
		}
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
	c.collect()
	mem, err := os.Open(procmem.New("").MemPath(c.pid))
	if err != nil {
		testenv.Missing(t, "reading the memory of another process: %v", err)
	}
	mem.Close()
	return c
}

// What the GC of a process did that ran already is what its runtime counts meanwhile.
func TestRuntimes(t *testing.T) {
	one, born := startCollecting(t), startCollecting(t)
	c := newRuntimes(procmem.New(""))
	c.look([]int{one.pid})
	before := *one
	for range 3 {
		one.collect()
		c.look([]int{one.pid})
	}
	born.collect()
	c.look([]int{one.pid, born.pid})
	born.collect()
	c.look(nil)
	var s Sample
	s.setGC(c.totals())
	cycles, paused := one.cycles-before.cycles+born.cycles, one.paused-before.paused+born.paused
	if cycles != 3+3 || s.GCCounted != GCComplete || s.GCCycles == nil || *s.GCCycles != cycles || s.Uncounted != nil {
		t.Errorf("trace %q, %v cycles, %d are right, %v", s.GCCounted, s.GCCycles, cycles, s.Uncounted)
	}
	if s.GCPause == nil || *s.GCPause != paused.Seconds() {
		t.Errorf("the world stopped for %v, %v is right", s.GCPause, paused)
	}
	if s.GCPauseMax == nil || *s.GCPauseMax <= 0 || *s.GCPauseMax > *s.GCPause {
		t.Errorf("once for %v s, of %v", s.GCPauseMax, paused)
	}
	if s.GCRuntimeCPU == nil || *s.GCRuntimeCPU <= 0 || s.HeapPeak == nil || s.LivePeak == nil || *s.LivePeak == 0 || *s.LivePeak > *s.HeapPeak {
		t.Errorf("%+v", s)
	}
	s.Recompute()
	if s.GCCycles == nil || s.GCPause == nil || s.GCRuntimeCPU == nil {
		t.Errorf("forgotten when it is read from a file: %+v", s)
	}
}

// The longest stop of a cycle is known; and without any all is 0,
// but for the heap.
func TestRuntimesSeen(t *testing.T) {
	one := startCollecting(t)
	c := newRuntimes(procmem.New(""))
	c.look([]int{one.pid})
	var none Sample
	before := *one
	for range 2 {
		one.collect()
		c.look([]int{one.pid})
	}
	var s Sample
	s.setGC(c.totals())
	if paused := one.paused - before.paused; s.GCPauseMax == nil || *s.GCPauseMax <= 0 || *s.GCPauseMax > paused.Seconds() {
		t.Errorf("once for %v, of %v", s.GCPauseMax, paused)
	}
	c = newRuntimes(procmem.New(""))
	c.look([]int{one.pid})
	c.look(nil)
	none.setGC(c.totals())
	if none.GCCycles == nil || *none.GCCycles != 0 || none.GCPauseMax == nil || *none.GCPauseMax != 0 || *none.GCPause != 0 || *none.GCRuntimeCPU != 0 || none.HeapPeak == nil {
		t.Errorf("without a cycle: %+v", none)
	}
}

// A process that ends before the last look may have had more cycles.
func TestRuntimesEnded(t *testing.T) {
	one := startCollecting(t)
	c := newRuntimes(procmem.New(""))
	c.look([]int{one.pid})
	one.collect()
	c.look([]int{one.pid})
	one.end()
	c.look(nil)
	var s Sample
	s.setGC(c.totals())
	if s.GCCounted != GCPartial || s.GCCycles == nil || *s.GCCycles != 1 || s.Uncounted == nil {
		t.Errorf("trace %q, %v cycles, %v", s.GCCounted, s.GCCycles, s.Uncounted)
	}
}

// What is not of Go has nothing to count.
func TestRuntimesNotGo(t *testing.T) {
	other := exec.Command("sleep", "1000")
	testenv.Start(t, other)
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	}()
	c := newRuntimes(procmem.New(""))
	testenv.Eventually(t, "the exec of sleep", func() bool {
		command, err := procmem.New("").Cmdline(other.Process.Pid)
		return err == nil && len(command) > 0 && command[0] == "sleep"
	})
	c.look([]int{other.Process.Pid})
	var s Sample
	s.setGC(c.totals())
	if s.GCCounted != "" || s.GCCycles != nil || s.HeapPeak != nil || s.GCPause != nil || s.Uncounted != nil {
		t.Errorf("sleep: %+v", s)
	}
}
