package overlay

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/test/testenv"
)

// TestNoAssist: goroutines assist as the setting says, and not for a nanosecond else. The
// probe allocates as fast as it can while a list is marked that takes long, so that the
// heap passes its goal in each cycle, and panics if a node of the list was lost. With one
// CPU the GC's worker has to wait for the scheduler.
func TestNoAssist(t *testing.T) {
	testenv.FullOnly(t)
	program := probe(t, nil, []string{"-ldflags=-s -w"}, together...)
	for _, c := range []struct {
		env     string
		assists bool
	}{
		{"FOLIO_ASSIST=on", true}, // as stock
		{"FOLIO_ASSIST=off", false},
		{"FOLIO_ASSIST=", true},
		{"FOLIO_ASSIST=0%", true},
		{"FOLIO_ASSIST=1000%", false},
		{"FOLIO_ASSIST=off GOMAXPROCS=1", false},
		{"FOLIO_ASSIST=0% GOMAXPROCS=1", true},
		{"FOLIO_ASSIST=off GOMAXPROCS=8", false}, // two dedicated workers
		{"FOLIO_ASSIST=off GOGC=1", false},
		{"FOLIO_ASSIST=off GOMEMLIMIT=16MiB", true}, // the list alone takes more than 90%
		{"FOLIO_ASSIST=1000% GOMEMLIMIT=16MiB", true},
		{"FOLIO_ASSIST=off GOMEMLIMIT=64GiB", false},
		{"GOGC=off", false}, // cycles are forced, and have no goal
		{"FOLIO_ASSIST=off GOGC=off GOMAXPROCS=1", false},
		{"FOLIO_ASSIST=off GODEBUG=gccheckmark=1", false}, // marks all again, and compares
		{"FOLIO_ASSIST=0% GODEBUG=gccheckmark=1", true},
		{"GODEBUG=gcstoptheworld=1", false}, // nothing allocates while the GC marks
	} {
		got := figures(t, program, append([]string{"WORK=assist", "GOMAXPROCS=2", "GOMEMLIMIT=", "GOGC=10"}, strings.Fields(c.env)...)...)
		if got["nodes"] != 512<<10 || got["mark-ns"] <= 0 {
			t.Errorf("%s: %v", c.env, got)
		}
		if assists := got["assist-ns"] != 0; assists != c.assists {
			t.Errorf("%s: %d ns of assists, want any: %v", c.env, got["assist-ns"], c.assists)
		}
	}
	for _, bad := range []string{"x", "5", "%", "-1%", "1001%", "99999999999999999999%", "5.5%", "5%%", "OFF", " "} {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), "WORK=assist", "FOLIO_ASSIST="+bad)
		said, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || string(said) != "FOLIO_ASSIST="+bad+
			": want on, off, or a percentage from 0% to 1000%, such as 5%\n" {
			t.Errorf("%s: %v, %q", bad, err, said)
		}
	}
}

// A cycle is what the trace says of a GC cycle, in MB, cut.
type cycle struct {
	line      string
	end, goal int
}

var heapOfCycle = regexp.MustCompile(`(?m)^gc .* (\d+)->(\d+)->(\d+) MB, (\d+) MB goal,.*`)

// cyclesOf runs the probe with the GC traced. Where the GC took half of the CPUs for a
// second, the runtime itself lets nothing assist for a while, so it is run again: beside a busy
// program often.
func cyclesOf(t *testing.T, program string, env ...string) (out []cycle) {
	t.Helper()
	for end := time.Now().Add(testenv.Patience); time.Now().Before(end); {
		cmd := exec.Command(program)
		cmd.Env = append(append(os.Environ(), "WORK=assist", "GOMEMLIMIT=", "GODEBUG=gctrace=1"), env...)
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %v\n%s", env, err, said.String())
		}
		if !strings.Contains(said.String(), "limited 0\n") {
			continue
		}
		for _, m := range heapOfCycle.FindAllStringSubmatch(said.String(), -1) {
			c := cycle{line: m[0]}
			c.end, _ = strconv.Atoi(m[2])
			c.goal, _ = strconv.Atoi(m[4])
			out = append(out, c)
		}
		return out
	}
	testenv.Missing(t, "%v: the GC takes more than half of the CPUs, and the runtime limits it", env)
	return nil
}

// TestNoAssistBound: no cycle ends with a heap that is far beyond its goal, and goals do
// not grow from cycle to cycle by what was allocated beyond them. Without assists, the
// same program takes several hundred MiB.
func TestNoAssistBound(t *testing.T) {
	testenv.Long(t)
	program := probe(t, nil, []string{"-ldflags=-s -w"}, together...)
	const list = 16 // MiB
	for i, c := range []struct {
		gogc, bound string
		beyond      float64 // the goal
		goal        int     // MiB, the largest
	}{
		{"25", "0%", 1, 2 * list},
		{"25", "5%", 1.05, 2 * list},
		{"100", "5%", 1.05, 4 * list}, // stock: 3 to 4 times the list
		{"100", "10%", 1.1, 4 * list},
	} {
		// A tenth beyond the bound, as in the runtime itself; and what is in its caches.
		most := c.beyond * 1.1 * 1.05
		for j, env := range []string{"GOMAXPROCS=1", "GOMAXPROCS=2", "GOMAXPROCS=2 SHORT=1"} {
			if (i+j)%2 != 0 && !testenv.Full() { // each bound, and each environment, once at least
				continue
			}
			n := 0
			for _, at := range cyclesOf(t, program, append(strings.Fields(env), "GOGC="+c.gogc, "FOLIO_ASSIST="+c.bound)...) {
				if at.goal < list {
					continue // the list is still being made
				}
				n++
				if float64(at.end) > most*float64(at.goal+1)+1 || at.goal > c.goal {
					t.Errorf("GOGC=%s, %s, %s: the heap got to %d MB, want at most %.2f times its goal, of at most %d: %s",
						c.gogc, c.bound, env, at.end, most, c.goal, at.line)
				}
			}
			if n < 8 {
				t.Errorf("GOGC=%s, %s, %s: %d cycles", c.gogc, c.bound, env, n)
			}
		}
	}
}
