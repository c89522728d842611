package shortage

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/cgrouptest"
	"github.com/foliomem/folio/internal/test/testenv"
)

func TestMain(m *testing.M) {
	testenv.PlayRole(map[string]func() error{"grow": grow})
	os.Exit(m.Run())
}

var kept [][]byte

// grow takes 40 MiB, and 2 MiB more for each line that it reads.
func grow() error {
	add := func(n int) {
		b := make([]byte, n)
		for i := 0; i < n; i += 4096 {
			b[i] = 1
		}
		kept = append(kept, b)
	}
	add(40 * mib)
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		add(2 * mib)
		fmt.Println("more")
	}
	return nil
}

// contained starts a role in a cgroup of 128 MiB, and returns it.
func contained(t *testing.T) (cmd *exec.Cmd, more func(), dir string) {
	t.Helper()
	g := cgrouptest.WithMemory(t, 128*mib)
	cmd = testenv.Role(t, "grow")
	cmd.Env = append(cmd.Env, "GOGC=off")
	in, out := testenv.Start(t, cmd)
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	if err := g.Join(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	more = func() {
		fmt.Fprintln(in)
		_, _ = out.ReadString('\n') // it may have been killed
	}
	d, err := procmem.FS{}.CgroupDir(cmd.Process.Pid, "memory")
	if err != nil {
		t.Fatal(err)
	}
	return cmd, more, d.Path
}

// TestReal is a real cgroup, and a real kill: what is charged passes the threshold, then
// the limit.
func TestReal(t *testing.T) {
	for _, of := range []string{"process", "group"} {
		t.Run(of, func(t *testing.T) {
			cmd, more, dir := contained(t)
			var w *Watch
			var err error
			if of == "process" {
				w, err = Process(procmem.FS{}, cmd.Process.Pid)
			} else {
				w, err = Group(procmem.FS{}, dir)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if l := w.Limits(); len(l) == 0 || l[0].Group != dir || l[0].Bytes != 128*mib {
				t.Fatalf("%+v, want %s", l, dir)
			}
			ctx, cancel := context.WithTimeout(context.Background(), testenv.Patience)
			defer cancel()
			said := make(chan bool)
			go func() {
				g, err := openGroup(dir, dir)
				if err != nil {
					return
				}
				defer g.close()
				for range 100 {
					more()
					if n, err := g.usage(); err == nil && n >= threshold(128*mib) {
						<-said // a step is less than what is left
					}
				}
			}()
			for {
				e, err := w.Wait(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if e.Cause == Stall {
					continue
				}
				if e.Cause != Limited || e.Group != dir || e.Use < threshold(128*mib) || e.Limit != 128*mib {
					t.Errorf("%+v", e)
				}
				break
			}
			close(said)
			_ = cmd.Wait()
			for of == "process" {
				e, err := w.Wait(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if e.Cause == Ended {
					if !e.Killed {
						t.Errorf("%+v", e)
					}
					break
				}
			}
		})
	}
}

// TestKernelNotifies: with version 1 the kernel says when the threshold is passed, so that
// nothing is read meanwhile.
func TestKernelNotifies(t *testing.T) {
	cmd, _, _ := contained(t)
	w, err := Process(procmem.FS{}, cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	g := w.groups[0]
	if g.unified {
		testenv.Missing(t, "memory is counted by version 2")
	}
	if !w.sources[0].notifies {
		testenv.Missing(t, "the kernel takes no threshold")
	}
	if _, wait, err := w.look(); err != nil || wait != settle {
		t.Errorf("it looks again after %v, %v", wait, err)
	}
	if testing.Verbose() {
		t.Logf("%d wakes, at %v", len(w.wakes), time.Duration(settle))
	}
}
