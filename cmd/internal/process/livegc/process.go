package livegc

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/guard"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/procmem"
)

// ErrNoLimit refuses GOGC=off without GOMEMLIMIT.
var ErrNoLimit = errors.New("GOGC=off without a memory limit lets the heap grow until memory runs out; add --memlimit SIZE")

// ErrHeld says that another folio has changed the settings of a process for a while.
var ErrHeld = errors.New("its settings are held by another folio set, a folio tune --attach or folio-agent: wait until that ends, or stop it")

// A Change is the settings to change; nil keeps one.
type Change struct {
	Percent *int32 // GOGC; -1 is off
	Limit   *int64 // GOMEMLIMIT, in bytes; math.MaxInt64 is off
}

// IsZero reports whether nothing is to change.
func (c Change) IsZero() bool { return c.Percent == nil && c.Limit == nil }

// ParseGOGC reads a GOGC: off, or a whole percentage.
func ParseGOGC(text string) (*int32, error) {
	if text == "off" {
		return new(int32(-1)), nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 || n > goruntime.MaxPercent {
		return nil, fmt.Errorf("%q: want off, or a percentage from 0 to %d such as 200", text, goruntime.MaxPercent)
	}
	return new(int32(n)), nil
}

// ParseGOMEMLIMIT reads a limit: off, or a size.
func ParseGOMEMLIMIT(text string) (*int64, error) {
	if text == "off" {
		return new(int64(math.MaxInt64)), nil
	}
	n, err := unit.ParseSize(text)
	if err != nil || n == 0 {
		return nil, fmt.Errorf("%q: want a size such as 512MiB, or off", text)
	}
	return new(int64(min(n, math.MaxInt64))), nil
}

// ParseChange reads the change that the flags --gogc and --memlimit ask for, of those that were
// given.
func ParseChange(gogc, memlimit string, given func(flag string) bool) (c Change, err error) {
	if given("gogc") {
		if c.Percent, err = ParseGOGC(gogc); err != nil {
			return c, fmt.Errorf("--gogc: %w", err)
		}
	}
	if given("memlimit") {
		if c.Limit, err = ParseGOMEMLIMIT(memlimit); err != nil {
			return c, fmt.Errorf("--memlimit: %w", err)
		}
	}
	return c, nil
}

// Of returns settings with the change.
func (c Change) Of(s goruntime.GCSettings) goruntime.GCSettings {
	if c.Percent != nil {
		s.Percent = *c.Percent
	}
	if c.Limit != nil {
		s.Limit = *c.Limit
	}
	return s
}

// A Process is a running Go program.
type Process struct {
	PID    int
	Name   string
	Undo   Undo // takes the last Apply back
	setter *goruntime.Setter
	env    goruntime.GCSettings // what its environment says
	record record
}

// A State is the settings of a process and their sources.
type State struct {
	goruntime.GCSettings
	PercentBy, LimitBy string
}

// Open finds the runtime of a process. It needs the right to ptrace the process.
func Open(fs procmem.FS, pid int) (*Process, error) {
	p := &Process{PID: pid}
	why := func(err error) error {
		if errors.Is(err, os.ErrPermission) {
			return &deniedError{fs.Denied(pid)}
		}
		return fs.Unseen(pid, err)
	}
	st, err := fs.Find(pid)
	if err != nil {
		return nil, p.failed(why(err))
	}
	if st.Kernel {
		return nil, p.failed(procmem.ErrKernelThread)
	}
	p.Name = st.Comm
	if p.setter, err = goruntime.AttachToSet(fs, pid); err != nil {
		return nil, p.failed(why(err))
	}
	env, err := fs.Environ(pid)
	if err != nil {
		return nil, errors.Join(p.failed(why(err)), p.Close())
	}
	p.env = ofEnvironment(env)
	p.record = recordOf(fs, pid, st.StartTime)
	p.Undo = Undo{PID: pid, Started: st.StartTime, Mem: p.setter.Mem().Fd(), Record: p.record}
	return p, nil
}

// A deniedError says why the kernel does not let a process be changed.
type deniedError struct{ text string }

func (e *deniedError) Error() string { return e.text }

func (e *deniedError) Is(target error) bool { return target == os.ErrPermission }

// Close releases the process. Its settings stay as they are.
func (p *Process) Close() error { return p.setter.Close() }

// ofEnvironment is what a runtime reads from its environment at the start (readGOGC,
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

// State reads the settings in effect.
func (p *Process) State() (s State, err error) {
	if s.GCSettings, err = p.setter.Settings(); err != nil {
		return s, p.failed(err)
	}
	last, set := p.record.read()
	folio := last.Set
	can := p.setter.Sets()
	s.PercentBy = source(s.Percent, p.env.Percent, 100, folio.Percent, set, can.Percent, "debug.SetGCPercent", can.By)
	s.LimitBy = source(s.Limit, p.env.Limit, math.MaxInt64, folio.Limit, set, can.Limit, "debug.SetMemoryLimit", can.By)
	return s, nil
}

// What begins, or is, the source of a setting.
const (
	byDefault     = "default"
	byEnvironment = "environment"
	byProgram     = "the program: "
)

// Foreign returns the first setting of those that c changes which is neither the default nor of
// the environment, with its source; "" if there is none. program says that the program set it.
func (s State) Foreign(c Change) (text string, program bool) {
	for _, of := range []struct {
		changes bool
		text    string
		by      string
	}{{c.Percent != nil, "GOGC=" + GOGC(s.Percent), s.PercentBy}, {c.Limit != nil, "GOMEMLIMIT=" + GOMEMLIMIT(s.Limit), s.LimitBy}} {
		if of.changes && of.by != byDefault && of.by != byEnvironment {
			return of.text + " is set by " + of.by, strings.HasPrefix(of.by, byProgram)
		}
	}
	return "", false
}

// source returns where a setting comes from, as far as its value and the program's functions
// tell.
func source[T comparable](now, env, builtIn, folio T, set, can bool, call string, by []string) string {
	switch {
	case now == env && env == builtIn:
		return byDefault
	case now == env:
		return byEnvironment
	case set && now == folio:
		return "folio set"
	case can && len(by) > 0:
		return byProgram + strings.Join(by, ", ")
	case can:
		return byProgram + call
	}
	return "another process: the program does not call " + call
}

// Rivals returns what in the program may replace a change, as in "calls debug.SetGCPercent";
// "" if nothing.
func (p *Process) Rivals(c Change) string {
	can := p.setter.Sets()
	var calls []string
	if c.Percent != nil && can.Percent {
		calls = append(calls, "debug.SetGCPercent")
	}
	if c.Limit != nil && can.Limit {
		calls = append(calls, "debug.SetMemoryLimit")
	}
	if len(calls) > 0 && len(can.By) > 0 {
		return "uses " + strings.Join(can.By, ", ")
	}
	if len(calls) == 0 {
		return ""
	}
	return "calls " + strings.Join(calls, ", ")
}

// Check returns why a change is refused.
func (p *Process) Check(c Change) error {
	s, err := p.setter.Settings()
	if err != nil {
		return p.failed(err)
	}
	if want := c.Of(s); want.Percent < 0 && want.Limit == math.MaxInt64 {
		return p.failed(ErrNoLimit)
	}
	return p.checkLimit(c, s)
}

// checkLimit refuses a lower memory limit that the live heap alone exceeds.
func (p *Process) checkLimit(c Change, now goruntime.GCSettings) error {
	if c.Limit == nil || *c.Limit >= now.Limit {
		return nil
	}
	h, err := p.Heap()
	if err != nil || h.Marked == nil || uint64(*c.Limit) > *h.Marked {
		return nil // what is not known is no reason
	}
	return p.failed(fmt.Errorf("GOMEMLIMIT=%s is less than its live heap of %s: the GC would run all the time; give more than that", GOMEMLIMIT(*c.Limit), unit.Size(*h.Marked)))
}

// Hold keeps other folios from changing the process until Close, and until the processes
// that this one starts have ended: if this one is killed, the guard still has to restore the
// settings. The lock is on the memory of the process itself, so it holds across users, and
// only those who may ptrace the process can take it.
func (p *Process) Hold() error {
	if err := lock(p.setter.Mem()); err != nil {
		return p.failed(err)
	}
	return nil
}

// Release ends Hold. No process that this one started meanwhile may still run.
func (p *Process) Release() error {
	if err := unlock(p.setter.Mem()); err != nil {
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
	p.Undo.Before, p.Undo.After = s, c.Of(s)
	p.Undo.Recorded, _ = p.record.read()
	return nil
}

// Keep tells a guard of the change that was planned, which is for a while then.
func (p *Process) Keep(g *guard.Guard[Undo]) error {
	p.Undo.Temporary = true
	if err := g.Keep(p.Undo); err != nil {
		return p.failed(err)
	}
	return nil
}

// Apply makes the change that was planned.
func (p *Process) Apply() error {
	p.record.write(p.Undo.entry())
	if _, err := p.setter.Set(p.Undo.After); err != nil {
		return p.failed(err)
	}
	return nil
}

// Switch replaces what Plan and earlier calls set by other settings, those of Plan with c: g, which
// was told of Plan, restores those from before Plan all the time. An error leaves these in effect.
func (p *Process) Switch(c Change, g *guard.Guard[Undo]) error {
	now, kept, err := p.Kept()
	switch {
	case err != nil:
		return err
	case !kept:
		return p.failed(fmt.Errorf("%w: GOGC=%s, GOMEMLIMIT=%s now", goruntime.ErrNotTaken, GOGC(now.Percent), GOMEMLIMIT(now.Limit)))
	}
	last, next := p.Undo, p.Undo
	next.After = c.Of(next.Before)
	if next == last {
		return nil
	}
	if err := g.Keep(next); err != nil {
		return p.failed(err)
	}
	p.Undo = next
	if err = p.Apply(); err != nil { // what is in effect is of one of the two
		return errors.Join(err, next.Undo(), last.Undo())
	}
	if err := g.Drop(last); err != nil {
		return p.failed(err)
	}
	return nil
}

// Resume continues a change for a while that a folio of this user made, and that was not restored
// because its guard was killed too: Undo restores the settings from before it. ok is false if none
// is in effect as a whole: what is left of it is restored. Hold comes first.
func (p *Process) Resume() (ok bool, err error) {
	e, found := p.record.read()
	if !found || e.Before == (goruntime.GCSettings{}) {
		return false, nil
	}
	p.Undo.Before, p.Undo.After, p.Undo.Temporary, p.Undo.Recorded = e.Before, e.Set, true, entry{}
	_, ok, err = p.Kept()
	if err == nil && !ok {
		err = p.Undo.Undo()
	}
	return ok, err
}

// Left returns the processes with a change that [Process.Resume] could continue, by number.
func Left(fs procmem.FS) (pids []int) {
	for _, r := range records() {
		pid, started := r.process()
		if e, ok := r.read(); !ok || e.Before == (goruntime.GCSettings{}) {
			continue
		}
		if st, err := fs.Stat(pid); err == nil && startOf(st) == started {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Restore restores the settings from before Plan.
func (p *Process) Restore(g *guard.Guard[Undo]) error { return takeBack(p, g) }

// ReadGC reads what the runtime counts of its GC.
func (p *Process) ReadGC(g *goruntime.GC) error { return p.setter.ReadGC(g) }

// Heap reads what the runtime says of its heap.
func (p *Process) Heap() (goruntime.State, error) { return p.setter.State() }

// Kept reads the settings, and reports whether they are those that were applied. If not, the
// program has changed them.
func (p *Process) Kept() (now goruntime.GCSettings, kept bool, err error) {
	now, err = p.setter.Settings()
	if err != nil {
		return now, false, p.failed(err)
	}
	return now, now == p.Undo.After, nil
}

// An Error names the process that an error is about.
type Error struct {
	PID  int
	Name string // "" if it is not known
	Err  error
}

func (e *Error) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("set process %d: %v", e.PID, e.Err)
	}
	return fmt.Sprintf("set process %d (%s): %v", e.PID, e.Name, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

func (p *Process) failed(err error) error { return &Error{p.PID, p.Name, err} }

// An Undo restores settings, except those that the program has changed since.
type Undo struct {
	PID           int
	Started       time.Duration // after boot: the PID may have been reused
	Mem           uintptr       // its memory, as the number of an open file, which the guard inherits
	Before, After goruntime.GCSettings
	Temporary     bool // a guard knows it
	Record        record
	Recorded      entry // what Record said before; zero if nothing
}

// entry is what the record says while the change is in effect.
func (u Undo) entry() entry {
	if u.Temporary {
		return entry{u.After, u.Before}
	}
	return entry{Set: u.After}
}

// Undo restores them. It does nothing if the process has ended or begun another program.
func (u Undo) Undo() error {
	fs := procmem.New("")
	st, err := fs.Stat(u.PID)
	if errors.Is(err, os.ErrNotExist) || err == nil && (st.StartTime != u.Started || st.Zombie()) {
		return nil
	}
	if err != nil {
		return err
	}
	mem, err := duplicate(u.Mem)
	if err != nil {
		return err
	}
	// Memory that no process has ends at its beginning; else nothing is mapped there.
	if _, err := mem.ReadAt(make([]byte, 1), 0); errors.Is(err, io.EOF) {
		return mem.Close()
	}
	s, err := goruntime.AttachToMemory(fs, u.PID, mem)
	if err == nil {
		err = errors.Join(s.Restore(u.Before, u.After), s.Close())
	}
	if errors.Is(err, goruntime.ErrGone) || procmem.Gone(err) {
		return nil
	}
	if err == nil {
		u.Record.write(u.Recorded)
	}
	return err
}

// GOGC formats a GOGC.
func GOGC(percent int32) string {
	if percent < 0 {
		return "off"
	}
	return strconv.Itoa(int(percent))
}

// GOMEMLIMIT formats a memory limit.
func GOMEMLIMIT(limit int64) string {
	if limit == math.MaxInt64 {
		return "off"
	}
	return unit.Exact(uint64(limit))
}
