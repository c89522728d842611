//go:build linux && (amd64 || arm64)

package witness

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/spawn"
	"github.com/foliomem/folio/internal/test/testenv"
)

// isChild is set for what the tests start.
const isChild = "FOLIO_TEST_WITNESS_CHILD"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if role, ok := strings.CutPrefix(os.Args[1], "role:"); ok {
			os.Exit(play(role, os.Args[2:]))
		}
	}
	if os.Getenv(isChild) != "" {
		fmt.Fprintln(os.Stderr, "a test has started the tests") // and they would start more
		os.Exit(99)
	}
	os.Exit(m.Run())
}

// self is this test binary, as a path that any user can follow.
func self(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// A seen tree is what a test was told of it.
type seen struct {
	mu    sync.Mutex
	execs []string // path, and arguments but the first
	exits []string
	pids  map[int]int // how many exits of a process
	errs  []error
}

// options notes everything, and changes the programs that want says.
func (s *seen) options(want func(*Exec) bool) Options {
	s.pids = map[int]int{}
	return Options{
		OnExec: func(e *Exec) AtExec {
			argv, err := e.Argv()
			s.mu.Lock()
			defer s.mu.Unlock()
			if err != nil {
				s.errs = append(s.errs, err)
			}
			s.execs = append(s.execs, strings.Join(append([]string{e.Path}, argv[min(1, len(argv)):]...), " "))
			if want == nil || !want(e) {
				return nil
			}
			heap, err := e.Heap()
			if err != nil {
				s.errs = append(s.errs, err)
				return nil
			}
			return func(pid int, err error) {
				if err == nil {
					err = heap.Apply(pid)
				}
				if err != nil {
					s.mu.Lock()
					defer s.mu.Unlock()
					s.errs = append(s.errs, fmt.Errorf("process %d: %w", pid, err))
				}
			}
		},
		OnExit: func(e *Exit) {
			s.mu.Lock()
			defer s.mu.Unlock()
			name := "?"
			if e.Program != nil {
				name = e.Program.Path
			}
			s.pids[e.PID]++
			s.exits = append(s.exits, fmt.Sprintf("%s %v %d", name, e.Seen, e.Code))
		},
	}
}

// A result is what became of a program.
type result struct {
	ws     unix.WaitStatus
	output string
}

// prepare makes a program whose output goes to a file.
func program(t testing.TB, argv ...string) (p spawn.Program, output func() string) {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close(); null.Close() })
	p = spawn.Program{Path: argv[0], Argv: argv, Env: append(os.Environ(), isChild+"=1"), Files: [3]*os.File{null, out, out}}
	return p, func() string {
		data, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
}

// run runs a program with its tree to the end of all of them.
func run(t testing.TB, o Options, argv ...string) (r result) {
	t.Helper()
	p, output := program(t, argv...)
	tree := start(t, p, o)
	r.ws = wait(t, tree)
	r.output = output()
	return r
}

func start(t testing.TB, p spawn.Program, o Options) *Tree {
	t.Helper()
	tree, err := Start(p, o)
	if err == ErrNested {
		testenv.Missing(t, "a process without a listener: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	return tree
}

// wait waits for the end of a tree.
func wait(t testing.TB, tree *Tree) unix.WaitStatus {
	t.Helper()
	ws, _, err := tree.Wait()
	if err != nil {
		t.Fatal(err)
	}
	<-tree.Ended()
	tree.Close()
	return ws
}
