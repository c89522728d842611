package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// A Group is a cgroup for one program: one directory in version 2, one for each limit in
// version 1.
type Group struct {
	parent *Parent
	dirs   []string // parallel to parent.places

	mu      sync.Mutex
	removed bool
}

// Join puts a process, which is about to become the program, into the group.
func (g *Group) Join(pid int) error {
	for _, dir := range g.dirs {
		if err := g.parent.kernel.write(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid)); err != nil {
			return fmt.Errorf("put the program into its cgroup: %w", err)
		}
	}
	return nil
}

// Enter puts a thread of this process into the group, as far as it is of version 1; what it
// forks until leave is called is in the group. Version 2 does not take a single thread: see
// Dir.
func (g *Group) Enter(thread int) (leave func(), err error) {
	var left []string
	leave = func() {
		for _, home := range left {
			_ = g.parent.kernel.write(filepath.Join(home, "tasks"), strconv.Itoa(thread))
		}
	}
	for i, p := range g.parent.places {
		if p.unified {
			continue
		}
		if err := g.parent.kernel.write(filepath.Join(g.dirs[i], "tasks"), strconv.Itoa(thread)); err != nil {
			leave()
			return nil, fmt.Errorf("fork into the cgroup of the program: %w", err)
		}
		left = append(left, p.dir)
	}
	return leave, nil
}

// Dir opens the directory of version 2, into which a process can be cloned (Linux 5.7); nil
// where there is none.
func (g *Group) Dir() (*os.File, error) {
	for i, p := range g.parent.places {
		if p.unified {
			return os.Open(g.dirs[i])
		}
	}
	return nil, nil
}

// patience is how long what is in a cgroup may take to end once it was killed. A process
// leaves its cgroup a moment after it was reaped.
const patience = 5 * time.Second

// Remove kills what is in the group and removes it.
func (g *Group) Remove() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.removed {
		return nil
	}
	g.removed = true
	g.parent.forget(g)
	var errs []error
	for _, dir := range g.dirs {
		errs = append(errs, removeAll(g.parent.kernel, dir, patience))
	}
	return errors.Join(errs...)
}

// removeAll kills what is in a cgroup, and removes it and those below it, which the program
// may have made.
func removeAll(k kernel, dir string, patience time.Duration) error {
	for deadline, wait := time.Now().Add(patience), 100*time.Microsecond; ; wait = min(2*wait, 10*time.Millisecond) {
		killAll(k, dir)
		err := removeTree(k, dir)
		if err == nil || gone(err) {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) && !errors.Is(err, syscall.ENOTEMPTY) || !time.Now().Before(deadline) {
			return fmt.Errorf("remove the cgroup of the program: %w", err)
		}
		time.Sleep(wait)
	}
}

// killAll kills all processes in a cgroup and below it: at once in version 2 (Linux 5.14),
// else one by one. Who kills them one by one comes again until none is left.
func killAll(k kernel, dir string) {
	if k.write(filepath.Join(dir, "cgroup.kill"), "1") == nil {
		return
	}
	for _, below := range groupsBelow(dir) {
		killAll(k, below)
	}
	pids, _ := processes(dir)
	for _, pid := range pids {
		if pid > 0 && pid != os.Getpid() { // 0 would be the process group of this process
			_ = k.kill(pid)
		}
	}
}

// removeTree removes a cgroup after those below it.
func removeTree(k kernel, dir string) error {
	for _, below := range groupsBelow(dir) {
		if err := removeTree(k, below); err != nil && !gone(err) {
			return err
		}
	}
	return k.rmdir(dir)
}

// groupsBelow lists the cgroups right below one.
func groupsBelow(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out
}
