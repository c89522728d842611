package procmem

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// machine is a /proc of plain files in which processes come and go.
type machine struct {
	t    *testing.T
	root string
	last int
	time int
}

func newMachine(t *testing.T) *machine {
	m := &machine{t: t, root: t.TempDir()}
	m.lastPID(0)
	return m
}

func (m *machine) fs() FS { return New(m.root).WithPageSize(4096) }

func (m *machine) lastPID(pid int) {
	m.last = pid
	write(m.t, m.root, "proc/loadavg", fmt.Sprintf("0.00 0.00 0.00 1/1 %d\n", pid))
}

type process struct {
	pid, ppid  int
	pgrp, sess int
	pages      int
	state      string // "R" if empty
	tgid       int    // pid if 0
	vmSize     int    // pages + pid if 0, so that all differ
}

// fork starts processes, or writes again what they are.
func (m *machine) fork(list ...process) {
	m.t.Helper()
	for _, p := range list {
		m.time++
		m.write(p, m.time)
		m.lastPID(max(m.last, p.pid))
	}
}

func (m *machine) write(p process, start int) {
	m.t.Helper()
	if p.state == "" {
		p.state = "R"
	}
	if p.tgid == 0 {
		p.tgid = p.pid
	}
	if p.vmSize == 0 {
		p.vmSize = p.pages + p.pid
	}
	if p.state == "Z" {
		p.pages, p.vmSize = 0, 0
	}
	dir := fmt.Sprintf("proc/%d/", p.pid)
	write(m.t, m.root, dir+"stat", fmt.Sprintf("%d (p) %s %d %d %d 0 0 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0\n", p.pid,
		p.state, p.ppid, p.pgrp, p.sess, start))
	write(m.t, m.root, dir+"statm", fmt.Sprintf("%d %d 0 0 0 0 0\n", p.vmSize, p.pages))
	write(m.t, m.root, dir+"status", fmt.Sprintf("Tgid:\t%d\nPid:\t%d\nVmHWM:\t%d kB\n", p.tgid, p.pid, p.pages*4+4))
	write(m.t, m.root, dir+"smaps_rollup", fmt.Sprintf("Rss: %d kB\nAnonHugePages: %d kB\n", p.pages*4, p.pages))
}

// exit ends a process.
func (m *machine) exit(pid int) {
	m.t.Helper()
	dir := filepath.Join(m.root, "proc", fmt.Sprint(pid))
	if err := os.RemoveAll(dir); err != nil {
		m.t.Fatal(err)
	}
}

// newTreeByPath returns a tree that keeps no files open, as for members beyond
// maxFiles: an open plain file can still be read after the process is gone, one
// of the real /proc cannot.
func newTreeByPath(f FS, roots ...int) *Tree {
	t := f.NewTree()
	t.maxFiles = 0
	for _, pid := range roots {
		t.AddRoot(pid)
	}
	return t
}

func (m *machine) check(tree *Tree, want ...int) {
	m.t.Helper()
	if err := tree.Update(); err != nil {
		m.t.Fatal(err)
	}
	if got := tree.PIDs(); !(len(got) == 0 && len(want) == 0) && !reflect.DeepEqual(got, want) {
		m.t.Errorf("members = %v, want %v", got, want)
	}
}

func TestTreeFindsDescendants(t *testing.T) {
	m := newMachine(t)
	m.fork(process{pid: 10, ppid: 1, pages: 100}, process{pid: 11, ppid: 10, pages: 50}, process{pid: 12, ppid: 1, pages: 7})
	tree := newTreeByPath(m.fs(), 10)
	defer tree.Close()
	m.check(tree, 10, 11)
	if total, largest, n := tree.RSS(); total != 150*4096 || largest != 100*4096 || n != 2 {
		t.Errorf("RSS = %d, %d, %d", total, largest, n)
	}

	// A chain of which the parents have the higher pids, and a stranger's child.
	m.fork(process{pid: 22, ppid: 24, pages: 1}, process{pid: 23, ppid: 22, pages: 1},
		process{pid: 24, ppid: 11, pages: 1}, process{pid: 25, ppid: 12})
	m.check(tree, 10, 11, 22, 23, 24)

	// The parent ends, its child goes to init and stays a member.
	m.exit(24)
	m.write(process{pid: 22, ppid: 1, pages: 1}, 4)
	m.check(tree, 10, 11, 22, 23)
	for _, pid := range []int{10, 11, 22, 23} {
		if root, ok := tree.Root(pid); root != 10 || !ok {
			t.Errorf("Root(%d) = %d, %v", pid, root, ok)
		}
	}
	if _, ok := tree.Root(12); ok {
		t.Error("a stranger has a root")
	}

	// All end.
	for _, pid := range []int{10, 11, 22, 23} {
		m.exit(pid)
	}
	m.check(tree)
	if total, largest, n := tree.RSS(); total != 0 || largest != 0 || n != 0 {
		t.Errorf("RSS = %d, %d, %d", total, largest, n)
	}
}

