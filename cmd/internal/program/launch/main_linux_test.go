//go:build linux && (amd64 || arm64)

package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/program/codepatch"
)

// The test binary has other parts to play, named by its first argument. As the
// launcher it does what folio exec does; as the program it is a Go program like
// any other.
func init() {
	if len(os.Args) > 1 && os.Args[1] == "role:chld" {
		signal.Notify(chld, unix.SIGCHLD)
	}
	if len(os.Args) > 1 && (os.Args[1] == "role:launch" || os.Args[1] == "role:before") {
		runtime.LockOSThread()
		debug.SetGCPercent(-1)
	}
}

var chld = make(chan os.Signal, 1)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		role, ok := strings.CutPrefix(os.Args[1], "role:")
		if ok {
			os.Exit(play(role, os.Args[2:]))
		}
	}
	if os.Getenv(isChild) != "" {
		fmt.Fprintln(os.Stderr, "a test has started the tests") // and they would start more
		os.Exit(99)
	}
	os.Exit(m.Run())
}

// isChild is set for what the tests start.
const isChild = "FOLIO_TEST_LAUNCH_CHILD"

// longArgument stands for one that is longer than the kernel takes.
const longArgument = "argument:long"

func play(role string, args []string) int {
	switch role {
	case "launch":
		return playLaunch(args)
	case "before":
		return playBefore(args)
	case "heap":
		return playHeap(args)
	case "sum":
		return playSum(args)
	case "inherited":
		in, err := ReadInherited()
		fmt.Printf("ignored %#x blocked %#x %v\n", in.Ignored, in.Blocked, err)
		return 0
	case "chld":
		select {
		case <-chld:
			fmt.Println("SIGCHLD")
		case <-time.After(100 * time.Millisecond):
			fmt.Println("no SIGCHLD")
		}
		return 0
	case "status":
		data, _ := os.ReadFile("/proc/self/status")
		os.Stdout.Write(data)
		return 0
	case "children":
		return playChildren()
	}
	fmt.Fprintln(os.Stderr, "no role", role)
	return 99
}

// playLaunch becomes a program: [strict] path args...
func playLaunch(args []string) int {
	in, err := ReadInherited()
	if err != nil {
		fmt.Fprintln(os.Stderr, "inherited:", err)
		return 98
	}
	o := ExecOptions{Inherited: in, AsIs: func(err error) { fmt.Fprintln(os.Stderr, "as is:", err) }}
	if args[0] == "strict" {
		o.Strict, args = true, args[1:]
	}
	if args[0] == "drop" {
		if err := before["drop"](""); err != nil {
			fmt.Fprintln(os.Stderr, "drop:", err)
			return 97
		}
		args = args[1:]
	}
	if args[len(args)-1] == longArgument {
		args[len(args)-1] = strings.Repeat("x", 200<<10)
	}
	p, err := Prepare(args[0])
	var refused *codepatch.RefusedError
	switch {
	case errors.As(err, &refused):
		fmt.Fprintln(os.Stderr, "refused:", err)
		if o.Strict {
			return 126
		}
		err = Exec(args[0], args, Environment(), in)
	case err == nil:
		err = p.Exec(args, Environment(), o)
	}
	fmt.Fprintln(os.Stderr, "launch:", err)
	fmt.Fprintln(os.Stderr, "children:", waitAny())
	return 126
}

// playSum grows the heap and says that all was well: whatever stops or kills it
// in between is seen. It prints how much of its memory asks for huge pages.
func playSum(args []string) int {
	mib, _ := strconv.Atoi(args[0])
	b := make([]byte, mib<<20)
	for i := 0; i < len(b); i += 4096 {
		b[i] = byte(i >> 12)
	}
	total := 0
	for i := 0; i < len(b); i += 4096 {
		total += int(b[i])
	}
	fmt.Println("sum", total, "advised", advised())
	runtime.KeepAlive(b)
	return 0
}

// playChildren says whether the program has children that it did not make.
func playChildren() int {
	fmt.Printf("children: %v; pid %d; tracer %s\n", waitAny(), os.Getpid(), StatusField("/proc/self/status", "TracerPid"))
	return 0
}

// waitAny is ECHILD if this process has no children of any kind.
func waitAny() error {
	return unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WALL|unix.WNOWAIT, nil)
}

// advised adds up the memory that asks for huge pages.
func advised() (sum uint64) {
	for _, m := range smaps() {
		if m.advised {
			sum += m.end - m.start
		}
	}
	return sum
}

// A heapReport is what a program with a large heap says of itself.
type heapReport struct {
	Faults, HeapSys, AnonHuge, Rss, Advised uint64
	Outside                                 []string // what asks for huge pages and is not heap
}

// playHeap maps a heap of so many MiB and prints a heapReport.
func playHeap(args []string) int {
	mib, _ := strconv.Atoi(args[0])
	debug.SetGCPercent(-1)
	var before, after unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &before)
	b := make([]byte, mib<<20)
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	_ = unix.Getrusage(unix.RUSAGE_SELF, &after)
	var ms runtime.MemStats
	runtime.ReadMemStats(&ms)
	r := heapReport{Faults: uint64(after.Minflt - before.Minflt), HeapSys: ms.HeapSys}
	for _, m := range smaps() {
		r.Rss += m.rss
		r.AnonHuge += m.huge
		if m.advised {
			r.Advised += m.end - m.start
			if m.start%(4<<20) != 0 || m.path != "" {
				r.Outside = append(r.Outside, fmt.Sprintf("%+v", m))
			}
		}
	}
	runtime.KeepAlive(b)
	_ = json.NewEncoder(os.Stdout).Encode(r)
	return 0
}

type mapping struct {
	start, end, rss, huge uint64
	path                  string
	advised               bool
}

// smaps reads /proc/self/smaps.
func smaps() (out []mapping) {
	data, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		key := strings.TrimSuffix(f[0], ":")
		if key == f[0] {
			var m mapping
			fmt.Sscanf(f[0], "%x-%x", &m.start, &m.end)
			// The kernel may have names for anonymous memory ([anon: Go: heap]).
			if len(f) > 5 && !strings.HasPrefix(f[5], "[anon:") {
				m.path = f[5]
			}
			out = append(out, m)
			continue
		}
		m := &out[len(out)-1]
		n, _ := strconv.ParseUint(f[min(1, len(f)-1)], 10, 64)
		switch key {
		case "Rss":
			m.rss = n << 10
		case "AnonHugePages":
			m.huge = n << 10
		case "VmFlags":
			m.advised = strings.Contains(line, " hg")
		}
	}
	return out
}
