package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/thrash"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/test/testenv"
)

// soonEnv has folio set --watch wait for less than half a minute.
const soonEnv = "FOLIO_TEST_SOON"

func init() {
	if os.Getenv(soonEnv) != "" {
		thrash.DefaultTimes = thrash.Times{Every: 5 * time.Millisecond, For: 50 * time.Millisecond}
	}
}

// crowdedProgram is a program whose live heap exceeds its memory limit.
func crowdedProgram(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("gcprog", "-crowd", "24", "-sleep", "1h", "-pidfile", "/dev/stdout")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), raceEnv, "GOMEMLIMIT=16MiB"}
	in, out := testenv.Start(t, cmd)
	t.Cleanup(func() { in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// setWatch starts folio set --watch.
func setWatch(t *testing.T, args ...string) *oomChild {
	t.Helper()
	c := &oomChild{child: newChild(t, append([]string{"set", "--watch"}, args...)...)}
	c.cmd.Env = append(c.cmd.Env, soonEnv+"=1", "XDG_RUNTIME_DIR="+c.dir)
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.errs
	c.start()
	return c
}

// A program that dies by GC gets TERM once evidence is saved, which other commands read. The watch
// ends with it.
func TestSetWatchTerm(t *testing.T) {
	t.Parallel()
	program := crowdedProgram(t)
	pid := program.Process.Pid
	save := t.TempDir()
	c := setWatch(t, "--then", "term", "--save", save, strconv.Itoa(pid))
	_ = program.Wait()
	if status, ok := program.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v", program.ProcessState)
	}
	c.end(exitOK)
	if text := c.errs.String(); !strings.Contains(text, fmt.Sprintf("process %d (gcprog): sent TERM\nprocess %d (gcprog) has ended\n", pid, pid)) {
		t.Errorf("%s", text)
	}
	checkLeft(t, c, save)
	dir := strings.TrimSpace(c.out.String())
	path := filepath.Join(dir, fmt.Sprintf("%d.json", pid))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := result.Read(path, data)
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Of.(*result.Inspect).Process; p.PID != pid || p.Waterfall == nil || p.Waterfall.GC == nil || p.Waterfall.GC.Limit == nil || *p.Waterfall.GC.Limit != 16<<20 {
		t.Errorf("%s", data)
	}
	heap := filepath.Join(dir, fmt.Sprintf("%d.heap.pb.gz", pid))
	if out, err := exec.Command("folio", "inspect", "--diff", heap, heap).CombinedOutput(); err != nil || len(out) == 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// Ctrl-C and TERM end the watch, and a raised limit stays.
func TestSetWatchInterrupted(t *testing.T) {
	t.Parallel()
	program := crowdedProgram(t)
	pid := strconv.Itoa(program.Process.Pid)
	for i, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		save := t.TempDir()
		c := setWatch(t, "--then", "raise=1MiB", "--save", save, pid)
		want := fmt.Sprintf("process %s (gcprog): GOMEMLIMIT=%dMiB -> %dMiB\n", pid, 16+i, 17+i)
		if !testenv.Within(func() bool { return strings.Contains(c.errs.String(), want) }) {
			t.Fatalf("%q is not said: %s", want, c.errs.String())
		}
		c.signal(sig)
		c.end(exitOK)
		checkLeft(t, c, save)
		if text := c.errs.String(); strings.Contains(text, "has ended") {
			t.Errorf("%s", text)
		}
	}
	out, err := exec.Command("folio", "set", pid).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "GOMEMLIMIT=18MiB (") {
		t.Errorf("%v: %s", err, out)
	}
}
