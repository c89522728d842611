package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/cgrouptest"
	"github.com/foliomem/folio/internal/test/testenv"
)

// leaky is a program in a cgroup of so many MiB. more has it hold one MiB more, and is false
// when it was killed.
func leaky(t *testing.T, limit uint64) (cmd *exec.Cmd, more func() bool, dir string) {
	t.Helper()
	g := cgrouptest.WithMemory(t, limit<<20)
	cmd = exec.Command("gcprog", "-leak", "-pidfile", "/dev/stdout")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), raceEnv}
	in, out := testenv.Start(t, cmd)
	t.Cleanup(func() { in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := g.Join(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	d, err := procmem.FS{}.CgroupDir(cmd.Process.Pid, "memory")
	if err != nil {
		t.Fatal(err)
	}
	return cmd, func() bool {
		_, _ = io.WriteString(in, "\n")
		_, err := out.ReadString('\n')
		return err == nil
	}, d.Path
}

// An oomChild is a watcher.
type oomChild struct {
	*child
	errs, out saying
}

// oomWatcher starts a watcher, and waits until it watches.
func oomWatcher(t *testing.T, args ...string) *oomChild {
	t.Helper()
	c := &oomChild{child: newChild(t, append([]string{"inspect", "--oom"}, args...)...)}
	c.watch(t)
	return c
}

func (c *oomChild) watch(t *testing.T) {
	t.Helper()
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.errs
	c.start()
	testenv.Eventually(t, "that it watches", func() bool { return strings.Contains(c.errs.String(), "a save takes") })
}

// saying is what a program has said so far.
type saying struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *saying) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *saying) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// A real cgroup and a real kill: near the limit everything is saved while the program runs
// on; it is there after the kill.
func TestOOMKill(t *testing.T) {
	testenv.FullOnly(t)
	for _, of := range []string{"process", "cgroup"} {
		t.Run(of, func(t *testing.T) {
			const limit = 192
			cmd, more, group := leaky(t, limit)
			save := filepath.Join(t.TempDir(), "new", "dir")
			name, target := fmt.Sprint(cmd.Process.Pid), fmt.Sprint(cmd.Process.Pid)
			if of == "cgroup" {
				name, target = filepath.Base(group), group
			}
			c := oomWatcher(t, "--save", save, target)
			used := func() uint64 {
				groups, err := procmem.FS{}.MemoryGroups(cmd.Process.Pid)
				if err != nil || len(groups) == 0 {
					t.Fatal(err)
				}
				m, err := groups[0].Read()
				if err != nil || m.Usage == nil {
					t.Fatal(err)
				}
				return *m.Usage
			}
			for used() < limit<<20*96/100 { // a step is less than what is left
				if !more() {
					t.Fatal("it was killed before it came near the limit")
				}
			}
			testenv.Eventually(t, "that it saves", func() bool { return strings.Contains(c.out.String(), "\n") })
			for more() { // it runs on, until it is killed
			}
			_ = cmd.Wait()
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != unix.SIGKILL {
				t.Errorf("it ended with %v", cmd.ProcessState)
			}
			if of == "cgroup" {
				c.signal(unix.SIGTERM)
			}
			c.end(exitOK)
			if of == "process" && !strings.Contains(c.errs.String(), "has ended; an OOM killer ended a process of its cgroup; ") {
				t.Errorf("%s", c.errs.String())
			}
			dir, _, _ := strings.Cut(c.out.String(), "\n")
			if !strings.HasPrefix(dir, filepath.Join(save, "oom-"+name+"-")) {
				t.Fatalf("%q is said; %s", dir, c.errs.String())
			}
			checkSaved(t, dir, cmd.Process.Pid)
		})
	}
}

