package gctune

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/test/testenv"
)

type pair struct{ _ [2]*pair }

// server has a live heap, allocates, and leaves the CPU idle for most of the time, however
// slow that is, until ok with the most Ps that it had so far. It returns that.
func server(what string, ok func(most int) bool) (most int, err error) {
	live := make([]*pair, 0, 3<<20)
	for len(live) < cap(live) {
		live = append(live, &pair{})
	}
	for begin := time.Now(); !ok(most); {
		if time.Since(begin) > testenv.Patience {
			return most, fmt.Errorf("never: %s", what)
		}
		worked := time.Now()
		for range 64 {
			sink = make([]byte, 16<<10)
		}
		time.Sleep(4 * time.Since(worked))
		most = max(most, runtime.GOMAXPROCS(0))
	}
	runtime.KeepAlive(live)
	return most, nil
}

// cycles reports whether so many more GC cycles have ended.
func cycles(n uint32) func(int) bool {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	first := m.NumGC
	return func(int) bool {
		runtime.ReadMemStats(&m)
		return m.NumGC >= first+n
	}
}

func init() {
	pinned = map[string]child{
		"a second P to sweep": {run: func() error { return second(SecondPSweep, "while the heap is swept") }},
		"a second P to mark":  {run: func() error { return second(SecondPGC, "while the GC runs") }},
		"GOMAXPROCS is set by code": {run: func() error {
			t, err := Start(&Options{Budget: 512 << 20, SecondP: SecondPGC})
			if err != nil {
				return err
			}
			runtime.GOMAXPROCS(3)
			if _, err := server("cycles", cycles(5)); err != nil {
				return err
			}
			t.Stop()
			if n := runtime.GOMAXPROCS(0); n != 3 || t.Stats().SecondP != 0 {
				return fmt.Errorf("GOMAXPROCS %d, %d cycles with a second P", n, t.Stats().SecondP)
			}
			return nil
		}},
		"GOMAXPROCS is set in the environment": {env: []string{"GOMAXPROCS=1"}, run: func() error { return onlyOne(&Options{SecondP: SecondPGC}) }},
		"no second P":                          {run: func() error { return onlyOne(&Options{}) }},
	}
}

// second has a second P for some cycles, and says so once.
func second(when SecondP, says string) error {
	var lines []string
	t, err := Start(&Options{Budget: 512 << 20, SecondP: when, Log: testenv.Log(func(_ slog.Level, text string) {
		if strings.Contains(text, "GOMAXPROCS") {
			lines = append(lines, text)
		}
	}).Logger()})
	if err != nil {
		return err
	}
	most, err := server("cycles with a second P", func(most int) bool {
		return most == 2 && t.Stats().SecondP >= 3 && (when != SecondPGC || t.procs.marked.Load() >= 3)
	})
	if err != nil {
		return err
	}
	t.Stop()
	if n := runtime.GOMAXPROCS(0); most != 2 || n != 1 {
		return fmt.Errorf("GOMAXPROCS %d, and %d in the end", most, n)
	}
	if marked := t.procs.marked.Load(); (when == SecondPGC) != (marked > 0) {
		return fmt.Errorf("%d cycles marked with a second P", marked)
	}
	if len(lines) != 1 || !strings.Contains(lines[0], says) {
		return fmt.Errorf("%q", lines)
	}
	return nil
}

// onlyOne has one P all the time.
func onlyOne(o *Options) error {
	t, err := Start(o)
	if err != nil {
		return err
	}
	defer t.Stop()
	most, err := server("cycles", cycles(5))
	if n := t.Stats().SecondP; err == nil && (most != 1 || n != 0) {
		err = fmt.Errorf("GOMAXPROCS %d, %d cycles with a second P", most, n)
	}
	return err
}

// TestSecondP: programs that may run on one CPU only.
func TestSecondP(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // what is pinned starts the programs, and ends with the test
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	for cpu := 0; one.Count() == 0; cpu++ {
		if all.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if unix.SchedSetaffinity(0, &all) == nil {
			runtime.UnlockOSThread()
		}
	}()
	for name := range pinned {
		cmd := exec.Command(exe)
		cmd.Env = append(childEnviron(), append(pinned[name].env, childEnv+"="+name)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

func TestSingleCPU(t *testing.T) {
	if runtime.NumCPU() == 1 {
		t.Skip("there is one CPU")
	}
	if singleCPU() {
		t.Errorf("one CPU of %d", runtime.NumCPU())
	}
}
