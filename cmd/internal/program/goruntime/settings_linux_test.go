package goruntime

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// setSource is a program that rests. For each line "percent limit" it calls
// debug.SetGCPercent and debug.SetMemoryLimit; "-" leaves one as it is. It answers with what
// is in effect and the goal of its heap. "gc" runs a cycle.
var setSource = testenv.Module(`package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
)

var kept [][]byte

func main() {
	debug.FreeOSMemory()
	for range make([]int, 20) {
		kept = append(kept, make([]byte, 1<<20))
	}
	runtime.GC()
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}, {Name: "/gc/heap/goal:bytes"}}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		words := strings.Fields(in.Text())
		if words[0] == "gc" {
			runtime.GC()
			words = []string{"-", "-"}
		}
		if n, err := strconv.Atoi(words[0]); err == nil {
			debug.SetGCPercent(n)
		}
		if n, err := strconv.ParseInt(words[1], 10, 64); err == nil {
			debug.SetMemoryLimit(n)
		}
		metrics.Read(s)
		gogc := int64(-1)
		if n := s[0].Value.Uint64(); n != math.MaxUint64 {
			gogc = int64(n)
		}
		fmt.Println(gogc, s[1].Value.Uint64(), s[2].Value.Uint64())
	}
	runtime.KeepAlive(kept)
}
`)

// A tellable is a process of setSource.
type tellable struct {
	in  io.Writer
	out *bufio.Reader
	cmd *exec.Cmd
}

func startTellable(t *testing.T, command ...string) *tellable {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "GOGC=", "GOMEMLIMIT=", "GODEBUG=")
	in, out := testenv.Start(t, cmd)
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the program: %v", err)
		}
	})
	return &tellable{in, out, cmd}
}

func (p *tellable) tell(t *testing.T, line string) (s GCSettings, goal uint64) {
	t.Helper()
	fmt.Fprintln(p.in, line)
	answer, err := p.out.ReadString('\n')
	if err == nil {
		_, err = fmt.Sscan(answer, &s.Percent, &s.Limit, &goal)
	}
	if err != nil {
		t.Fatalf("%q: %v", answer, err)
	}
	return s, goal
}

// What is set from outside is what the program would have set itself, in every build of
// every version: the same settings, and the same goal.
func TestSetter(t *testing.T) {
	testenv.EveryBuild(t, releases, setSource, func(t *testing.T, path string) {
		p := startTellable(t, path)
		p.tell(t, "gc")
		s, err := AttachToSet(procmem.New(""), p.cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if got := s.Sets(); !got.Percent || !got.Limit || len(got.By) != 0 {
			t.Errorf("it sets %+v", got)
		}
		testSetter(t, p, s)
	})
}

// The same with the runtime of arm64, which an emulator has at its own addresses.
func TestSetterARM64(t *testing.T) {
	const emulator = "qemu-aarch64"
	if _, err := exec.LookPath(emulator); err != nil || runtime.GOARCH != "amd64" {
		testenv.Missing(t, "run programs for arm64 by %s: %v", emulator, err)
	}
	for _, release := range testenv.Versions(t, releases) {
		t.Run(release, func(t *testing.T) {
			path, err := testenv.Build{Source: setSource, Args: []string{"-ldflags=-s -w"}, Env: []string{"GOTOOLCHAIN=" + release, "GOARCH=arm64", "CGO_ENABLED=0"}}.Try(t)
			if err != nil {
				testenv.Missing(t, "%v", err)
			}
			p := startTellable(t, emulator, "-B", "0", path)
			p.tell(t, "gc")
			f := openProgram(t, path)
			mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", p.cmd.Process.Pid), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer mem.Close()
			target, err := NewTarget(f, mem, 0)
			if err != nil {
				t.Fatal(err)
			}
			testSetter(t, p, &Setter{Target: target, mem: mem})
		})
	}
}

func testSetter(t *testing.T, p *tellable, s *Setter) {
	t.Helper()
	before := GCSettings{100, math.MaxInt64}
	for _, want := range []GCSettings{
		{400, math.MaxInt64}, {400, 1 << 30}, {-1, 1 << 30}, {1, 8 << 20}, {0, 8 << 20}, {-1, 3 << 30}, {50, math.MaxInt64},
		{MaxPercent, math.MaxInt64}, {100, 1<<40 + 12345}, {100, math.MaxInt64},
	} {
		set := func() (got, same GCSettings, goal, own uint64) {
			was, err := s.Set(want)
			if err != nil || was != before {
				t.Fatalf("%+v: from %+v, %v; want from %+v", want, was, err, before)
			}
			got, goal = p.tell(t, "- -")
			// SetMemoryLimit computes nothing unless the limit changes, SetGCPercent does.
			same, own = p.tell(t, fmt.Sprint(want.Percent, " ", want.Limit))
			return got, same, goal, own
		}
		got, same, goal, own := set()
		// A goal that the limit decides follows the memory of the program, which may change
		// between the two.
		for try := 1; try < 20 && goal != own && want.Limit != math.MaxInt64; try++ {
			if _, err := s.Set(before); err != nil {
				t.Fatal(err)
			}
			got, same, goal, own = set()
		}
		if got != want || same != want || goal != own {
			t.Errorf("%+v: the program has %+v and the goal %d; by its own setting %+v and %d", want, got, goal, same, own)
		}
		before = want
	}
	// A GC cycle keeps it.
	if _, err := s.Set(GCSettings{250, 1 << 31}); err != nil {
		t.Fatal(err)
	}
	if got, _ := p.tell(t, "gc"); got != (GCSettings{250, 1 << 31}) {
		t.Errorf("after a cycle: %+v", got)
	}
	// Restore leaves what the program has set.
	p.tell(t, "77 -")
	if err := s.Restore(before, GCSettings{250, 1 << 31}); err != nil {
		t.Fatal(err)
	}
	got, goal := p.tell(t, "- -")
	if same, own := p.tell(t, "77 -"); got != (GCSettings{77, math.MaxInt64}) || same != got || goal != own {
		t.Errorf("restored: %+v, goal %d; by its own setting %+v and %d", got, goal, same, own)
	}
}

func openProgram(t *testing.T, path string) *symbol.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	file, err := open(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// What sets the GC of a program is seen in its file.
func TestSets(t *testing.T) {
	for _, tt := range []struct {
		name, module, main string
		want               Sets
	}{
		{"nothing", "program", "package main\nfunc main() { select {} }\n", Sets{}},
		{"automemlimit", "github.com/KimMachineGun/automemlimit",
			"package main\nimport \"github.com/KimMachineGun/automemlimit/memlimit\"\nfunc main() { memlimit.Set(); select {} }\n", Sets{false, true, []string{"automemlimit"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := testenv.Build{Args: []string{"-ldflags=-s -w"}, Source: map[string]string{
				"main.go": tt.main, "go.mod": "module " + tt.module + "\n\ngo 1.21\n",
				"memlimit/memlimit.go": "package memlimit\nimport \"runtime/debug\"\n//go:noinline\nfunc Set() { debug.SetMemoryLimit(1<<30) }\n",
			}}.Do(t)
			if got := setsOf(openProgram(t, path)); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}
