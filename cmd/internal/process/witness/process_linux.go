//go:build linux && (amd64 || arm64)

package witness

import (
	"bytes"
	"os"
	"strconv"
	"sync"
)

// exit looks at an exit_group.
func (w *worker) exit(n *notification) {
	t := w.tree
	pid := processOf(int(n.pid))
	if pid == 0 || t.options.OnExit == nil {
		return
	}
	id, err := programOf(pid)
	if err == nil && id == t.stub {
		return // the program could not be executed
	}
	if !t.valid(n) || !t.known.exits(t, pid) {
		return
	}
	w.yield()
	t.options.OnExit(&Exit{PID: pid, Program: t.programs.of(id), Seen: true, Code: int(n.args[0] & 0xff)})
}

// processes are those of which an exec was seen, and no exit.
type processes struct {
	mu      sync.Mutex
	living  map[int]life
	exiting map[int]uint64 // exits that were seen, and when the process began: signals repeat them
}

type life struct {
	begun   uint64
	program *Program
}

// executes notes an exec.
func (p *processes) executes(t *Tree, e *Exec) {
	if t.options.OnExit == nil {
		return
	}
	begun := begunAt(e.PID)
	p.mu.Lock()
	if p.living == nil {
		p.living = map[int]life{}
	}
	old, was := p.living[e.PID]
	p.living[e.PID] = life{begun, e.Program}
	p.mu.Unlock()
	if was && old.begun != begun {
		t.options.OnExit(&Exit{PID: e.PID, Program: old.program})
	}
}

// exits notes an exit; false if it was noted before.
func (p *processes) exits(t *Tree, pid int) bool {
	begun := begunAt(pid)
	p.mu.Lock()
	if p.exiting == nil || len(p.exiting) > 4096 {
		p.exiting = map[int]uint64{}
	}
	again := p.exiting[pid] == begun && begun != 0
	p.exiting[pid] = begun
	old, was := p.living[pid]
	delete(p.living, pid)
	p.mu.Unlock()
	if was && old.begun != begun {
		t.options.OnExit(&Exit{PID: pid, Program: old.program})
	}
	return !again
}

// gone tells of processes that have ended without being seen.
func (p *processes) gone(t *Tree) {
	p.mu.Lock()
	living := p.living
	p.living = nil
	p.mu.Unlock()
	for pid, l := range living {
		if begunAt(pid) != l.begun || isZombie(pid) {
			t.options.OnExit(&Exit{PID: pid, Program: l.program})
		}
	}
}

// processOf returns the process of a thread, 0 if it is gone.
func processOf(thread int) int {
	if isProcess(thread) {
		return thread
	}
	pid, _ := strconv.Atoi(statusOf(thread, "Tgid"))
	return pid
}

// statOf returns the fields of /proc/PID/stat from the third on.
func statOf(pid int) [][]byte {
	data, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, rest, _ := bytes.Cut(data[bytes.LastIndexByte(data, ')')+1:], []byte(" "))
	return bytes.Fields(rest)
}

// begunAt is when a process began, in clock ticks; 0 if there is none.
func begunAt(pid int) uint64 {
	if f := statOf(pid); len(f) > 19 {
		n, _ := strconv.ParseUint(string(f[19]), 10, 64)
		return n
	}
	return 0
}

func parentOf(pid int) int {
	if f := statOf(pid); len(f) > 1 {
		n, _ := strconv.Atoi(string(f[1]))
		return n
	}
	return 0
}

func isZombie(pid int) bool {
	f := statOf(pid)
	return len(f) > 0 && (f[0][0] == 'Z' || f[0][0] == 'X')
}