func TestTreeLooksOnlyAtNewProcesses(t *testing.T) {
	m := newMachine(t)
	m.fork(process{pid: 1000, ppid: 1}, process{pid: 1001, ppid: 1000})
	tree := newTreeByPath(m.fs(), 1000)
	defer tree.Close()
	m.check(tree, 1000, 1001)
	m.check(tree, 1000, 1001)
	scans, probes := tree.scans, tree.probes
	for range 10 {
		m.check(tree, 1000, 1001)
	}
	if tree.scans != scans || tree.probes != probes || scans != 1 {
		t.Errorf("nothing was forked: %d scans, %d probes more", tree.scans-scans, tree.probes-probes)
	}
	// Ids up to 1010 were given out: to a process that is found, to one that
	// appears in /proc only after the next look, to threads and to the dead.
	m.fork(process{pid: 1004, ppid: 1001})
	m.lastPID(1010)
	m.check(tree, 1000, 1001, 1004)
	m.write(process{pid: 1008, ppid: 1004}, 77)
	m.check(tree, 1000, 1001, 1004, 1008)
	if tree.scans != scans {
		t.Errorf("%d full scans for 10 new ids", tree.scans-scans)
	}
	if got := tree.probes - probes; got > 20 {
		t.Errorf("%d probes for 10 new ids", got)
	}
}

// TestTreeWrap is ids that start again at the bottom, and a jump.
func TestTreeWrap(t *testing.T) {
	m := newMachine(t)
	m.fork(process{pid: 30000, ppid: 1})
	tree := newTreeByPath(m.fs(), 30000)
	defer tree.Close()
	m.check(tree, 30000)
	tree.scanned = time.Time{}
	m.write(process{pid: 300, ppid: 30000}, 50)
	m.lastPID(300)
	m.check(tree, 300, 30000)
	tree.scanned = time.Time{}
	m.write(process{pid: 9000, ppid: 300}, 60)
	m.lastPID(9000)
	m.check(tree, 300, 9000, 30000)
	if tree.scans != 3 {
		t.Errorf("%d full scans, want 3", tree.scans)
	}
}

// TestTreeScanBudget is a machine whose last pid cannot be had: full scans must
// not take more than 1% of the time.
func TestTreeScanBudget(t *testing.T) {
	m := newMachine(t)
	m.fork(process{pid: 10, ppid: 1})
	if err := os.Remove(filepath.Join(m.root, "proc", "loadavg")); err != nil {
		t.Fatal(err)
	}
	tree := newTreeByPath(m.fs(), 10)
	defer tree.Close()
	m.check(tree, 10)
	tree.cost = time.Hour
	m.write(process{pid: 11, ppid: 10}, 2)
	m.check(tree, 10)
	tree.cost = 0
	m.check(tree, 10, 11)
}

func TestTreeDoesNotTrustLXCFS(t *testing.T) {
	m := newMachine(t)
	m.fork(process{pid: 10, ppid: 1})
	write(t, m.root, "proc/self/mountinfo", "1 2 0:3 / /proc rw - proc proc rw\n4 2 0:5 /proc/loadavg /proc/loadavg rw - fuse.lxcfs lxcfs rw\n")
	tree := m.fs().NewTree(10)
	defer tree.Close()
	if _, ok := tree.lastPID(); ok {
		t.Error("a loadavg that is not the kernel's is trusted")
	}
}

