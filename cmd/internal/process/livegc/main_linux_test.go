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
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

func TestMain(m *testing.M) {
	if os.Getenv("FOLIO_TEST_ROLE") == "busy" {
		busy()
		return
	}
	dir, err := os.MkdirTemp("", "folio-livegc-")
	if err == nil {
		err = os.Setenv("XDG_RUNTIME_DIR", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
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

// busy allocates, marks and sweeps at full speed. For each line that it reads it says how its
// GC is set; a number is a GOGC that it sets first, itself.
func busy() {
	kept = tree(12)
	for range runtime.GOMAXPROCS(0) {
		go func() {
			for {
				tree(8)
				runtime.KeepAlive(new([10000]byte))
			}
		}()
	}
	for sc := bufio.NewScanner(os.Stdin); sc.Scan(); {
		if n, err := strconv.Atoi(sc.Text()); err == nil {
			debug.SetGCPercent(n)
		}
		s := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}
		metrics.Read(s)
		gogc := "off"
		if n := s[0].Value.Uint64(); n != math.MaxUint64 {
			gogc = strconv.FormatUint(n, 10)
		}
		fmt.Println(gogc, s[1].Value.Uint64(), s[2].Value.Uint64())
	}
}

// A subject is a process of busy.
type subject struct {
	cmd  *exec.Cmd
	ask  func(line string) (gogc string, limit, cycles uint64)
	ends func() // it must not have ended by itself
}

func start(t *testing.T, env ...string) subject {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append([]string{"FOLIO_TEST_ROLE=busy"}, env...)...)
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
	s.ask = func(line string) (gogc string, limit, cycles uint64) {
		t.Helper()
		fmt.Fprintln(in, line)
		if !lines.Scan() {
			t.Fatalf("the process has ended: %v", cmd.Wait())
		}
		if _, err := fmt.Sscan(lines.Text(), &gogc, &limit, &cycles); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		return gogc, limit, cycles
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

// opened is the process, to be set. It may not be ptraced everywhere.
func (s subject) opened(t *testing.T) *Process {
	t.Helper()
	p, err := Open(testFS, s.cmd.Process.Pid)
	if err != nil {
		if strings.Contains(err.Error(), "permi") || strings.Contains(err.Error(), "CAP_SYS_PTRACE") {
			testenv.Missing(t, "write the memory of a process: %v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}
