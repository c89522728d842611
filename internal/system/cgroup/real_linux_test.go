package cgroup

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

func TestMain(m *testing.M) {
	testenv.PlayRole(map[string]func() error{"leave": leave, "stay": makeRoom, "user": user})
	os.Exit(m.Run())
}

// really opens a Parent on this machine.
func really(t *testing.T, l Limits) *Parent {
	t.Helper()
	p, err := Open(procmem.FS{}, l)
	if err != nil {
		testenv.Missing(t, "%v", err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// leave makes a group with a process in it and says so: it is to be killed.
func leave() error {
	p, err := Open(procmem.FS{}, both())
	if err != nil {
		return err
	}
	g, err := p.New()
	if err != nil {
		return err
	}
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		return err
	}
	if err := g.Join(child.Process.Pid); err != nil {
		return err
	}
	for _, dir := range g.dirs {
		fmt.Println(dir)
	}
	fmt.Println("ready")
	time.Sleep(testenv.Patience)
	return errors.New("nobody killed it")
}

// What a process leaves that is killed is there until the next one sweeps: with what is in it.
func TestSweepAfterKill(t *testing.T) {
	really(t, both())
	cmd := testenv.Role(t, "leave")
	cmd.Stderr = os.Stderr
	_, out := testenv.Start(t, cmd)
	lines := bufio.NewScanner(out)
	var dirs []string
	for lines.Scan() && lines.Text() != "ready" {
		dirs = append(dirs, lines.Text())
	}
	if len(dirs) == 0 {
		t.Fatal("it made no cgroup")
	}
	Sweep(procmem.FS{}) // it lives
	for _, dir := range dirs {
		if in, err := processes(dir); err != nil || len(in) != 1 {
			t.Fatalf("%s has %v, %v", dir, in, err)
		}
	}
	in, _ := processes(dirs[0])
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	Sweep(procmem.FS{})
	for _, dir := range dirs {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
	testenv.Eventually(t, "the process in it ends", func() bool {
		st, err := procmem.FS{}.Stat(in[0])
		return err != nil || st.Zombie()
	})
}

// user makes and uses a group as a user without privilege, once it is told to.
func user() error {
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	p, err := Open(procmem.FS{}, both())
	if err != nil {
		return err
	}
	g, err := p.New()
	if err != nil {
		return errors.Join(err, p.Close())
	}
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		return err
	}
	err = g.Join(child.Process.Pid)
	in, err2 := processes(g.dirs[0])
	fmt.Println(os.Geteuid(), len(in))
	err = errors.Join(err, err2, p.Close())
	_ = child.Wait()
	return err
}

// Without root, directories of version 1 that are the user's will do; and without them one
// line says what is missing.
func TestUser(t *testing.T) {
	testenv.Root(t, "to make cgroups for another user")
	const nobody = 65534
	var dirs []string
	for _, controller := range []string{memory, cpu} {
		own, err := procmem.FS{}.CgroupDir(0, controller)
		if err == nil && own.Unified {
			err = errors.New("it is of version 2")
		}
		if err != nil {
			testenv.Missing(t, "the %s controller of version 1: %v", controller, err)
		}
		dir := filepath.Join(own.Path, fmt.Sprintf("cgroup-test-%d", os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			testenv.Missing(t, "%v", err)
		}
		t.Cleanup(func() {
			testenv.Eventually(t, "the cgroup is empty", func() bool { return os.Remove(dir) == nil })
		})
		dirs = append(dirs, dir)
	}
	for _, delegated := range []bool{false, true} {
		cmd := testenv.RoleAs(nobody, "user", "HOME=/")
		cmd.Dir = "/"
		var errs strings.Builder
		cmd.Stderr = &errs
		in, out := testenv.Start(t, cmd)
		for _, dir := range dirs {
			if err := (linux{}).write(filepath.Join(dir, "cgroup.procs"), fmt.Sprint(cmd.Process.Pid)); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"", "cgroup.procs", "tasks"} {
				if err := os.Chown(filepath.Join(dir, name), map[bool]int{true: nobody}[delegated], -1); err != nil {
					t.Fatal(err)
				}
			}
		}
		fmt.Fprintln(in)
		text, _ := out.ReadString('\n')
		err := cmd.Wait()
		if delegated {
			if err != nil || text != "65534 1\n" {
				t.Errorf("%v, output %q%s", err, text, &errs)
			}
			continue
		}
		if want := "permission denied; run folio as root, or give its user the directories of its cgroups (" + dirs[0]; err == nil ||
			!strings.Contains(errs.String(), want) || strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("%v, error %q", err, &errs)
		}
	}
	for _, dir := range dirs {
		if left := groupsBelow(dir); len(left) > 0 {
			t.Errorf("%q are left", left)
		}
	}
}

// The limits are what the kernel then says they are, and a group that programs made more
// groups in goes with them.
func TestReal(t *testing.T) {
	p := really(t, both())
	g, err := p.New()
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range p.places {
		for _, s := range p.Limits.settings(x) {
			got, err := read(filepath.Join(g.dirs[i], s.file))
			if err != nil && s.or != nil {
				got, err = read(filepath.Join(g.dirs[i], s.or.file))
				s.text = s.or.text
			}
			if gone(err) && s.optional {
				continue
			}
			if err != nil || got != s.text {
				t.Errorf("%s is %q, want %q: %v", s.file, got, s.text, err)
			}
		}
	}
	u, err := g.Usage()
	if err != nil || *u.Periods != 0 || *u.Throttled != 0 || *u.ThrottledFor != 0 || *u.OOMKills != 0 || u.AtLimit {
		t.Errorf("%+v, %v", u, err)
	}
	below := filepath.Join(g.dirs[0], "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := g.Remove(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range g.dirs {
		if slices.Contains(groupsBelow(filepath.Dir(dir)), dir) {
			t.Errorf("%s is left", dir)
		}
	}
}

// roomVariable names a cgroup of version 2, and a controller that may be turned on in it.
const roomVariable = "FOLIO_TEST_ROOM"

// makeRoom moves into its cgroup, and makes room below it for others: it is to be killed.
func makeRoom() error {
	dir, controller, _ := strings.Cut(os.Getenv(roomVariable), " ")
	if err := (linux{}).write(filepath.Join(dir, "cgroup.procs"), fmt.Sprint(os.Getpid())); err != nil {
		return err
	}
	me, err := self(procmem.FS{})
	if err != nil {
		return err
	}
	p := &Parent{kernel: linux{}, owner: me, index: 1, groups: make(map[*Group]bool), places: []place{{dir: dir, unified: true}}}
	if p.stay, err = p.enter(procmem.FS{}, dir, []string{controller}); err != nil {
		return err
	}
	p.startGuard()
	if _, err := p.New(); err != nil || p.guard == nil {
		return fmt.Errorf("guard %v, %w", p.guard, err)
	}
	fmt.Println(p.stay.leaf)
	time.Sleep(testenv.Patience)
	return errors.New("nobody killed it")
}

// A process that made room for cgroups of version 2 and was killed leaves nothing: neither
// those, nor the one that it moved into, nor a controller that it turned on.
func TestRoomAfterKill(t *testing.T) {
	own, err := procmem.FS{}.CgroupDir(0, "no such controller") // so that it is of version 2
	if err != nil || !own.Unified {
		testenv.Missing(t, "cgroups of version 2: %v", err)
	}
	dir := filepath.Join(own.Path, fmt.Sprintf("cgroup-test-%d", os.Getpid()))
	controllers := words(filepath.Join(own.Path, "cgroup.subtree_control"))
	if len(controllers) == 0 {
		controllers = words(filepath.Join(own.Path, "cgroup.controllers"))
	}
	if err := os.Mkdir(dir, 0o755); err != nil || len(controllers) == 0 {
		_ = os.Remove(dir)
		testenv.Missing(t, "a cgroup of version 2 with controllers: %v", err)
	}
	t.Cleanup(func() {
		testenv.Eventually(t, "the cgroup is empty", func() bool { return os.Remove(dir) == nil })
	})
	if lacks(dir, "cgroup.controllers", controllers[:1]) != nil {
		if err := (linux{}).write(filepath.Join(own.Path, "cgroup.subtree_control"), "+"+controllers[0]); err != nil {
			testenv.Missing(t, "%v", err)
		}
		t.Cleanup(func() { _ = (linux{}).write(filepath.Join(own.Path, "cgroup.subtree_control"), "-"+controllers[0]) })
	}
	cmd := testenv.Role(t, "stay", roomVariable+"="+dir+" "+controllers[0])
	cmd.Stderr = os.Stderr
	_, out := testenv.Start(t, cmd)
	leaf, err := out.ReadString('\n')
	if leaf = strings.TrimSpace(leaf); err != nil || len(groupsBelow(dir)) != 2 || len(words(filepath.Join(dir, "cgroup.subtree_control"))) != 1 {
		t.Fatalf("it made %q, with %q: %v", groupsBelow(dir), leaf, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	testenv.Eventually(t, "the guard removes what is below "+dir, func() bool { return len(groupsBelow(dir)) == 0 })
	if on := words(filepath.Join(dir, "cgroup.subtree_control")); len(on) > 0 {
		t.Errorf("controllers %q are left on", on)
	}
}

// What is in a cgroup of version 2 is killed with it: that needs no controller.
func TestRealVersion2(t *testing.T) {
	own, err := procmem.FS{}.CgroupDir(0, "no such controller") // so that it is of version 2
	if err == nil && !own.Unified {
		err = errors.New("it is of version 1")
	}
	if err != nil {
		testenv.Missing(t, "cgroups of version 2: %v", err)
	}
	me, err := self(procmem.FS{})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(own.Path, me.name("9999"))
	if err := os.Mkdir(dir, 0o755); err != nil {
		testenv.Missing(t, "%v", err)
	}
	below := filepath.Join(dir, "below")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	var children []*exec.Cmd
	for _, in := range []string{dir, below} {
		child := exec.Command("sleep", "1000")
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, child)
		if err := (linux{}).write(filepath.Join(in, "cgroup.procs"), fmt.Sprint(child.Process.Pid)); err != nil {
			t.Fatal(err)
		}
	}
	killAll(linux{}, dir)
	for _, child := range children {
		if err := child.Wait(); err == nil || child.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Errorf("it ended with %v", child.ProcessState)
		}
	}
	if err := removeAll(linux{}, dir, patience); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left", dir)
	}
}
