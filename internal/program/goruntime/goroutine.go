package goruntime

import (
	"context"
	"errors"
	"fmt"

	"github.com/foliomem/folio/internal/program/layout"
)

// A Goroutine is one of a process.
type Goroutine struct {
	ID     uint64
	Status Status
	// Reason is why it waits, as stack traces say it.
	Reason string
	// Since is about when it began to wait, on the clock of CLOCK_MONOTONIC in nanoseconds:
	// the end of the GC cycle before the one that first saw it wait; 0 for none.
	Since uint64
	// Created is the return address of the go statement, Start the function that it began
	// with. Both are 0 for the first goroutine's creation.
	Created, Start uint64
	Parent         uint64
	// Stack are the addresses of what it executes, innermost first: at most MaxFrames. It is
	// empty for one that runs, whose registers are not in memory.
	Stack []uint64
	// Whole says that Stack ends where the goroutine began.
	Whole bool
}

// Status is the state of a goroutine.
type Status uint8

// States of goroutines, as the runtime numbers them.
const (
	Runnable  Status = 1
	Running   Status = 2
	InSyscall Status = 3
	Waiting   Status = 4
	dead      Status = 6
	copying   Status = 8
	Preempted Status = 9
	Leaked    Status = 10 // waits for what nothing can reach (Go 1.27, an experiment of 1.26)
	deadExtra Status = 11
	scanned          = 0x1000 // by the GC, which is not a state
)

// String returns the state as stack traces have it.
func (s Status) String() string {
	switch s {
	case Runnable:
		return "runnable"
	case Running, copying:
		return "running"
	case InSyscall:
		return "syscall"
	case Waiting:
		return "waiting"
	case Preempted:
		return "preempted"
	case Leaked:
		return "leaked"
	}
	return "unknown"
}

const (
	// MaxFrames bounds a stack.
	MaxFrames = 100
	// MaxGoroutines bounds how many are read.
	MaxGoroutines = 1 << 22
	// stackBytes is how much of a stack is read; deeper frames are left out.
	stackBytes = 32 << 10
)

// FindsLeaks reports whether the program can look for goroutines that wait for what nothing
// can reach, by the profile goroutineleak of package runtime/pprof.
func (t *Target) FindsLeaks() bool { return t.at.Links(layout.LeakProfiler) }

// goroutineFields are where a goroutine has what is read.
type goroutineFields struct {
	size                                              uint64
	lo, hi, sp, pc, lr, sysSP, sysPC                  layout.Field
	status, id, since, reason, parent, created, start layout.Field
}

func (t *Target) goroutineFields() (goroutineFields, error) {
	f := goroutineFields{
		size: t.field("g").Size, lo: t.field("g.stack.lo"), hi: t.field("g.stack.hi"), sp: t.field("g.sched.sp"), pc: t.field("g.sched.pc"),
		lr: t.field("g.sched.lr"), sysSP: t.field("g.syscallsp"), sysPC: t.field("g.syscallpc"), status: t.field("g.atomicstatus"),
		id: t.field("g.goid"), since: t.field("g.waitsince"), reason: t.field("g.waitreason"), created: t.field("g.gopc"), start: t.field("g.startpc"),
	}
	f.parent, _ = t.l.Field("g.parentGoid")
	return f, t.lacks()
}

// EachGoroutine calls visit with each goroutine of the process, with its stack or, which
// is cheaper, without; what it is called with is valid until it returns. Nothing is stopped: a goroutine that runs while its stack is read
// has none. It returns how many could not be read.
func (t *Target) EachGoroutine(ctx context.Context, stacks bool, visit func(*Goroutine)) (unread int, err error) {
	all, err := t.Goroutines()
	if err != nil {
		return 0, err
	}
	f, err := t.goroutineFields()
	if err != nil {
		return 0, err
	}
	u := &unwinder{t: t, off: !stacks, sizes: map[uint64]frameSize{}, stack: make([]byte, stackBytes), pcs: make([]uint64, 0, MaxFrames)}
	b, again := make([]byte, f.size), make([]byte, f.size)
	for i, at := range all {
		if i%1024 == 0 && ctx.Err() != nil {
			return unread, ctx.Err()
		}
		g, err := t.goroutine(&f, u, at, b, again)
		if errors.Is(err, ErrInconsistent) {
			unread++
			if t.reads < 0 || t.bytes < 0 {
				return unread + len(all) - i - 1, nil
			}
			continue
		}
		if err != nil {
			return unread, err
		}
		if g != nil {
			visit(g)
		}
	}
	return unread, nil
}

