package inspect

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/test/testenv"
)

// roles are programs of the test binary.
var roles = map[string]func() error{"target": targetRole, "observer": observerRole}

func TestMain(m *testing.M) {
	testenv.PlayRole(roles)
	os.Exit(m.Run())
}

// heapBytes is the heap of a target.
const heapBytes = 64 << 20

type node struct {
	next *node
	data [7]uint64
}

// targetRole is a program with a dense heap.
func targetRole() error {
	if os.Getenv("INSPECT_TEST_OFF") != "" {
		if err := unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0); err != nil {
			return err
		}
	}
	var head *node
	for range heapBytes / 64 {
		head = &node{next: head, data: [7]uint64{1, 2, 3, 4, 5, 6, 7}}
	}
	// Much memory on base pages beside the heap, where nothing collapses it.
	if mib, err := strconv.Atoi(os.Getenv("INSPECT_TEST_MORE_MIB")); err == nil {
		b, err := unix.Mmap(-1, 0, mib<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			return err
		}
		_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE) // a kernel without has none
		for i := 0; i < len(b); i += os.Getpagesize() {
			b[i] = 1
		}
	}
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	runtime.KeepAlive(head)
	return nil
}

// observerRole prints what it sees of a process, and of all.
func observerRole() error {
	pid, err := strconv.Atoi(os.Getenv("INSPECT_TEST_PID"))
	if err != nil {
		return err
	}
	s := New()
	p, err := s.Process(pid, Options{Bloat: true, Waterfall: true})
	if err != nil {
		return err
	}
	l, err := s.List(context.Background(), 0)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(observed{p, l})
}

type observed struct {
	Process *Process
	List    *List
}

// role prepares the test binary as one of roles, as a user: 0 is the present one. The
// link works whoever may see the directory.
func role(name string, uid int, env ...string) *exec.Cmd {
	return testenv.RoleAs(uid, name, append([]string{"GODEBUG=", "GOGC=off"}, env...)...)
}

// target starts a target and returns its pid.
func target(t *testing.T, uid int, env ...string) int {
	t.Helper()
	cmd := role("target", uid, env...)
	in, out := testenv.Start(t, cmd)
	t.Cleanup(func() {
		in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	if line, err := out.ReadString('\n'); err != nil || strings.TrimSpace(line) != "ready" {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd.Process.Pid
}
