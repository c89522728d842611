package livegc

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/procmem"
)

// ErrNoLimit refuses GOGC=off without GOMEMLIMIT: the heap would grow until memory ends.
var ErrNoLimit = errors.New("GOGC=off without GOMEMLIMIT: the heap would grow until memory ends: set a limit too")

// A Change is what is to be set; nil is left as it is.
type Change struct {
	Percent *int32 // GOGC; -1 is off
	Limit   *int64 // GOMEMLIMIT, in bytes; math.MaxInt64 is none
}

// IsZero says that there is nothing to be set.
func (c Change) IsZero() bool { return c.Percent == nil && c.Limit == nil }

// ParseGOGC reads a GOGC: off, or a whole percentage.
func ParseGOGC(text string) (*int32, error) {
	if text == "off" {
		return new(int32(-1)), nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("%q: want off or a whole percentage such as 200", text)
	}
	return new(int32(n)), nil
}

// ParseGOMEMLIMIT reads a limit: off, or a size.
func ParseGOMEMLIMIT(text string) (*int64, error) {
	if text == "off" {
		return new(int64(math.MaxInt64)), nil
	}
	n, err := unit.ParseSize(text)
	if err != nil {
		return nil, fmt.Errorf("%w, or off", err)
	}
	return new(int64(min(n, math.MaxInt64))), nil
}

// of returns settings with the change.
func (c Change) of(s goruntime.GCSettings) goruntime.GCSettings {
	if c.Percent != nil {
		s.Percent = *c.Percent
	}
	if c.Limit != nil {
		s.Limit = *c.Limit
	}
	return s
}

// A Process is one that runs, whose GC can be set.
type Process struct {
	PID    int
	Name   string
	Undo   Undo // takes the last Apply back
	setter *goruntime.Setter
	env    goruntime.GCSettings // what its environment says
	record *record
}

// A State is how the GC of a process is set, and by what.
type State struct {
	goruntime.GCSettings
	PercentBy, LimitBy string
}

// Open finds the runtime of a process. It needs the right to ptrace it, as reading it does.
func Open(fs procmem.FS, pid int) (*Process, error) {
	st, err := fs.Find(pid)
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	p := &Process{PID: pid, Name: st.Comm}
	if p.setter, err = goruntime.AttachToSet(fs, pid); err != nil {
		return nil, fmt.Errorf("process %d (%s): %w", pid, p.Name, err)
	}
	env, err := fs.Environ(pid)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("process %d (%s): %w", pid, p.Name, err), p.Close())
	}
	p.env = ofEnvironment(env)
	if p.record, err = openRecord(fs, pid, st.StartTime); err != nil {
		return nil, errors.Join(fmt.Errorf("process %d (%s): %w", pid, p.Name, err), p.Close())
	}
	p.Undo = Undo{PID: pid, Started: st.StartTime, Record: p.record.path}
	return p, nil
}

// Close ends it. What was set stays.
func (p *Process) Close() error {
	err := p.setter.Close()
	if p.record != nil {
		err = errors.Join(err, p.record.close())
	}
	return err
}

// ofEnvironment is how a runtime sets itself by its environment at the start (readGOGC,
// readGOMEMLIMIT).
func ofEnvironment(env []string) goruntime.GCSettings {
	s := goruntime.GCSettings{Percent: 100, Limit: math.MaxInt64}
	for _, kv := range env {
		key, value, _ := strings.Cut(kv, "=")
		switch key {
		case "GOGC":
			if n, err := strconv.ParseInt(value, 10, 32); err == nil {
				s.Percent = max(int32(n), -1)
			} else if value == "off" {
				s.Percent = -1
			}
		case "GOMEMLIMIT":
			if n, err := unit.ParseSize(value); err == nil && n <= math.MaxInt64 {
				s.Limit = int64(n)
			}
		}
	}
	return s
}