func TestTreeReusedPID(t *testing.T) {
	m := newMachine(t)
	m.fork(process{pid: 10, ppid: 1}, process{pid: 11, ppid: 10})
	tree := newTreeByPath(m.fs(), 10)
	defer tree.Close()
	m.check(tree, 10, 11)
	m.write(process{pid: 11, ppid: 1, pages: 1000}, 99)
	if total, _, _ := tree.RSS(); total != 0 {
		t.Errorf("RSS = %d counts a process that is not a member", total)
	}
	m.check(tree, 10)
}

func TestTreeThreads(t *testing.T) {
	m := newMachine(t)
	m.fork(process{pid: 10, ppid: 1}, process{pid: 11, ppid: 10})
	tree := newTreeByPath(m.fs(), 10)
	defer tree.Close()
	m.check(tree, 10, 11)
	m.fork(process{pid: 12, ppid: 10, tgid: 11})
	m.check(tree, 10, 11)
}

func TestTreeZombies(t *testing.T) {
	m := newMachine(t)
	m.fork(process{pid: 10, ppid: 1, pages: 5}, process{pid: 11, ppid: 10, pages: 6}, process{pid: 12, ppid: 10, state: "Z"})
	tree := newTreeByPath(m.fs(), 10)
	defer tree.Close()
	m.check(tree, 10, 11)
	m.write(process{pid: 11, ppid: 10, state: "Z"}, 2)
	m.check(tree, 10, 11)
	if total, largest, n := tree.RSS(); total != 5*4096 || largest != 5*4096 || n != 1 {
		t.Errorf("RSS = %d, %d, %d", total, largest, n)
	}
}

func TestTreeReaper(t *testing.T) {
	m := newMachine(t)
	const folio = 5
	m.fork(process{pid: folio, ppid: 1, pgrp: 5, sess: 5},
		process{pid: 10, ppid: folio, pgrp: 10, sess: 5}, process{pid: 20, ppid: folio, pgrp: 20, sess: 20},
		process{pid: 30, ppid: folio, pgrp: 5, sess: 5}, process{pid: 31, ppid: 30})
	tree := newTreeByPath(m.fs(), 10, 20)
	defer tree.Close()
	tree.SetReaper(folio)
	tree.Exclude(30)
	m.check(tree, 10, 20)

	// Orphans whose parents were never seen, told apart by group and session.
	m.fork(process{pid: 40, ppid: folio, pgrp: 10, sess: 5}, process{pid: 41, ppid: folio, pgrp: 99, sess: 20},
		process{pid: 42, ppid: folio, pgrp: 98, sess: 98}, process{pid: 43, ppid: 42})
	m.check(tree, 10, 20, 40, 41, 42, 43)
	for pid, want := range map[int]int{40: 10, 41: 20, 42: 0, 43: 0} {
		if root, ok := tree.Root(pid); root != want || ok != (want != 0) {
			t.Errorf("Root(%d) = %d, %v, want %d", pid, root, ok, want)
		}
	}

	// One of them turns out to be a helper, another a root.
	tree.Exclude(41)
	m.check(tree, 10, 20, 40, 42, 43)
	tree.AddRoot(42)
	m.check(tree, 10, 20, 40, 42, 43)
	if root, ok := tree.Root(43); root != 42 || !ok {
		t.Errorf("Root(43) = %d, %v, want 42", root, ok)
	}

	// One more is started apart, and a start that fails.
	if err := tree.Apart(func() (int, error) { m.fork(process{pid: 50, ppid: folio}); return 50, nil }); err != nil {
		t.Error(err)
	}
	if err := tree.Apart(func() (int, error) { return 10, os.ErrPermission }); !errors.Is(err, os.ErrPermission) {
		t.Errorf("Apart = %v", err)
	}
	m.check(tree, 10, 20, 40, 42, 43)

	// An excluded number that belongs to a later process is free again.
	m.exit(30)
	m.exit(31)
	m.fork(process{pid: 30, ppid: 10})
	tree.scanAll = true
	m.check(tree, 10, 20, 30, 40, 42, 43)
}

