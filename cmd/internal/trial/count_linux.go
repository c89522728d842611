package trial

import (
	"errors"
	"fmt"

	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A cycleCount counts the GC cycles of processes that ran already, by what their runtimes
// count: nobody asked them for a trace.
type cycleCount struct {
	fs procmem.FS
	of map[int]*countedCycles
}

// countedCycles are the GC cycles of one process.
type countedCycles struct {
	runtime     goruntime.StateReader // nil: not Go, or unread
	first, last uint32
	err         error // why some are not known
}

func newCycleCount(fs procmem.FS) *cycleCount {
	return &cycleCount{fs: fs, of: make(map[int]*countedCycles)}
}

// look reads the runtimes of these processes, and of those that it read before: one that
// ended since then may have had more cycles.
func (c *cycleCount) look(pids []int) {
	born := len(c.of) > 0 // since the first look
	for _, pid := range pids {
		if c.of[pid] == nil {
			c.of[pid] = openCycles(c.fs, pid, born)
		}
	}
	for pid, p := range c.of {
		p.read(pid)
	}
}

// read reads the count again, unless the runtime is not open.
func (p *countedCycles) read(pid int) {
	if p.runtime == nil {
		return
	}
	s, err := p.runtime.Read()
	if err != nil {
		p.close()
		p.err = fmt.Errorf("process %d ended, or became another program, before it was read for the last time", pid)
		return
	}
	p.last = s.Cycles
}

// openCycles opens the runtime of a process. One that was born meanwhile has all its cycles then.
func openCycles(fs procmem.FS, pid int, born bool) *countedCycles {
	p := &countedCycles{}
	build, err := executable.ReadBuild(fs.ExePath(pid))
	if errors.Is(err, executable.ErrNotGo) {
		return p
	}
	if err == nil {
		p.runtime, err = goruntime.OpenState(fs, pid, build.GoVersion)
	}
	if err != nil {
		p.runtime, p.err = nil, err
		return p
	}
	s, err := p.runtime.Read()
	if err != nil {
		p.close()
		p.err = err
		return p
	}
	if p.last = s.Cycles; !born {
		p.first = s.Cycles
	}
	return p
}

func (p *countedCycles) close() {
	if p.runtime != nil {
		_ = p.runtime.Close()
	}
	p.runtime = nil
}

// fill says how many cycles there were, and closes what was opened. The samples must be
// filled in.
func (c *cycleCount) fill(out *Sample) {
	n, read := 0, false
	var unread error
	for _, p := range c.of {
		read = read || p.runtime != nil || p.last > 0
		n += int(p.last - p.first) // the runtime's count wraps around
		if p.err != nil && unread == nil {
			unread = p.err
		}
		p.close()
	}
	switch {
	case !read && unread == nil:
		return // no Go program
	case n == 0 && unread == nil && out.gcSampled():
		unread = errors.New("a GC cycle began, and none ended")
	}
	out.Uncounted, out.GCTrace = unread, TraceComplete
	if unread != nil {
		out.GCTrace = TracePartial
	}
	if n > 0 || unread == nil {
		out.GCCycles = &n
	}
}
