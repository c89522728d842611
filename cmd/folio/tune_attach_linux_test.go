package main

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// Whatever ends a search of a running process, the process has what it had before.
func TestTuneAttachKilled(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			pid := strconv.Itoa(sleeper(t, 0, "-alloc", "8", "-churn"))
			c := newChild(t, "tune", "--attach", pid, "--block", "1s", "--seed", "1", "--json", "f.json")
			c.cmd.Env = append(c.cmd.Env, "XDG_RUNTIME_DIR="+t.TempDir())
			now := func() string {
				cmd := exec.Command("folio", "set", pid)
				cmd.Env = append(c.cmd.Env[:len(c.cmd.Env):len(c.cmd.Env)], c.mark+"other")
				out, err := cmd.CombinedOutput()
				if err != nil && sig != syscall.SIGKILL { // which may leave half of a change, until the guard restores
					t.Fatalf("%v: %s", err, out)
				}
				return string(out)
			}
			const before = ": GOGC=100 (default), GOMEMLIMIT=off (default)\n"
			c.start()
			if !testenv.Within(func() bool { return !strings.HasSuffix(now(), before) }) {
				t.Fatal("nothing was set")
			}
			other := exec.Command("folio", "tune", "--attach", pid)
			other.Env = c.cmd.Env
			if out, err := other.CombinedOutput(); err == nil || !strings.Contains(string(out), "its settings are held by another folio set") {
				t.Errorf("%v: %s", err, out)
			}
			if c.signal(sig); sig == syscall.SIGKILL {
				_ = c.cmd.Wait()
			} else {
				c.end(exitInterrupted)
			}
			if !testenv.Within(func() bool { return strings.HasSuffix(now(), before) }) {
				t.Errorf("after %v: %s", sig, now())
			}
			if !testenv.Within(func() bool { return len(processesWith(c.mark)) == 0 }) {
				t.Errorf("processes left: %q", processesWith(c.mark))
			}
		})
	}
}

// TestTuneAttachKilledAtRandom kills folio while it changes a process; FOLIO_TEST_KILLS is how often.
func TestTuneAttachKilledAtRandom(t *testing.T) {
	t.Parallel()
	kills := 3
	if n, err := strconv.Atoi(os.Getenv("FOLIO_TEST_KILLS")); err == nil {
		kills = n
	}
	pid := sleeper(t, 0, "-alloc", "8", "-churn")
	state, err := goruntime.OpenState(procmem.FS{}, pid, runtime.Version())
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	gogc := func() int32 {
		s, err := state.Read()
		if err != nil || s.Percent == nil {
			t.Fatal(s, err)
		}
		return int32(*s.Percent)
	}
	runtimeDir := t.TempDir()
	var longest time.Duration
	changed := map[int32]int{}
	tries := 0
	for i := 0; i < kills; i++ {
		c := newChild(t, "tune", "--attach", strconv.Itoa(pid), "--block", "60ms", "--seed", strconv.Itoa(i+1))
		c.cmd.Env = append(c.cmd.Env, "XDG_RUNTIME_DIR="+runtimeDir)
		c.start()
		ended := false // a process that gets no CPU is refused
		if !testenv.Within(func() bool {
			st, err := procmem.FS{}.Stat(c.cmd.Process.Pid)
			ended = err != nil || st.Zombie()
			return ended || gogc() != 100
		}) {
			t.Fatalf("%d: nothing was set", i)
		}
		if ended {
			c.end(1)
			if tries++; tries == 20+kills/10 {
				t.Fatalf("%d searches ended by themselves, the last: %s", tries, c.stderr.String())
			}
			i--
			continue
		}
		time.Sleep(rand.N(500 * time.Millisecond))
		changed[gogc()]++
		c.signal(syscall.SIGKILL)
		killed := time.Now()
		_ = c.cmd.Wait()
		if !testenv.Within(func() bool { return gogc() == 100 }) {
			t.Fatalf("%d: GOGC is %d after a kill", i, gogc())
		}
		longest = max(longest, time.Since(killed))
		if !testenv.Within(func() bool { return len(processesWith(c.mark)) == 0 }) { // the guard restores, and ends
			t.Fatalf("%d: processes left: %q", i, processesWith(c.mark))
		}
		if gogc() != 100 {
			t.Fatalf("%d: GOGC is %d when all has ended", i, gogc())
		}
	}
	t.Logf("%d kills, with GOGC in effect: %v; restored within %v", kills, changed, longest)
}
