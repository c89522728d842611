package inspect

import (
	"slices"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A Watcher looks at one process again and again. What is known of its program, and how
// its runtime is laid out, is found once. It is for one goroutine at a time.
type Watcher struct {
	s      *System
	pid    int
	o      Options
	last   *Process // nil: nothing was seen yet
	begin  procmem.Stat
	before procmem.Stat // at the last look
	first  time.Time    // when it was first looked at
	at     time.Time    // of the last look

	pages    *page.Process
	runtimes *goruntime.Runtimes           // nil: not looked for yet
	reasons  map[*goruntime.Runtime]string // why some could not be read
	notes    int                           // how many notes came before those of the waterfall
}

// Watch prepares to look at a process with these options; FaultTime is not used: faults
// are counted from one look to the next.
func (s *System) Watch(pid int, o Options) *Watcher {
	o.Waterfall, o.FaultTime = true, 0
	return &Watcher{s: s, pid: pid, o: o}
}

// Close ends it.
func (w *Watcher) Close() {
	if w.runtimes != nil {
		w.runtimes.Close()
	}
	if w.pages != nil {
		w.pages.Close()
	}
}

// Attached reports whether a Go runtime of the process can be read: then what is read is of
// one program, and an error after it began another.
func (w *Watcher) Attached() bool { return len(w.readable()) > 0 }

// readable are the Go runtimes of the process that can be read.
func (w *Watcher) readable() []*goruntime.Runtime {
	if w.runtimes == nil {
		return nil
	}
	return w.runtimes.Readable()
}

// Runtimes are the Go runtimes of the process, which end with w. Later looks find more.
func (w *Watcher) Runtimes() []*goruntime.Runtime {
	if w.runtimes == nil {
		return nil
	}
	return w.runtimes.All()
}

// Look looks at the process as [System.Process] does.
func (w *Watcher) Look() (*Process, error) {
	p, err := w.look(true)
	if err != nil {
		return nil, w.s.FS.Unseen(w.pid, err)
	}
	return p, nil
}

// Read reads what changes all the time: the parts of RSS, the limit, page faults. The rest
// is of the last Look. The first Read is a Look.
func (w *Watcher) Read() (*Process, error) {
	p, err := w.look(w.last == nil)
	if err != nil {
		return nil, w.s.FS.Unseen(w.pid, err)
	}
	return p, nil
}

func (w *Watcher) look(all bool) (*Process, error) {
	at := time.Now()
	now, err := w.s.FS.Find(w.pid)
	switch {
	case err != nil:
		return nil, err
	case w.last != nil && now.StartTime != w.begin.StartTime:
		return nil, procmem.ErrNoProcess // another one has its number
	case now.Zombie():
		return nil, procmem.ErrEnding
	}
	var p *Process
	if all {
		if p, err = w.s.process(w.pid, w.o, w); err != nil {
			return nil, err
		}
	} else if p, err = w.again(); err != nil {
		return nil, err
	}
	if w.last == nil {
		w.begin, w.first = now, at
	} else {
		p.Faults = &Faults{at.Sub(w.at), now.MinFlt - min(now.MinFlt, w.before.MinFlt), now.MajFlt - min(now.MajFlt, w.before.MajFlt)}
	}
	w.last, w.before, w.at = p, now, at
	return p, nil
}

// again reads what changes.
func (w *Watcher) again() (*Process, error) {
	status, err := w.s.FS.Status(w.pid)
	if err != nil {
		return nil, err
	}
	if status.VmRSS == nil {
		return nil, w.s.FS.NoMemory(w.pid)
	}
	p := *w.last
	p.Resident, p.Swapped, p.Waterfall = status.VmRSS, status.VmSwap, nil
	if !w.o.Brief {
		p.Limit = w.s.limit(w.pid)
		if p.Memory == nil {
			return &p, nil // it may not be read, and a note says so
		}
	}
	p.Notes = slices.Clone(p.Notes[:w.notes])
	if err := w.s.fillWaterfall(&p, w); err != nil {
		return nil, err
	}
	return &p, nil
}

// Total returns how many page faults the process has had since the first look.
func (w *Watcher) Total() (minor, major uint64) {
	return w.before.MinFlt - min(w.before.MinFlt, w.begin.MinFlt), w.before.MajFlt - min(w.before.MajFlt, w.begin.MajFlt)
}

// Since returns the page faults since the first look; nil before the second.
func (w *Watcher) Since() *Faults {
	if w.at.Equal(w.first) {
		return nil
	}
	minor, major := w.Total()
	return &Faults{w.at.Sub(w.first), minor, major}
}