// checkSaved checks that what was saved is whole.
func checkSaved(t *testing.T, dir string, pid int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "summary.txt"))
	if err != nil || !strings.Contains(string(text), "Go: live heap ") || !strings.Contains(string(text), "\nmemory.stat\n") {
		t.Errorf("%q, %v", text, err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		switch name := f.Name(); name {
		case "summary.txt", "saved.txt", fmt.Sprintf("%d.json", pid), fmt.Sprintf("%d.heap.pb.gz", pid), fmt.Sprintf("%d.goroutines.txt", pid):
		default:
			t.Errorf("%s is left", name)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.json", pid)))
	if err != nil {
		t.Fatal(err)
	}
	var file result.Inspect
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	w := file.Process.Waterfall
	if w == nil || w.RSS < 160<<20 || w.GC == nil || len(w.Advice) == 0 {
		t.Fatalf("%s", data)
	}
	var sum int64
	for _, p := range w.Parts {
		sum += p.Bytes
	}
	if uint64(sum) != w.RSS {
		t.Errorf("the parts have %d of %d", sum, w.RSS)
	}
	if text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.goroutines.txt", pid))); err != nil || !strings.Contains(string(text), "main.main") {
		t.Errorf("%q, %v", text, err)
	}
	if heap, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.heap.pb.gz", pid))); err == nil {
		p, err := profile.ParseData(heap)
		if err != nil || len(p.Sample) == 0 {
			t.Errorf("heap profile: %v", err)
		}
	} else if !os.IsNotExist(err) {
		t.Error(err)
	}
}

// checkLeft checks that a directory has what the watcher says that it saved, and nothing
// else. The memory of the machine may be short while the test runs.
func checkLeft(t *testing.T, c *oomChild, save string) {
	t.Helper()
	dirs := strings.Fields(c.out.String())
	files, err := os.ReadDir(save)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, f := range files {
		left = append(left, filepath.Join(save, f.Name()))
	}
	if !slices.Equal(left, dirs) {
		t.Errorf("%v is left, %v was said", left, dirs)
	}
	if said := strings.Count(c.errs.String(), ": saved "); said != len(dirs) {
		t.Errorf("%d saves are said, of %v: %s", said, dirs, c.errs.String())
	}
}

// TERM and ctrl-C end the watcher; nothing is left but saves, and the program runs on.
func TestOOMInterrupted(t *testing.T) {
	pid := sleeper(t, 0)
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGINT} {
		save := t.TempDir()
		c := oomWatcher(t, "--save", save, strconv.Itoa(pid))
		c.signal(sig)
		c.end(exitOK)
		checkLeft(t, c, save)
		if os.Getuid() == 0 && strings.Contains(c.errs.String(), "the save has less") { // notes on what is not saved are not a reason
			t.Errorf("%s", c.errs.String())
		}
	}
	if st, err := (procmem.FS{}).Stat(pid); err != nil || st.Zombie() {
		t.Errorf("the program has ended: %v", err)
	}
	// It ends with the program.
	save := t.TempDir()
	c := oomWatcher(t, "--save", save, strconv.Itoa(pid))
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.end(exitOK)
	checkLeft(t, c, save)
	if want := fmt.Sprintf("\nprocess %d has ended; ", pid); !strings.Contains(c.errs.String(), want) {
		t.Errorf("%s", c.errs.String())
	}
	if saved := !strings.HasSuffix(c.errs.String(), "; nothing was saved\n"); saved != (c.out.String() != "") {
		t.Errorf("%s%s", c.out.String(), c.errs.String())
	}
}

