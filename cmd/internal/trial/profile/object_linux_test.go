package profile

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/system/perf"
	"github.com/foliomem/folio/internal/test/testenv"
)

// mapped returns the mapping of a file as the kernel reports it.
func mapped(t *testing.T, pid int, path string) *perf.Mapping {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	return &perf.Mapping{PID: pid, Path: path, Exec: true, Inode: st.Ino, Major: unix.Major(st.Dev), Minor: unix.Minor(st.Dev)}
}

func TestOpenObject(t *testing.T) {
	bin := build(t, "")
	m := mapped(t, os.Getpid(), bin)
	o := openObject("", m, symbol.NewBudget())
	if o.err != nil || o.syms == nil || !o.syms.IsGo() {
		t.Fatalf("open: %+v", o)
	}
	o.close()

	// Below a root that is not ours, as a container's is.
	root := t.TempDir()
	inside := filepath.Join(root, "proc/7/root/app/program")
	if err := os.MkdirAll(filepath.Dir(inside), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(bin, inside); err != nil {
		t.Fatal(err)
	}
	n := *m
	n.PID, n.Path = 7, "/app/program"
	if o := openObject(root, &n, symbol.NewBudget()); o.err != nil {
		t.Errorf("in another root: %v", o.err)
	} else {
		o.close()
	}

	// Another file has its name now.
	data, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bin+".new", data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(bin+".new", bin); err != nil {
		t.Fatal(err)
	}
	if o := openObject("", m, symbol.NewBudget()); !errors.Is(o.err, errReplaced) || o.syms != nil {
		t.Errorf("replaced: %v", o.err)
	}
	if err := os.Remove(bin); err != nil {
		t.Fatal(err)
	}
	if o := openObject("", m, symbol.NewBudget()); !errors.Is(o.err, os.ErrNotExist) {
		t.Errorf("removed: %v", o.err)
	}
	for _, path := range []string{"/dev/null", "/"} {
		if o := openObject("", &perf.Mapping{PID: os.Getpid(), Path: path}, symbol.NewBudget()); o.err == nil {
			t.Errorf("%s was opened", path)
		}
	}
	for _, path := range []string{"", "//anon", "[heap]", "[stack]", "/dev/zero (deleted)"} {
		if o := openObject("", &perf.Mapping{PID: os.Getpid(), Path: path}, symbol.NewBudget()); !o.memory || o.err != nil {
			t.Errorf("%q: %+v", path, o)
		}
	}
}

// A program whose file is gone is opened as what runs.
func TestOpenRemovedProgram(t *testing.T) {
	bin := build(t, "")
	cmd := exec.Command(bin, "10000", "compute")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	m := mapped(t, cmd.Process.Pid, bin)
	if err := os.Remove(bin); err != nil {
		t.Fatal(err)
	}
	m.Path += deleted
	o := openObject("", m, symbol.NewBudget())
	if o.err != nil || !o.syms.IsGo() {
		t.Fatalf("open: %v", o.err)
	}
	o.close()
}

// A program that runs from memory has no path, and one whose file was replaced has another
// under its path: the process's link leads to what runs.
func TestOpenProgramThatHasNoPath(t *testing.T) {
	bin := build(t, "")
	code, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.MemfdCreate("app", unix.MFD_CLOEXEC)
	if err != nil {
		t.Skipf("no files in memory: %v", err)
	}
	memory := os.NewFile(uintptr(fd), "app")
	defer memory.Close()
	if _, err := memory.Write(code); err != nil {
		t.Fatal(err)
	}
	start := func(path string) int {
		cmd := exec.Command(path, "100000", "compute")
		cmd.ExtraFiles = []*os.File{memory} // 3
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		return cmd.Process.Pid
	}
	unpacked := mapped(t, start("/proc/self/fd/3"), fmt.Sprintf("/proc/self/fd/%d", fd))
	unpacked.Path = "/memfd:app (deleted)"
	// The kernel told of it before it was replaced.
	replaced := mapped(t, start(bin), bin)
	if err := os.WriteFile(bin+".new", []byte("another"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(bin+".new", bin); err != nil {
		t.Fatal(err)
	}
	for _, m := range []*perf.Mapping{unpacked, replaced} {
		o := openObject("", m, symbol.NewBudget())
		if o.err != nil || o.memory || !o.program || !o.syms.IsGo() {
			t.Errorf("%s: %+v", m.Path, o)
			continue
		}
		o.close()
	}
}

// Root can open what is mapped, wherever it is: a library that was removed, or one without
// a path. What is no library is memory.
func TestOpenMapped(t *testing.T) {
	if os.Geteuid() != 0 {
		testenv.Missing(t, "root alone may open /proc/PID/map_files")
	}
	bin := build(t, "")
	code, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	in := func(f *os.File, what []byte) *perf.Mapping {
		t.Helper()
		defer f.Close()
		if _, err := f.WriteAt(what, 0); err != nil {
			t.Fatal(err)
		}
		at, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Munmap(at) })
		m := mapped(t, os.Getpid(), fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
		m.Addr, m.Len, m.Path = uint64(uintptr(unsafe.Pointer(&at[0]))), uint64(len(at)), f.Name()
		return m
	}
	inMemory := func(what []byte) *perf.Mapping {
		t.Helper()
		fd, err := unix.MemfdCreate("code", unix.MFD_CLOEXEC)
		if err != nil {
			t.Skipf("no files in memory: %v", err)
		}
		return in(os.NewFile(uintptr(fd), "/memfd:code (deleted)"), what)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "lib.so"))
	if err != nil {
		t.Fatal(err)
	}
	removed := in(file, code)
	if err := os.Remove(file.Name()); err != nil {
		t.Fatal(err)
	}
	for _, m := range []*perf.Mapping{removed, inMemory(code)} {
		o := openObject("", m, symbol.NewBudget())
		if o.err != nil || o.memory || o.program || !o.syms.IsGo() {
			t.Errorf("%s: %+v", m.Path, o)
			continue
		}
		o.close()
	}
	if o := openObject("", inMemory([]byte{0xc3}), symbol.NewBudget()); !o.memory || o.err != nil {
		t.Errorf("generated code: %+v", o)
	}
}

// A kernel that hides its names, as it does from ordinary users: faults and
// calls are told apart by who called.
func TestKernelNamesHidden(t *testing.T) {
	testenv.Long(t)
	bin := build(t, "")
	_, r := collect(t, nil, perf.Config{}, bin, "200", "zeroed", "call")
	if !r.Kernel {
		if r.Share(Kernel).Fraction == 0 {
			t.Errorf("the kernel is not seen, and took no time: %+v", r.Classes)
		}
		return
	}
	if r.Share(PageFaults).Fraction == 0 || r.Share(Syscalls).Fraction == 0 {
		t.Errorf("no faults or no calls: %+v", r.Classes)
	}
	if !strings.Contains(strings.Join(r.Notes, "\n"), "the kernel hides the names") {
		t.Errorf("notes: %q", r.Notes)
	}
}

// TestOpenObjectThatBecomesAPipe: whoever owns the path of what is mapped can put a pipe
// there, at any time, which must not be waited for.
func TestOpenObjectThatBecomesAPipe(t *testing.T) {
	dir := t.TempDir()
	bin := build(t, "")
	path, next := filepath.Join(dir, "program"), filepath.Join(dir, "next")
	if err := os.Symlink(bin, path); err != nil {
		t.Fatal(err)
	}
	m := mapped(t, os.Getpid(), bin)
	m.Path = path
	stop := make(chan struct{})
	swapped := make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			select {
			case <-stop:
				swapped <- nil
				return
			default:
				err = errors.Join(unix.Mkfifo(next, 0o700), os.Rename(next, path), os.Symlink(bin, next), os.Rename(next, path))
			}
		}
		swapped <- err
	}()
	opened := make(chan int)
	go func() {
		files, pipes := 0, 0
		for files+pipes < 1000 || files == 0 || pipes == 0 {
			if o := openObject("", m, symbol.NewBudget()); o.err == nil {
				files++
				o.close()
			} else {
				pipes++
			}
		}
		opened <- files
	}()
	select {
	case <-opened:
	case <-time.After(testenv.Patience):
		t.Error("waits for the pipe, or sees only one of the two")
	}
	close(stop)
	if err := <-swapped; err != nil {
		t.Error(err)
	}
}
