package oom

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

func TestMain(m *testing.M) {
	testenv.PlayRole(map[string]func() error{"sleeper": sleeperRole, "halfway": halfway})
	os.Exit(m.Run())
}

// sleeperRole is a program with a heap, until its input ends.
func sleeperRole() error {
	heap := make([]byte, 64<<20)
	for i := range heap {
		heap[i] = 1
	}
	fmt.Println("ready")
	_, err := io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(heap)
	return err
}

// sleeper starts a program with a heap.
func sleeper(t *testing.T) (pid int) {
	t.Helper()
	cmd := testenv.Role(t, "sleeper")
	in, out := testenv.Start(t, cmd)
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

// A directory that looks like a cgroup need not be one: what is in it is not waited for.
func TestOOMOfNoCgroup(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "cgroup.procs"), 0o600); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(dir, "below")
	if err := os.Mkdir(below, 0o700); err != nil {
		t.Fatal(err)
	}
	parent := os.Getppid()
	if err := os.WriteFile(filepath.Join(below, "cgroup.procs"), []byte(strconv.Itoa(parent)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := &watcher{group: dir, fs: procmem.FS{}}
	if got := o.pids(); len(got) != 1 || got[0] != parent {
		t.Errorf("%v, want %d alone", got, parent)
	}
}