// Whoever may not read a process is told so, by the one who would watch it at once: nothing
// is said of what could not be seen.
func TestInspectUnprivileged(t *testing.T) {
	testenv.Root(t, "to become somebody else")
	pid := strconv.Itoa(sleeper(t, 0))
	const why = `: it belongs to user 0, and folio runs as user 65534: needs user 0 or CAP_SYS_PTRACE (sudo; or sudo setcap cap_sys_ptrace+ep "$(command -v folio)"; or docker run --cap-add SYS_PTRACE)`
	for _, args := range [][]string{
		{"leaks", "--duration", "100ms", pid}, {"inspect", pid}, {"inspect", "--goroutines", pid}, {"set", pid}, {"collapse", "--dry-run", pid},
		{"run", "--attach", pid, "--duration", "1s"},
	} {
		want := why
		if args[0] == "run" {
			want = strings.NewReplacer("user 0 or ", "", "PTRACE (", "PTRACE and CAP_PERFMON (", "ptrace+", "ptrace,cap_perfmon+", "SYS_PTRACE)", "SYS_PTRACE --cap-add PERFMON)").Replace(why)
		}
		stdout, stderr, code := asNobody(t, args...)
		if code != exitFailure || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.HasSuffix(stderr, want+"\n") {
			t.Errorf("%q: code %d, %q, %q, want %q", args, code, stdout, stderr, want)
		}
	}
	save := t.TempDir()
	if err := errors.Join(os.Chown(save, nobody, nobody), os.Chmod(filepath.Dir(save), 0o755)); err != nil {
		t.Fatal(err)
	}
	c := &oomChild{child: byNobody(t, "inspect", "--oom", "--save", save, pid)}
	c.watch(t)
	c.signal(unix.SIGTERM)
	c.end(exitOK)
	if !strings.Contains(c.errs.String(), "--cap-add SYS_PTRACE): the save has less") {
		t.Errorf("%s", c.errs.String())
	}
}

// Of two processes of a cgroup one may not be read: that is said, and the other is saved.
func TestOOMOneUnreadable(t *testing.T) {
	testenv.Root(t, "to become somebody else")
	if text, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); err == nil && strings.TrimSpace(string(text)) != "0" {
		testenv.Missing(t, "kernel.yama.ptrace_scope keeps a process's own user out, too")
	}
	other := sleeper(t, 0)
	dir := t.TempDir()
	group, save, unused := filepath.Join(dir, "group"), filepath.Join(dir, "save"), filepath.Join(dir, "unused")
	for _, d := range []string{group, save, unused} {
		if err := errors.Join(os.Mkdir(d, 0o700), os.Chown(d, nobody, nobody)); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{filepath.Dir(dir), dir} { // whatever the umask is
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	first := &oomChild{child: byNobody(t, "inspect", "--oom", "--save", unused, strconv.Itoa(other))} // a Go program of nobody's
	first.watch(t)
	own := first.cmd.Process.Pid
	for name, text := range map[string]string{
		"cgroup.procs": fmt.Sprintf("%d\n%d\n", own, other), "memory.current": "96000000\n", "memory.max": "100000000\n", "memory.stat": "inactive_file 0\nactive_file 0\n",
	} {
		if err := os.WriteFile(filepath.Join(group, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := &oomChild{child: byNobody(t, "inspect", "--oom", "--save", save, group)}
	c.watch(t)
	testenv.Eventually(t, "that it saves", func() bool { return strings.Contains(c.out.String(), "\n") })
	for _, c := range []*oomChild{c, first} {
		c.signal(unix.SIGTERM)
		c.end(exitOK)
	}
	errs := c.errs.String()
	if want := fmt.Sprintf("1 of 2 processes cannot be read as a whole: process %d: ", other); !strings.Contains(errs, want) {
		t.Errorf("%q is not said: %s", want, errs)
	}
	files := make(map[string]string)
	saved, _ := filepath.Glob(filepath.Join(save, "oom-*", "*"))
	for _, name := range saved {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = string(text)
	}
	for _, name := range []string{"summary.txt", "saved.txt", strconv.Itoa(own) + ".json", strconv.Itoa(own) + ".goroutines.txt", strconv.Itoa(other) + ".json"} {
		if files[name] == "" {
			t.Errorf("%s is not saved: %s", name, errs)
		}
	}
	if text := files[strconv.Itoa(own)+".json"]; !strings.Contains(text, `"live_heap"`) && !strings.Contains(text, `"waterfall"`) {
		t.Errorf("no waterfall: %s", text)
	}
	if text, ok := files[strconv.Itoa(other)+".goroutines.txt"]; ok {
		t.Errorf("goroutines of a process that may not be read: %s", text)
	}
	if text := files[strconv.Itoa(other)+".json"]; !strings.Contains(text, "CAP_SYS_PTRACE") {
		t.Errorf("nothing says why there is less: %s", text)
	}
}
