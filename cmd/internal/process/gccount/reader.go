package gccount

import (
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A Reader counts what the GC of a process does. It is for one goroutine at a time.
type Reader struct {
	target *goruntime.Target
	count  Count
	gc     goruntime.GC
	first  Step
}

// Open begins to count what the GC of a process does, from the start of the process or from
// now on, with a first reading. A process of another user needs the right to ptrace it
// (CAP_SYS_PTRACE). What cannot be read is an error: not a Go program
// (executable.ErrNotGo), or of a version that is not known (layout.ErrUnknown). After an
// exec of the process reading fails (goruntime.ErrGone).
func Open(programs *goruntime.Programs, fs procmem.FS, pid int, fromStart bool) (*Reader, error) {
	target, err := programs.Attach(fs, pid)
	if err != nil {
		return nil, err
	}
	r := &Reader{target: target, count: Count{FromStart: fromStart}}
	if r.first, err = r.Read(); err != nil {
		target.Close()
		return nil, err
	}
	return r, nil
}

// First is what the first reading found, until the next one.
func (r *Reader) First() Step { return r.first }

// Read reads the process again, which takes microseconds. An error is of the process that is
// gone, and of readings that contradict themselves (goruntime.ErrInconsistent): the next one
// has what this one missed.
func (r *Reader) Read() (Step, error) {
	if err := r.target.ReadGC(&r.gc); err != nil {
		return Step{}, err
	}
	return r.count.Add(&r.gc), nil
}

// Last is the last reading.
func (r *Reader) Last() *goruntime.GC { return &r.gc }

// Figures are what was added up, up to the last reading.
func (r *Reader) Figures() Figures { return r.count.Figures() }

// Restart has Figures begin anew with the next reading.
func (r *Reader) Restart() { r.count.Restart() }

// Version returns the version of Go of the program.
func (r *Reader) Version() string { return r.target.Version() }

// Close ends the reading. Figures stay.
func (r *Reader) Close() error { return r.target.Close() }
