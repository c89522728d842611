package gccount

import (
	"errors"
	"fmt"
	"slices"

	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A Reader counts what the GCs of a process do: that of the program, and those of Go libraries
// that it loads. It is for one goroutine at a time.
type Reader struct {
	runtimes *goruntime.Runtimes
	all      []*counted
	born     bool // runtimes that are found count from their start
	first    Step
	step     Step
}

// A counted runtime is one that is read.
type counted struct {
	*goruntime.Runtime
	count Count
	gc    goruntime.GC
}

// Open begins to count what the GCs of a process do, from the start of the process or from
// now on, with a first reading. A process of another user needs the right to ptrace it
// (CAP_SYS_PTRACE). What cannot be read is an error: neither a Go program nor one with a Go
// library (executable.ErrNotGo), or of a version that is not known (layout.ErrUnknown). After
// an exec of the process reading fails (goruntime.ErrGone).
func Open(programs *goruntime.Programs, fs procmem.FS, pid int, fromStart bool) (*Reader, error) {
	r := &Reader{runtimes: programs.Runtimes(fs, pid), born: fromStart}
	err := r.Find()
	if err == nil && len(r.all) == 0 {
		if err = r.Unread(); err == nil {
			err = fmt.Errorf("not a Go program: %w", executable.ErrNotGo)
		}
	}
	if err == nil {
		r.first, err = r.Read()
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	r.born = true
	return r, nil
}

// Find finds runtimes that were loaded since the last time, which count from their start.
func (r *Reader) Find() error {
	if err := r.runtimes.Update(); err != nil {
		return err
	}
	for _, g := range r.runtimes.Readable() {
		if !slices.ContainsFunc(r.all, func(c *counted) bool { return c.Runtime == g }) {
			r.all = append(r.all, &counted{Runtime: g, count: Count{FromStart: r.born}})
		}
	}
	return nil
}

// Unread is why a runtime of the process cannot be read; nil where all can.
func (r *Reader) Unread() error {
	for _, g := range r.runtimes.All() {
		switch {
		case g.Err == nil:
		case g.Main:
			return g.Err
		default:
			return fmt.Errorf("%s: %w", g.Name(), g.Err)
		}
	}
	return nil
}

// Libraries names the Go libraries that are read, and says whether the program has a runtime
// beside theirs.
func (r *Reader) Libraries() (names []string, program bool) {
	for _, c := range r.all {
		if c.Main {
			program = true
			continue
		}
		names = append(names, fmt.Sprintf("%s (%s)", c.Name(), c.Version()))
	}
	return names, program
}

// First is what the first reading found, until the next one.
func (r *Reader) First() Step { return r.first }

// Read reads the process again, which takes microseconds. An error is of the process that is
// gone, and of readings that contradict themselves (goruntime.ErrInconsistent): the next one
// has what this one missed.
func (r *Reader) Read() (Step, error) {
	r.step = Step{Cycles: r.step.Cycles[:0]}
	var failed error
	for _, c := range r.all {
		if err := c.Target.ReadGC(&c.gc); err != nil {
			if !errors.Is(err, goruntime.ErrInconsistent) {
				return Step{}, err
			}
			failed = errors.Join(failed, err)
			continue
		}
		s := c.count.Add(&c.gc)
		if len(r.all) == 1 {
			return s, nil
		}
		r.step.add(s)
	}
	return r.step, failed
}

// add adds what another runtime did.
func (s *Step) add(o Step) {
	s.Cycles = append(s.Cycles, o.Cycles...)
	s.Lost, s.Forced, s.CPU = s.Lost+o.Lost, s.Forced+o.Forced, plus(s.CPU, o.CPU)
}

// Last is the last reading, of the runtime that was found first.
func (r *Reader) Last() *goruntime.GC { return &r.all[0].gc }

// Figures are what was added up, up to the last reading: of several runtimes as of several
// processes.
func (r *Reader) Figures() (f Figures) {
	for i, c := range r.all {
		if i == 0 {
			f = c.count.Figures()
			continue
		}
		f = f.Plus(c.count.Figures())
	}
	return f
}

// Restart has Figures begin anew with the next reading.
func (r *Reader) Restart() {
	for _, c := range r.all {
		c.count.Restart()
	}
}

// Version returns the version of Go of the runtime that was found first.
func (r *Reader) Version() string { return r.all[0].Version() }

// Close ends the reading. Figures stay.
func (r *Reader) Close() error { return r.runtimes.Close() }
