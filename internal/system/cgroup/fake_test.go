package cgroup

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/foliomem/folio/internal/system/procmem"
)

// A fake is a kernel that does with plain files what the real one does with cgroups of
// version 2, as far as it matters here. Directories in v1 are of version 1.
type fake struct {
	t      *testing.T
	root   string
	v1     []string         // mount points of version 1, below root
	broken map[string]error // of a call, by its first word and the end of its path: "mkdir scope"
	killed []int
}

const mountPoint = "sys/fs/cgroup"

// newFake returns a system in which this process is in a cgroup of version 2.
func newFake(t *testing.T, own string) *fake {
	f := &fake{t: t, root: t.TempDir(), broken: make(map[string]error)}
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Skip("no /proc")
	}
	f.file(fmt.Sprintf("proc/%d/stat", os.Getpid()), string(stat))
	f.file("proc/self/cgroup", "0::"+own+"\n")
	f.file("proc/self/mountinfo", "31 23 0:28 / /"+mountPoint+" rw - cgroup2 cgroup2 rw\n")
	f.fill(f.path(mountPoint), "cpu io memory pids")
	if err := os.Remove(f.path(mountPoint + "/cgroup.type")); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fake) fs() procmem.FS { return procmem.New(f.root) }

func (f *fake) path(name string) string { return filepath.Join(f.root, name) }

func (f *fake) file(name, text string) {
	f.t.Helper()
	path := f.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// group makes a cgroup whose parents hand these controllers down, with processes in it, and
// returns its directory.
func (f *fake) group(name, controllers string, pids ...int) string {
	f.t.Helper()
	dir := f.path(mountPoint)
	for _, part := range strings.Split(strings.Trim(name, "/"), "/") {
		f.put(filepath.Join(dir, "cgroup.subtree_control"), controllers)
		if dir = filepath.Join(dir, part); f.mkdir(dir) != nil {
			f.put(filepath.Join(dir, "cgroup.controllers"), controllers)
		}
	}
	var lines []string
	for _, pid := range pids {
		lines = append(lines, strconv.Itoa(pid))
	}
	f.put(filepath.Join(dir, "cgroup.procs"), strings.Join(lines, "\n"))
	return dir
}

func (f *fake) put(path, text string) {
	f.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fake) fill(dir, controllers string) {
	f.t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		f.t.Fatal(err)
	}
	files := map[string]string{"cgroup.procs": "", "cgroup.type": "domain", "cgroup.controllers": controllers,
		"cgroup.subtree_control": "", "cgroup.kill": "", "memory.pressure": "some total=0\nfull total=0\n"}
	if strings.Contains(controllers, memory) {
		for name, text := range map[string]string{"max": "max", "swap.max": "max", "oom.group": "0", "peak": "0",
			"events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n", "stat": "anon 0\nworkingset_refault_anon 0\nworkingset_refault_file 0\n"} {
			files["memory."+name] = text
		}
	}
	if strings.Contains(controllers, cpu) {
		files["cpu.max"], files["cpu.stat"] = "max 100000", "usage_usec 0\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n"
	}
	for name, text := range files {
		f.put(filepath.Join(dir, name), text)
	}
}

func (f *fake) isV1(path string) bool {
	return slices.ContainsFunc(f.v1, func(m string) bool { return strings.HasPrefix(path, f.path(m)+"/") })
}

func (f *fake) fails(call, path string) error {
	for key, err := range f.broken {
		what, end, _ := strings.Cut(key, " ")
		if what == call && strings.HasSuffix(path, end) {
			return &fs.PathError{Op: call, Path: strings.TrimPrefix(path, f.root), Err: err}
		}
	}
	return nil
}

func (f *fake) mkdir(dir string) error {
	if err := f.fails("mkdir", filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if f.isV1(dir) {
		for _, name := range []string{"cgroup.procs", "tasks", "memory.limit_in_bytes", "memory.swappiness", "cpu.cfs_period_us", "cpu.cfs_quota_us"} {
			f.put(filepath.Join(dir, name), "")
		}
		return nil
	}
	f.fill(dir, strings.Join(words(filepath.Join(filepath.Dir(dir), "cgroup.subtree_control")), " "))
	return nil
}

func (f *fake) rmdir(dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	if in, _ := processes(dir); len(in) > 0 || len(groupsBelow(dir)) > 0 {
		return &fs.PathError{Op: "rmdir", Path: dir, Err: syscall.EBUSY}
	}
	return os.RemoveAll(dir)
}

func (f *fake) write(file, text string) error {
	if err := f.fails("write", file); err != nil {
		return err
	}
	if _, err := os.Stat(file); err != nil {
		return err
	}
	busy := &fs.PathError{Op: "write", Path: file, Err: syscall.EBUSY}
	dir := filepath.Dir(file)
	in, _ := processes(dir)
	down := words(filepath.Join(dir, "cgroup.subtree_control"))
	_, notRoot := os.Stat(filepath.Join(dir, "cgroup.type"))
	switch filepath.Base(file) {
	case "cgroup.procs":
		if notRoot == nil && len(down) > 0 {
			return busy
		}
		pid, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		f.drop(pid)
		old, _ := read(file)
		f.put(file, strings.TrimSpace(old+"\n"+text))
		return nil
	case "cgroup.subtree_control":
		name := text[1:]
		switch {
		case text[0] == '-':
			down = slices.DeleteFunc(down, func(c string) bool { return c == name })
		case lacks(dir, "cgroup.controllers", []string{name}) != nil:
			return &fs.PathError{Op: "write", Path: file, Err: syscall.ENOENT}
		case notRoot == nil && len(in) > 0:
			return busy
		default:
			down = append(down, name)
		}
		text = strings.Join(down, " ")
	case "cgroup.kill":
		for _, below := range append(groupsBelow(dir), dir) {
			in, _ := processes(below)
			for _, pid := range in {
				_ = f.kill(pid)
			}
		}
		return nil
	}
	f.put(file, text)
	return nil
}

func (f *fake) kill(pid int) error {
	f.killed = append(f.killed, pid)
	f.drop(pid)
	return nil
}

// drop takes a process out of its cgroup.
func (f *fake) drop(pid int) {
	_ = filepath.WalkDir(f.path("sys"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Base(path) == "cgroup.procs" {
			text := words(path)
			if i := slices.Index(text, strconv.Itoa(pid)); i >= 0 {
				f.put(path, strings.Join(slices.Delete(text, i, i+1), "\n"))
			}
		}
		return nil
	})
}

// tree is all that there is: nothing may be left, and all be as it was.
func (f *fake) tree() map[string]string {
	f.t.Helper()
	out := make(map[string]string)
	err := filepath.WalkDir(f.path("sys"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			out[path] = "dir"
			return err
		}
		out[path], err = read(path)
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return out
}

// unchanged checks that all is as it was.
func (f *fake) unchanged(was map[string]string) {
	f.t.Helper()
	is := f.tree()
	for path, text := range was {
		if got, ok := is[path]; !ok || got != text {
			f.t.Errorf("%s holds %q, was %q", path, got, text)
		}
	}
	for path := range is {
		if _, ok := was[path]; !ok {
			f.t.Errorf("%s is left", path)
		}
	}
}
