package goruntime

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// build builds the program of testdata and returns its path.
func build(t *testing.T, args ...string) string {
	t.Helper()
	return testenv.Build{Dir: "testdata/prog", Args: args, Env: []string{"CGO_ENABLED=0"}}.Do(t)
}

// start runs the program, waits until it has collected once, and returns what
// collects once more.
func start(t *testing.T, path string, args ...string) (pid int, collect func() (cycles uint32, heap, stacks uint64)) {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "GOGC=100", "GOMEMLIMIT=")
	in, out := testenv.Start(t, cmd)
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	collect = func() (cycles uint32, heap, stacks uint64) {
		t.Helper()
		if _, err := io.WriteString(in, "\n"); err != nil {
			t.Fatal(err)
		}
		line, err := out.ReadString('\n')
		if err == nil {
			_, err = fmt.Sscan(line, &cycles, &heap, &stacks)
		}
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		return cycles, heap, stacks
	}
	collect()
	return cmd.Process.Pid, collect
}

func TestRead(t *testing.T) {
	for _, mode := range []string{"exe", "pie"} {
		t.Run(mode, func(t *testing.T) {
			if mode == "pie" && runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
				testenv.Missing(t, "no -buildmode=pie without a C compiler")
			}
			if mode == "pie" {
				testenv.Long(t) // the standard library is compiled again
			}
			path := build(t, "-buildmode="+mode)
			for _, limited := range []bool{false, true} {
				var args []string
				if limited {
					args = []string{"limit"}
				}
				pid, collect := start(t, path, args...)
				p, err := Open(procmem.FS{}, pid, runtime.Version())
				if err != nil {
					t.Fatal(err)
				}
				for range 3 {
					cycles, heap, stacks := collect()
					s, err := p.Read()
					if err != nil {
						t.Fatal(err)
					}
					if s.Cycles != cycles || *s.Percent != 73 {
						t.Errorf("%d cycles, GOGC %d; want %d, 73", s.Cycles, *s.Percent, cycles)
					}
					if unlimited, ok := s.Unlimited(); !ok || unlimited == limited || limited && *s.Limit != 1<<40 {
						t.Errorf("limit %d, %t; limited %t", *s.Limit, ok, limited)
					}
					// The program holds 32 MiB, and little else.
					if *s.Marked < 32<<20 || *s.Marked > 2*heap || *s.Live < *s.Marked || *s.Held < *s.Marked || *s.Held > 1<<30 {
						t.Errorf("marked %d, live %d, ready %d; the program says %d", *s.Marked, *s.Live, *s.Held, heap)
					}
					// Its 10,000 goroutines have small stacks. In use are also spans with free ones.
					if s.Goroutines < 10_000 || s.Goroutines > 10_100 || *s.Stacks < 10_000*2048 || *s.Stacks > stacks {
						t.Errorf("%d goroutines, stacks %d; the program says %d", s.Goroutines, *s.Stacks, stacks)
					}
				}
				if _, err := Open(procmem.FS{}, pid, "go1.0.x"); err == nil || !strings.Contains(err.Error(), "not as its file says") {
					t.Errorf("a wrong version: %v", err)
				}
				p.Close()
			}
		})
	}
}

// TestNoDebugInfo: what is stripped cannot be opened. It can be attached to, and says the same.
func TestNoDebugInfo(t *testing.T) {
	for _, flags := range []string{"-s", "-w"} {
		pid, collect := start(t, build(t, "-ldflags="+flags), "limit")
		if _, err := Open(procmem.FS{}, pid, runtime.Version()); !errors.Is(err, ErrNoDebugInfo) {
			t.Errorf("%s: %v", flags, err)
		}
		target, err := Attach(procmem.FS{}, pid)
		if err != nil {
			t.Fatal(err)
		}
		cycles, heap, stacks := collect()
		s, err := target.State()
		if err != nil {
			t.Fatal(err)
		}
		if s.Cycles != cycles || *s.Percent != 73 || *s.Limit != 1<<40 || *s.Marked < 32<<20 || *s.Marked > 2*heap || *s.Live < *s.Marked ||
			*s.Held < *s.Live || *s.Held > 1<<30 || *s.Stacks < stacks/2 || *s.Stacks > 2*stacks+(1<<20) {
			t.Errorf("%s: %d cycles, GOGC %d, limit %d, marked %d, live %d, held %d, stacks %d; the program says %d cycles, heap %d, stacks %d",
				flags, s.Cycles, *s.Percent, *s.Limit, *s.Marked, *s.Live, *s.Held, *s.Stacks, cycles, heap, stacks)
		}
		target.Close()
	}
}

// What the user of a process may not read says why, and what to do.
func TestDenied(t *testing.T) {
	err := error(&deniedError{os.ErrPermission, procmem.FS{}.Denied(1)})
	if errors.Is(err, os.ErrPermission) || !strings.HasPrefix(err.Error(), procmem.FS{}.Denied(1)+": ") {
		t.Errorf("%v: its fix is said already", err)
	}
}

func TestNotGo(t *testing.T) {
	if _, err := ReadLayout(bytes.NewReader([]byte("#!/bin/sh\n")), 10); err == nil {
		t.Error("a script has a layout")
	}
	if _, err := Open(procmem.New(t.TempDir()), 1, "go1.26"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such process: %v", err)
	}
}

func TestUnlimited(t *testing.T) {
	limit := int64(math.MaxInt64)
	if u, ok := (State{Limit: &limit}).Unlimited(); !u || !ok {
		t.Error("no limit is a limit")
	}
	if _, ok := (State{}).Unlimited(); ok {
		t.Error("a limit that is not known is known")
	}
}

// A Target is kept for as long as its process runs, and there can be hundreds: none keeps
// what was read of its program's file.
func TestTargetsAreSmall(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	attach := func() *Target {
		target, err := Attach(procmem.FS{}, os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		return target
	}
	attach().Close() // what is read once, such as the table of layouts
	before := heap()
	const many = 20
	targets := make([]*Target, many)
	for i := range targets {
		targets[i] = attach()
	}
	each := (int64(heap()) - int64(before)) / many
	for _, target := range targets {
		if _, err := target.Stats(); err != nil {
			t.Error(err)
		}
		target.Close()
	}
	if each > 64<<10 {
		t.Errorf("each takes %d KiB", each>>10)
	}
}
