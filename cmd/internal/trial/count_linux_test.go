package trial

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// GC cycles of a process that runs already are those that its runtime counts meanwhile.
func TestCycleCount(t *testing.T) {
	start := func() (*exec.Cmd, func()) {
		cmd := roleCmd("cycles")
		in, out := testenv.Start(t, cmd)
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		wait := func(out *bufio.Reader) {
			t.Helper()
			if _, err := out.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		wait(out)
		return cmd, func() {
			t.Helper()
			if _, err := io.WriteString(in, "\n"); err != nil {
				t.Fatal(err)
			}
			wait(out)
		}
	}
	cmd, collect := start()
	child, collectChild := start()
	pid, born := cmd.Process.Pid, child.Process.Pid
	mem, err := os.Open(procmem.New("").MemPath(pid))
	if err != nil {
		testenv.Missing(t, "reading the memory of another process: %v", err)
	}
	mem.Close()
	c := newCycleCount(procmem.New(""))
	collect()
	c.look([]int{pid})
	for range 3 {
		collect()
	}
	collectChild()
	c.look([]int{pid, born})
	collectChild()
	c.look([]int{pid, born})
	var s Sample
	c.fill(&s)
	if s.GCTrace != TraceComplete || s.GCCycles == nil || *s.GCCycles != 3+2 || s.Uncounted != nil {
		t.Errorf("trace %q, %v cycles, %v", s.GCTrace, s.GCCycles, s.Uncounted)
	}

	// One that ends before the last look may have had more.
	c = newCycleCount(procmem.New(""))
	c.look([]int{pid})
	collect()
	c.look([]int{pid})
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	c.look(nil)
	s = Sample{}
	c.fill(&s)
	if s.GCTrace != TracePartial || s.GCCycles == nil || *s.GCCycles != 1 || s.Uncounted == nil {
		t.Errorf("ended: trace %q, %v cycles, %v", s.GCTrace, s.GCCycles, s.Uncounted)
	}

	// What is not of Go has none to count.
	other := exec.Command("sleep", "1000")
	testenv.Start(t, other)
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	}()
	c = newCycleCount(procmem.New(""))
	testenv.Eventually(t, "the exec of sleep", func() bool {
		command, err := procmem.New("").Cmdline(other.Process.Pid)
		return err == nil && len(command) > 0 && command[0] == "sleep"
	})
	c.look([]int{other.Process.Pid})
	s = Sample{}
	c.fill(&s)
	if s.GCTrace != "" || s.GCCycles != nil || s.Uncounted != nil {
		t.Errorf("sleep: trace %q, %v cycles, %v", s.GCTrace, s.GCCycles, s.Uncounted)
	}
}
