//go:build linux && (amd64 || arm64)

package witness

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/program/launch/killtest"
	"github.com/foliomem/folio/internal/test/testenv"
)

// A supervised tree is one whose supervisor is another process, which may be killed.
type supervised struct {
	cmd                  *exec.Cmd
	output               string // file
	guard, twin, program int
}

func supervise(t *testing.T, mark string, argv ...string) *supervised {
	t.Helper()
	// Both are held by whoever runs, in the end by none.
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	s := &supervised{cmd: exec.Command(self(t), append([]string{"role:supervise"}, argv...)...), output: out.Name()}
	s.cmd.Env = append(os.Environ(), isChild+"=1", mark)
	s.cmd.Stdout, s.cmd.Stderr = out, out
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(testenv.Patience); s.program == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		for line := range strings.Lines(s.text()) {
			_, _ = fmt.Sscanf(line, "guard %d program %d\n", &s.guard, &s.program)
		}
	}
	if s.program == 0 {
		t.Fatalf("the supervisor says %q", s.text())
	}
	for s.twin == 0 {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", s.guard, s.guard))
		if err != nil {
			break // it is all over
		}
		s.twin, _ = strconv.Atoi(strings.TrimSpace(string(data)))
	}
	return s
}

func (s *supervised) text() string {
	data, _ := os.ReadFile(s.output)
	return string(data)
}

// kills is how often processes are killed.
func kills() int {
	if n, err := strconv.Atoi(os.Getenv("FOLIO_TEST_KILLS")); err == nil {
		return n
	}
	return 40
}

// TestKilledAtRandom kills the supervisor, the guard, its twin, two of them or the program. No
// process hangs, and none fails but the one that was killed.
func TestKilledAtRandom(t *testing.T) {
	victims := map[string]int{}
	survived := map[string]int{}
	for i := range kills() {
		mark := fmt.Sprintf("FOLIO_WITNESS_KILL=%d-%d", os.Getpid(), i)
		s := supervise(t, mark, self(t), "role:busy", "3")
		time.Sleep(rand.N(60 * time.Millisecond))
		victim := []string{"supervisor", "guard", "program", "twin", "guard, then supervisor", "supervisor, then guard", "nobody"}[rand.N(7)]
		victims[victim]++
		switch victim {
		case "supervisor":
			_ = s.cmd.Process.Kill()
		case "guard":
			_ = unix.Kill(s.guard, unix.SIGKILL)
		case "program":
			_ = unix.Kill(s.program, unix.SIGKILL)
		case "supervisor, then guard":
			_ = s.cmd.Process.Kill()
			_ = unix.Kill(s.guard, unix.SIGKILL)
		case "guard, then supervisor":
			_ = unix.Kill(s.guard, unix.SIGKILL)
			_ = s.cmd.Process.Kill()
		case "twin":
			_ = unix.Kill(s.twin, unix.SIGKILL)
		}
		_ = s.cmd.Wait()
		if left := killtest.LeftOver(mark); left != "" {
			t.Fatalf("%s killed: left over: %s", victim, left)
		}
		done := strings.Contains(s.text(), "all done\n")
		if done {
			survived[victim]++
		}
		if !done && victim != "program" || strings.Contains(s.text(), "not changed") {
			t.Errorf("%s killed: %s", victim, s.text())
		}
	}
	t.Logf("killed: %v; the program went on to its end: %v", victims, survived)
}

// TestAllDead: execs fail when nothing holds the listener any more, and nothing hangs.
func TestAllDead(t *testing.T) {
	t.Setenv("NO_EXITS", "1")
	release := filepath.Join(t.TempDir(), "release")
	mark := fmt.Sprintf("FOLIO_WITNESS_DEAD=%d", os.Getpid())
	s := supervise(t, mark, self(t), "role:daemon", release)
	if err := s.cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, s.text())
	}
	// Stopped, neither replaces the other.
	for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
		for _, pid := range []int{s.guard, s.twin} {
			if err := unix.Kill(pid, sig); err != nil {
				t.Fatalf("the guard: %v", err)
			}
		}
	}
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if left := killtest.LeftOver(mark); left != "" {
		t.Fatalf("left over: %s", left)
	}
	if !strings.Contains(s.text(), "function not implemented") {
		t.Errorf("%s", s.text())
	}
}

// TestDaemon outlives the program and its supervisor, and executes programs.
func TestDaemon(t *testing.T) {
	release := filepath.Join(t.TempDir(), "release")
	mark := fmt.Sprintf("FOLIO_WITNESS_DAEMON=%d", os.Getpid())
	s := supervise(t, mark, self(t), "role:daemon", release)
	if err := s.cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, s.text())
	}
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if left := killtest.LeftOver(mark); left != "" {
		t.Fatalf("left over: %s", left)
	}
	if !strings.Contains(s.text(), "all done\n") {
		t.Errorf("%s", s.text())
	}
	for bytes.HasPrefix(nameOf(s.guard), []byte("Name:\tseccomp-guard\n")) {
		time.Sleep(time.Millisecond) // it ends with the tree
	}
}

func nameOf(pid int) []byte {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil
	}
	defer f.Close()
	data, _ := bufio.NewReader(f).ReadBytes('\n')
	return data
}
