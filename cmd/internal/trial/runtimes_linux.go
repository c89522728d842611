package trial

import (
	"errors"
	"fmt"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/gccount"
	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/system/procmem"
)

// runtimes reads what the GC did of processes that ran already, by what their runtimes
// count: nobody asked them for a trace.
type runtimes struct {
	fs       procmem.FS
	programs goruntime.Programs
	of       map[int]*readRuntime
}

// A readRuntime is the runtime of one process.
type readRuntime struct {
	reader *gccount.Reader // nil: not Go, or unread
	known  bool            // there was a reading
	f      gccount.Figures // of the last one
	heap   uint64          // the largest that was seen, at the end of a cycle or now
	live   uint64          // the largest that a cycle found; 0 before the first
	stops  stops
	err    error // why some are not known
}

func newRuntimes(fs procmem.FS) *runtimes {
	return &runtimes{fs: fs, of: make(map[int]*readRuntime)}
}

// look reads the runtimes of these processes, and of those that it read before: one that
// ended since then may have had more cycles.
func (c *runtimes) look(pids []int) {
	born := len(c.of) > 0 // since the first look
	for _, pid := range pids {
		if c.of[pid] == nil {
			c.of[pid] = openRuntime(&c.programs, c.fs, pid, born)
		}
	}
	for pid, p := range c.of {
		p.read(pid)
	}
}

// openRuntime opens the runtime of a process. One that was born meanwhile counts from its start.
func openRuntime(programs *goruntime.Programs, fs procmem.FS, pid int, born bool) *readRuntime {
	p := &readRuntime{}
	r, err := gccount.Open(programs, fs, pid, born)
	switch {
	case errors.Is(err, executable.ErrNotGo):
	case err != nil:
		p.err = err
	default:
		p.reader = r
		f := r.Figures() // what ended before it was looked at
		p.stops.missed(f.PauseMax, f.LostPauses)
		p.take()
	}
	return p
}

// read reads it again, unless it is not open.
func (p *readRuntime) read(pid int) {
	if p.reader == nil {
		return
	}
	s, err := p.reader.Read()
	switch {
	case errors.Is(err, goruntime.ErrInconsistent):
		p.err = fmt.Errorf("process %d could not be read for the last time: %w", pid, err) // unless it is yet
	case err != nil:
		p.close()
		p.err = fmt.Errorf("process %d ended, or became another program, before it was read for the last time", pid)
	default:
		p.err = nil
		p.stops.add(s)
		p.take()
	}
}

// take takes what the last reading found.
func (p *readRuntime) take() {
	p.known, p.f = true, p.reader.Figures()
	p.heap = p.f.HeapPeak
	if p.reader.Last().Cycles > 0 {
		p.live = p.f.LivePeak
	}
}

func (p *readRuntime) close() {
	if p.reader != nil {
		_ = p.reader.Close()
	}
	p.reader = nil
}

// stops finds the longest single stop-the-world. A cycle stops the world twice: for how long
// each time is known of cycles that were seen in detail, and of the others the sum of both.
type stops struct {
	longest time.Duration // that is known
	bound   time.Duration // what no other can be longer than
	lost    bool          // nothing is known of some
}

func (t *stops) add(s gccount.Step) {
	t.missed(0, s.Lost)
	for _, c := range s.Cycles {
		d := c.Detail
		if d == nil || d.Start == 0 || d.Mark < d.Start || d.MarkEnd < d.Mark || d.End < d.MarkEnd {
			t.missed(c.Length, 0)
			continue
		}
		// The moments are a little apart from what the runtime measures as the pause.
		t.longest = max(t.longest, min(c.Length, max(d.Mark-d.Start, d.End-d.MarkEnd)))
	}
}

// missed notes cycles that were not seen in detail: the longest pause of those, and how many
// more there were.
func (t *stops) missed(longest time.Duration, lost uint64) {
	t.bound, t.lost = max(t.bound, longest), t.lost || lost > 0
}

func (t *stops) with(o stops) stops {
	return stops{max(t.longest, o.longest), max(t.bound, o.bound), t.lost || o.lost}
}

// known reports whether the longest is that of all.
func (t *stops) known() bool { return !t.lost && t.bound <= t.longest }

// fill says what the GC did, and closes what was opened. The samples must be filled in.
func (c *runtimes) fill(out *Sample) {
	n, known := 0, false
	var pause, cpu time.Duration
	var all stops
	var heap, live uint64
	var unread error
	for _, p := range c.of {
		p.close()
		if p.err != nil && unread == nil {
			unread = p.err
		}
		known = known || p.known
		n += int(p.f.Cycles)
		pause, cpu, all = pause+p.f.PauseTotal, cpu+p.f.CPU.Total(), all.with(p.stops)
		heap, live = max(heap, p.heap), max(live, p.live)
	}
	switch {
	case !known && unread == nil:
		return // no Go program
	case n == 0 && unread == nil && out.gcSampled():
		unread = errors.New("a GC cycle began, and none ended")
	}
	out.Uncounted, out.GCTrace = unread, TraceComplete
	if unread != nil {
		out.GCTrace = TracePartial
	}
	if heap > 0 {
		out.HeapPeak = &heap
	}
	if live > 0 {
		out.LivePeak = &live
	}
	if n == 0 && unread != nil {
		return
	}
	seconds, stopped := cpu.Seconds(), pause.Seconds()
	out.GCCycles, out.GCTraceCPU, out.GCPause = &n, &seconds, &stopped
	if all.known() {
		longest := all.longest.Seconds()
		out.GCPauseMax = &longest
	}
}