// State reads how the GC is set.
func (p *Process) State() (s State, err error) {
	if s.GCSettings, err = p.setter.Settings(); err != nil {
		return s, p.failed(err)
	}
	byFolio, _ := p.record.read()
	s.PercentBy = by(s.Percent, p.env.Percent, 100, byFolio.Percent, byFolio != goruntime.GCSettings{})
	s.LimitBy = by(s.Limit, p.env.Limit, math.MaxInt64, byFolio.Limit, byFolio != goruntime.GCSettings{})
	return s, nil
}

// by says what a setting comes from, as far as its value tells.
func by[T comparable](now, env, builtIn, folio T, set bool) string {
	switch {
	case now == env && env == builtIn:
		return "the default"
	case now == env:
		return "by its environment"
	case set && now == folio:
		return "by folio set"
	}
	return "by the program itself"
}

// Check says why a change is refused.
func (p *Process) Check(c Change) error {
	s, err := p.setter.Settings()
	if err != nil {
		return p.failed(err)
	}
	if want := c.of(s); want.Percent < 0 && want.Limit == math.MaxInt64 {
		return p.failed(ErrNoLimit)
	}
	return nil
}

// Hold keeps others from setting the GC of the process until Close, or returns why somebody
// does already. Plan tells what Apply will do, so that Undo is known before.
func (p *Process) Hold() error {
	if err := p.record.lock(); err != nil {
		return p.failed(err)
	}
	return nil
}

// Plan completes Undo with what Apply is about to do.
func (p *Process) Plan(c Change) error {
	s, err := p.setter.Settings()
	if err != nil {
		return p.failed(err)
	}
	p.Undo.Before, p.Undo.After = s, c.of(s)
	p.Undo.Recorded, _ = p.record.read()
	return nil
}

// Apply sets what was planned.
func (p *Process) Apply() error {
	if err := p.record.write(p.Undo.After); err != nil {
		return p.failed(err)
	}
	if _, err := p.setter.Set(p.Undo.After); err != nil {
		return p.failed(err)
	}
	return nil
}

// Kept says whether the process still has what was applied; if not, what it has: the program
// has set it itself, and is left with that.
func (p *Process) Kept() (now goruntime.GCSettings, kept bool, err error) {
	now, err = p.setter.Settings()
	if err != nil {
		return now, false, p.failed(err)
	}
	return now, now == p.Undo.After, nil
}

func (p *Process) failed(err error) error {
	return fmt.Errorf("process %d (%s): %w", p.PID, p.Name, err)
}

// An Undo takes back what was set, where the program has not set it since.
type Undo struct {
	PID           int
	Started       time.Duration // after boot: another process may have its number
	Before, After goruntime.GCSettings
	Record        string               // the file of what folio set last
	Recorded      goruntime.GCSettings // what was in it; the zero value if it was not there
}

// Undo takes it back. A process that has ended is no error.
func (u Undo) Undo() error {
	fs := procmem.New("")
	st, err := fs.Stat(u.PID)
	if errors.Is(err, os.ErrNotExist) || err == nil && (st.StartTime != u.Started || st.Zombie()) {
		return nil
	}
	if err != nil {
		return err
	}
	s, err := goruntime.AttachToSet(fs, u.PID)
	if err == nil {
		err = errors.Join(s.Restore(u.Before, u.After), s.Close())
	}
	if errors.Is(err, goruntime.ErrGone) || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil && u.Recorded == (goruntime.GCSettings{}) {
		_ = os.Remove(u.Record)
	} else if err == nil {
		_ = os.WriteFile(u.Record, recorded(u.Recorded), 0o600)
	}
	return err
}

// GOGC prints a GOGC.
func GOGC(percent int32) string {
	if percent < 0 {
		return "off"
	}
	return strconv.Itoa(int(percent))
}

// GOMEMLIMIT prints a limit.
func GOMEMLIMIT(limit int64) string {
	if limit == math.MaxInt64 {
		return "none"
	}
	return unit.Exact(uint64(limit))
}
