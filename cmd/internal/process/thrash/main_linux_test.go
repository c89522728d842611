package thrash

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/cmd/internal/process/oom"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

func TestMain(m *testing.M) {
	testenv.PlayRole(map[string]func() error{"crowded": crowded})
	os.Exit(testenv.RunIn(m, "XDG_RUNTIME_DIR"))
}

type node struct {
	l, r *node
	_    [48]byte
}

func tree(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{l: tree(depth - 1), r: tree(depth - 1)}
}

var (
	kept    *node
	garbage *node
)

// crowded holds a live heap of more than 32 MiB, and allocates garbage. For each line that it
// reads it says the memory limit; at TERM it ends with "term", and "exec" has it begin again.
func crowded() error {
	kept = tree(18) // 2^19 nodes of 64 bytes
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM)
	go func() {
		<-terms
		fmt.Println("term")
		os.Exit(0)
	}()
	go func() {
		for {
			garbage = tree(4)
		}
	}()
	fmt.Println("ready")
	for sc := bufio.NewScanner(os.Stdin); sc.Scan(); {
		if sc.Text() == "exec" {
			return syscall.Exec(os.Args[0], os.Args[:1], os.Environ())
		}
		fmt.Println(debug.SetMemoryLimit(-1))
	}
	return nil
}

// liveHeap is less than what crowded keeps: with such a limit its heap has no room at all, so a
// cycle follows the other, however busy the machine is.
const liveHeap = 32 << 20

// A subject is a process of crowded.
type subject struct {
	cmd *exec.Cmd
	ask func(line string) string // "" for no question
}

func start(t *testing.T, env ...string) subject {
	t.Helper()
	cmd := testenv.Role(t, "crowded", append([]string{"GOGC=100"}, env...)...)
	in, out := testenv.Start(t, cmd)
	t.Cleanup(func() { in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	ask := func(line string) string {
		t.Helper()
		if line != "" {
			fmt.Fprintln(in, line)
		}
		text, err := out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(text)
	}
	if got := ask(""); got != "ready" {
		t.Fatal(got)
	}
	return subject{cmd, ask}
}

func (s subject) opened(t *testing.T) *livegc.Process {
	t.Helper()
	p, err := livegc.Open(procmem.FS{}, s.cmd.Process.Pid)
	if err != nil {
		if strings.Contains(err.Error(), "CAP_SYS_PTRACE") {
			testenv.Missing(t, "ptrace a child: %v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// said is what was said so far.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// A guarded is a watch of a test, with an hour between two readings: the test reads.
type guarded struct {
	*watched
	out, errs said
}

// options save into a new directory.
func (g *guarded) options(t *testing.T, then Then) Options {
	return Options{Times: Times{Every: 5 * time.Millisecond, For: 50 * time.Millisecond}, Then: then, Evidence: oom.Options{
		Save: t.TempDir(), Stdout: console.New(&g.out), Stderr: console.New(&g.errs), JSON: func(p *inspect.Process) ([]byte, []string, error) {
			data, err := json.Marshal(p)
			return data, p.Notes, err
		}}}
}

func guard(t *testing.T, p *livegc.Process, then Then) *guarded {
	t.Helper()
	g := &guarded{}
	o := g.options(t, then)
	var err error
	if g.watched, err = o.open(p); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.close)
	return g
}

// until reads until something was said, or is gone.
func (g *guarded) until(t *testing.T, text string) {
	t.Helper()
	testenv.Eventually(t, text, func() bool {
		if _, err := g.look(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(g.errs.String(), text)
	})
}

// memlimit is what the program says.
func (s subject) memlimit(t *testing.T) (n int64) {
	t.Helper()
	if _, err := fmt.Sscan(s.ask("limit"), &n); err != nil {
		t.Fatal(err)
	}
	if n == math.MaxInt64 {
		t.Fatal("it has no limit")
	}
	return n
}