// goroutine reads a goroutine; nil for one that is dead.
func (t *Target) goroutine(f *goroutineFields, u *unwinder, at uint64, b, again []byte) (*Goroutine, error) {
	const tries = 3
	for try := range tries {
		if err := t.read(at, b); err != nil {
			return nil, err
		}
		status := t.number(b, f.status) &^ scanned
		switch {
		case status == 0, status == uint64(dead), status == uint64(deadExtra):
			return nil, nil
		case status > uint64(deadExtra):
			return nil, fmt.Errorf("%w: a goroutine in state %d", ErrInconsistent, status)
		}
		g := &Goroutine{
			ID: t.number(b, f.id), Status: Status(status), Since: t.number(b, f.since), Parent: t.number(b, f.parent),
			Created: t.number(b, f.created), Start: t.number(b, f.start),
		}
		switch g.Status {
		case Waiting, Leaked:
			g.Reason = t.l.WaitReason(t.number(b, f.reason))
		default:
			g.Since = 0 // of an earlier wait
		}
		if u.off || g.Status == Running || g.Status == copying {
			return g, nil
		}
		pc, sp, lr := t.number(b, f.pc), t.number(b, f.sp), t.number(b, f.lr)
		if n := t.number(b, f.sysSP); n != 0 {
			pc, sp, lr = t.number(b, f.sysPC), n, 0
		}
		pcs, whole, err := u.unwind(pc, sp, lr, t.number(b, f.lo), t.number(b, f.hi))
		if err != nil && !errors.Is(err, ErrInconsistent) {
			return nil, err
		}
		if err := t.read(at, again); err != nil {
			return nil, err
		}
		if t.same(b, again, f.status, f.sp, f.pc, f.lo, f.id, f.sysSP) {
			g.Stack, g.Whole = pcs, whole
			return g, nil
		}
		if try == tries-1 { // it runs, and waits now and then
			g.Status, g.Reason, g.Since = Running, "", 0
			return g, nil
		}
	}
	return nil, nil
}

// same compares fields. The status counts without the GC's mark.
func (t *Target) same(a, b []byte, status layout.Field, fields ...layout.Field) bool {
	if t.number(a, status)&^scanned != t.number(b, status)&^scanned {
		return false
	}
	for _, f := range fields {
		if t.number(a, f) != t.number(b, f) {
			return false
		}
	}
	return true
}

// frameSize is what the program's table says of an address.
type frameSize struct {
	size        uint64
	topmost, ok bool
}

// unwinder follows stacks by the sizes of frames.
type unwinder struct {
	t     *Target
	off   bool
	sizes map[uint64]frameSize
	stack []byte
	pcs   []uint64
}

// maxSizes bounds what is remembered of a program that makes its addresses up.
const maxSizes = 1 << 18

func (u *unwinder) size(pc uint64) frameSize {
	f, known := u.sizes[pc]
	if !known && u.t.file != nil {
		n, topmost, ok := u.t.file.FrameSize(pc - u.t.moved)
		f = frameSize{uint64(max(n, 0)), topmost, ok}
		if len(u.sizes) == maxSizes {
			clear(u.sizes)
		}
		u.sizes[pc] = f
	}
	return f
}

// unwind returns what is executed, innermost first, and whether it reached the function
// that has no caller. The result is valid until the next call.
func (u *unwinder) unwind(pc, sp, lr, lo, hi uint64) (pcs []uint64, whole bool, err error) {
	const most = 1 << 32 // bytes of a stack; the runtime's own bound is 1 GB
	if sp < lo || sp >= hi || hi-lo > most || sp%8 != 0 {
		return nil, false, fmt.Errorf("%w: a stack pointer of %#x", ErrInconsistent, sp)
	}
	stack := u.stack[:min(hi-sp, stackBytes)]
	if err := u.t.read(sp, stack); err != nil {
		return nil, false, err
	}
	onStack := u.t.l.Arch == "amd64" // the return address; else it is in a register
	pcs = u.pcs[:0]
	for at := uint64(0); ; {
		f := u.size(pc)
		if !f.ok || f.size > uint64(len(stack)) {
			return pcs, false, nil
		}
		pcs = append(pcs, pc)
		switch {
		case f.topmost:
			return pcs, true, nil
		case len(pcs) == MaxFrames:
			return pcs, false, nil
		}
		next := at + f.size
		switch {
		case onStack:
			if next+8 > uint64(len(stack)) {
				return pcs, false, nil
			}
			pc = u.t.order.Uint64(stack[next:])
			next += 8
		case f.size == 0: // a function without a frame, which only the innermost can be
			if len(pcs) > 1 || lr == 0 {
				return pcs, false, nil
			}
			pc = lr
		default:
			if at+8 > uint64(len(stack)) {
				return pcs, false, nil
			}
			pc = u.t.order.Uint64(stack[at:])
		}
		at = next
	}
}