func TestTreeOneRootOwnsOrphans(t *testing.T) {
	m := newMachine(t)
	m.fork(process{pid: 10, ppid: 5, pgrp: 10, sess: 10})
	tree := newTreeByPath(m.fs(), 10)
	defer tree.Close()
	tree.SetReaper(5)
	m.check(tree, 10)
	m.exit(10)
	m.fork(process{pid: 11, ppid: 5, pgrp: 11, sess: 11})
	m.check(tree, 11)
	if root, ok := tree.Root(11); root != 10 || !ok {
		t.Errorf("Root(11) = %d, %v, want the dead root 10", root, ok)
	}
}

// TestTreeSharedMemory is a child between vfork and exec.
func TestTreeSharedMemory(t *testing.T) {
	m := newMachine(t)
	m.fork(process{pid: 10, ppid: 1, pages: 1000, vmSize: 5000}, process{pid: 11, ppid: 10, pages: 1000, vmSize: 5000})
	tree := newTreeByPath(m.fs(), 10)
	defer tree.Close()
	m.check(tree, 10, 11)
	if total, _, n := tree.RSS(); total != 1000*4096 || n != 1 {
		t.Errorf("before exec: RSS = %d of %d, want %d of 1", total, n, 1000*4096)
	}
	m.write(process{pid: 11, ppid: 10, pages: 300, vmSize: 400}, 2)
	if total, _, n := tree.RSS(); total != 1300*4096 || n != 2 {
		t.Errorf("after exec: RSS = %d of %d, want %d of 2", total, n, 1300*4096)
	}
}

func TestTreeAnonHugeAndHWM(t *testing.T) {
	m := newMachine(t)
	m.fork(process{pid: 10, ppid: 1, pages: 512}, process{pid: 11, ppid: 10, pages: 64})
	tree := newTreeByPath(m.fs(), 10)
	defer tree.Close()
	m.check(tree, 10, 11)
	if bytes, ok := tree.AnonHuge(); bytes != 576*1024 || !ok {
		t.Errorf("AnonHuge = %d, %v", bytes, ok)
	}
	if bytes, ok := tree.HWM(11); bytes != 65*4096 || !ok {
		t.Errorf("HWM = %d, %v", bytes, ok)
	}
	if _, ok := tree.HWM(12); ok {
		t.Error("HWM of a stranger")
	}
	// One member cannot be read: the sum is too small, and says so.
	if err := os.Remove(filepath.Join(m.root, "proc", "11", "smaps_rollup")); err != nil {
		t.Fatal(err)
	}
	if bytes, ok := tree.AnonHuge(); bytes != 512*1024 || ok {
		t.Errorf("AnonHuge = %d, %v", bytes, ok)
	}
	m.exit(10)
	m.exit(11)
	if bytes, ok := tree.AnonHuge(); bytes != 0 || ok {
		t.Errorf("AnonHuge of none = %d, %v", bytes, ok)
	}
}

func TestTreeClosed(t *testing.T) {
	m := newMachine(t)
	m.fork(process{pid: 10, ppid: 1})
	tree := m.fs().NewTree(10)
	tree.Close()
	tree.Close()
	tree.AddRoot(10)
	if err := tree.Update(); err == nil {
		t.Error("Update of a closed tree succeeds")
	}
	if got := tree.PIDs(); len(got) != 0 {
		t.Errorf("members = %v", got)
	}
}

func TestDescendants(t *testing.T) {
	m := newMachine(t)
	m.fork(process{pid: 10, ppid: 1}, process{pid: 14, ppid: 10}, process{pid: 12, ppid: 14}, process{pid: 13, ppid: 12},
		process{pid: 15, ppid: 10, state: "Z"}, process{pid: 16, ppid: 1}, process{pid: 20, ppid: 21}, process{pid: 21, ppid: 20})
	write(t, m.root, "proc/17/stat", "not a stat")
	write(t, m.root, "proc/acpi/x", "")
	got, err := m.fs().Descendants(10)
	if want := []int{14, 15, 12, 13}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Descendants = %v, %v, want %v", got, err, want)
	}
	if got, err := m.fs().Descendants(20); err != nil || !reflect.DeepEqual(got, []int{21}) {
		t.Errorf("Descendants of a ring = %v, %v", got, err)
	}
	if got, err := m.fs().Descendants(99); err != nil || len(got) != 0 {
		t.Errorf("Descendants of none = %v, %v", got, err)
	}
}
