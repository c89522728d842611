package livegc

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

func TestMain(m *testing.M) {
	testenv.PlayRole(map[string]func() error{"busy": busy})
	os.Exit(testenv.RunIn(m, "XDG_RUNTIME_DIR"))
}

type node struct {
	l, r *node
	_    [64]byte
}

func tree(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{l: tree(depth - 1), r: tree(depth - 1)}
}

var kept *node

// The values that the tests of many changes set: their bytes are all the same, so that one
// that was half written is seen.
const (
	percentUnit = 0x0101
	limitUnit   = 0x01010101
)

func whole(percent, limit uint64) bool {
	return (percent == math.MaxUint64 || percent%percentUnit == 0 && percent < 0x10000 || percent == 100) &&
		(limit == math.MaxInt64 || limit%limitUnit == 0 && limit < 1<<32)
}

// busy allocates, marks and sweeps at full speed. For each line that it reads it says what
// is in effect, how many GC cycles there were, and how often it saw a value that nobody set;
// a number is a GOGC that it sets first, itself, and "fight" has it do so all the time, until
// the next line. "exec" has it begin again with GOGC=257.
func busy() error {
	kept = tree(12)
	for range runtime.GOMAXPROCS(0) {
		go func() {
			for {
				tree(8)
				runtime.KeepAlive(new([10000]byte))
			}
		}()
	}
	settings := func() []metrics.Sample {
		return []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}
	}
	var torn atomic.Uint64
	go func() {
		for s := settings()[:2]; ; runtime.Gosched() {
			if metrics.Read(s); !whole(s[0].Value.Uint64(), s[1].Value.Uint64()) {
				torn.Add(1)
			}
		}
	}()
	say := func() {
		s := settings()
		metrics.Read(s)
		gogc := "off"
		if n := s[0].Value.Uint64(); n != math.MaxUint64 {
			gogc = strconv.FormatUint(n, 10)
		}
		fmt.Println(gogc, s[1].Value.Uint64(), s[2].Value.Uint64(), torn.Load())
	}
	if len(os.Args) > 1 {
		say()
	}
	var fights atomic.Bool
	var fight sync.WaitGroup
	for sc := bufio.NewScanner(os.Stdin); sc.Scan(); {
		fights.Store(false)
		fight.Wait()
		gogc, err := strconv.Atoi(sc.Text())
		switch {
		case err == nil:
			debug.SetGCPercent(gogc)
		case sc.Text() == "fight":
			fights.Store(true)
			fight.Go(func() {
				for i := 1; fights.Load(); i = i%9 + 1 {
					debug.SetGCPercent(percentUnit * i)
				}
			})
		case sc.Text() == "exec":
			return syscall.Exec(os.Args[0], []string{os.Args[0], "again"}, append(os.Environ(), "GOGC="+strconv.Itoa(percentUnit)))
		}
		say()
	}
	return nil
}

type answer struct {
	gogc                string
	limit, cycles, torn uint64
}

// A subject is a process of busy.
type subject struct {
	cmd  *exec.Cmd
	ask  func(line string) answer
	ends func() // it must not have ended by itself
}

func start(t *testing.T, env ...string) subject {
	t.Helper()
	return startProgram(t, os.Args[0], env...)
}

func startProgram(t *testing.T, path string, env ...string) subject {
	t.Helper()
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), append([]string{testenv.RoleEnv + "=busy"}, env...)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	s := subject{cmd: cmd}
	lines := bufio.NewScanner(out)
	s.ask = func(line string) (a answer) {
		t.Helper()
		fmt.Fprintln(in, line)
		if !lines.Scan() {
			t.Fatalf("the process has ended: %v", cmd.Wait())
		}
		if _, err := fmt.Sscan(lines.Text(), &a.gogc, &a.limit, &a.cycles, &a.torn); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		return a
	}
	s.ask("") // it runs
	s.ends = func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the process: %v", err)
		}
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return s
}

// opened opens the process. Not everywhere may it be ptraced.
func (s subject) opened(t *testing.T) *Process {
	t.Helper()
	p, err := Open(testFS, s.cmd.Process.Pid)
	if err != nil {
		if strings.Contains(err.Error(), "permi") || strings.Contains(err.Error(), "CAP_SYS_PTRACE") {
			testenv.Missing(t, "ptrace a child: %v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}
