package goruntime

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/foliomem/folio/cmd/internal/program/layout"
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

// batched is how many goroutines are read at once, and batchedStacks how many bytes of
// their stacks.
const (
	batched       = 512
	batchedStacks = 1 << 20
)

// EachGoroutine calls visit with each goroutine of the process, with its stack or, which
// is cheaper, without; what it is called with is valid until it returns. Nothing is stopped:
// a goroutine that runs while its stack is read has none. It returns how many could not be
// read. Where the process ends meanwhile ([ErrGone]) that is all the rest: goroutines are
// not visited in the order in which they began, so those that were are a sample of all.
func (t *Target) EachGoroutine(ctx context.Context, stacks bool, visit func(*Goroutine)) (unread int, err error) {
	all, err := t.Goroutines()
	if err != nil {
		return 0, err
	}
	r, err := newGoroutines(t, stacks)
	if err != nil {
		return 0, err
	}
	left := len(all)
	parts := slices.Collect(slices.Chunk(all, batched))
	step := stride(len(parts))
	for i := range parts {
		part := parts[i*step%len(parts)]
		if ctx.Err() != nil {
			return unread, ctx.Err()
		}
		r.read(part)
		for _, at := range part {
			g, err := r.goroutine(at)
			if errors.Is(err, ErrGone) {
				return unread + left, err
			}
			left--
			if errors.Is(err, ErrInconsistent) {
				unread++
				if t.reads < 0 || t.bytes < 0 {
					return unread + left, nil
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
	}
	return unread, nil
}

// stride is a step through n numbers, modulo n, that comes to each: any number of the first are
// from everywhere.
func stride(n int) int {
	step := max(n*618/1000, 1)
	for ; step < n; step++ {
		a, b := step, n
		for b != 0 {
			a, b = b, a%b
		}
		if a == 1 {
			break
		}
	}
	return step
}

// goroutines reads goroutines.
type goroutines struct {
	t                     *Target
	f                     *goroutineFields
	u                     *unwinder
	b, again              []byte
	before, stacks, after *batch // the last two are nil without stacks
	g                     Goroutine
}

func newGoroutines(t *Target, stacks bool) (*goroutines, error) {
	f, err := t.goroutineFields()
	if err != nil {
		return nil, err
	}
	r := &goroutines{
		t: t, f: &f, u: &unwinder{t: t, off: !stacks, sizes: map[uint64]frameSize{}, stack: make([]byte, stackBytes), pcs: make([]uint64, 0, MaxFrames)},
		b: make([]byte, f.size), again: make([]byte, f.size), before: newBatch(t, batched*int(f.size+near)/4),
	}
	if stacks {
		r.after, r.stacks = newBatch(t, len(r.before.buf)), newBatch(t, batchedStacks)
	}
	return r, nil
}

// read reads some goroutines at once.
func (r *goroutines) read(all []uint64) {
	r.before.clear()
	for _, at := range all {
		r.before.add(at, r.f.size)
	}
	r.before.read()
	if r.u.off {
		return
	}
	r.stacks.clear()
	r.after.clear()
	for _, at := range all {
		b := r.before.at(at, r.f.size)
		if b == nil || !r.rests(b) {
			continue
		}
		if sp, size := r.stack(b); size > 0 {
			r.stacks.add(sp, size)
			r.after.add(at, r.f.size)
		}
	}
	r.stacks.read()
	r.after.read()
}

// rests reports whether a goroutine has a stack that can be read.
func (r *goroutines) rests(b []byte) bool {
	switch s := r.status(b); s {
	case 0, dead, deadExtra, Running, copying:
		return false
	default:
		return s < deadExtra
	}
}

func (r *goroutines) status(b []byte) Status {
	n := number(b, r.f.status) &^ scanned
	return Status(min(n, uint64(deadExtra)+1))
}

// registers are where a goroutine goes on.
func (r *goroutines) registers(b []byte) (pc, sp, lr uint64) {
	if n := number(b, r.f.sysSP); n != 0 {
		return number(b, r.f.sysPC), n, 0
	}
	return number(b, r.f.pc), number(b, r.f.sp), number(b, r.f.lr)
}

// stack is what is read of a goroutine's stack, from its pointer on; size is 0 where no stack
// can be like this.
func (r *goroutines) stack(b []byte) (sp, size uint64) {
	const most = 1 << 32 // bytes of a stack; the runtime's own bound is 1 GB
	_, sp, _ = r.registers(b)
	lo, hi := number(b, r.f.lo), number(b, r.f.hi)
	if sp < lo || sp >= hi || hi-lo > most || sp%8 != 0 {
		return sp, 0
	}
	return sp, min(hi-sp, stackBytes)
}

// take takes what was read of a goroutine into r.g; false for one that is dead.
func (r *goroutines) take(b []byte) (bool, error) {
	t, f := r.t, r.f
	status := r.status(b)
	switch {
	case status == 0, status == dead, status == deadExtra:
		return false, nil
	case status > deadExtra:
		return false, fmt.Errorf("%w: a goroutine in state %d", ErrInconsistent, number(b, f.status))
	}
	r.g = Goroutine{ID: number(b, f.id), Status: status, Parent: number(b, f.parent), Created: number(b, f.created), Start: number(b, f.start)}
	if status == Waiting || status == Leaked { // else they are of an earlier wait
		r.g.Reason, r.g.Since = t.l.WaitReason(number(b, f.reason)), number(b, f.since)
	}
	return true, nil
}

// goroutine returns a goroutine, nil for one that is dead: as it was read with others if it
// was the same after its stack, else by itself.
func (r *goroutines) goroutine(at uint64) (*Goroutine, error) {
	b := r.before.at(at, r.f.size)
	if b == nil {
		return r.alone(at)
	}
	if ok, err := r.take(b); err != nil || !ok {
		return nil, err
	}
	if r.u.off || !r.rests(b) {
		return &r.g, nil
	}
	again := r.after.at(at, r.f.size)
	stack := r.stacks.at(r.stack(b))
	if stack == nil || again == nil || !r.same(b, again) {
		return r.alone(at)
	}
	r.unwind(b, stack)
	return &r.g, nil
}

// unwind follows the stack of a goroutine.
func (r *goroutines) unwind(b, stack []byte) {
	pc, _, lr := r.registers(b)
	r.g.Stack, r.g.Whole = r.u.unwind(pc, lr, stack)
}

// alone reads a goroutine by itself.
func (r *goroutines) alone(at uint64) (*Goroutine, error) {
	const tries = 3
	for range tries {
		if err := r.t.read(at, r.b); err != nil {
			return nil, err
		}
		if ok, err := r.take(r.b); err != nil || !ok {
			return nil, err
		}
		if r.u.off || !r.rests(r.b) {
			return &r.g, nil
		}
		var stack []byte
		if sp, size := r.stack(r.b); size > 0 {
			stack = r.u.stack[:size]
			if err := r.t.read(sp, stack); errors.Is(err, ErrInconsistent) {
				stack = nil
			} else if err != nil {
				return nil, err
			}
		}
		if err := r.t.read(at, r.again); err != nil {
			return nil, err
		}
		if r.same(r.b, r.again) {
			if stack != nil {
				r.unwind(r.b, stack)
			}
			return &r.g, nil
		}
	}
	// It runs, and waits now and then.
	r.g.Status, r.g.Reason, r.g.Since = Running, "", 0
	return &r.g, nil
}

// same reports whether a goroutine is as it was. The status counts without the GC's mark.
func (r *goroutines) same(a, b []byte) bool {
	f := r.f
	return r.status(a) == r.status(b) && !slices.ContainsFunc([]layout.Field{f.sp, f.pc, f.lo, f.id, f.sysSP}, func(f layout.Field) bool {
		return number(a, f) != number(b, f)
	})
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
	if file, moved := u.t.fileOf(pc); !known && file != nil {
		n, topmost, ok := file.FrameSize(pc - moved)
		f = frameSize{uint64(max(n, 0)), topmost, ok}
		if len(u.sizes) == maxSizes {
			clear(u.sizes)
		}
		u.sizes[pc] = f
	}
	return f
}

// unwind returns what is executed, innermost first, by the stack from its pointer on, and
// whether it reached the function that has no caller. The result is valid until the next
// call.
func (u *unwinder) unwind(pc, lr uint64, stack []byte) (pcs []uint64, whole bool) {
	onStack := u.t.l.Arch == "amd64" // the return address; else it is in a register
	pcs = u.pcs[:0]
	for at := uint64(0); ; {
		f := u.size(pc)
		if !f.ok || f.size > uint64(len(stack)) {
			return pcs, false
		}
		pcs = append(pcs, pc)
		switch {
		case f.topmost:
			return pcs, true
		case len(pcs) == MaxFrames:
			return pcs, false
		}
		next := at + f.size
		switch {
		case onStack:
			if next+8 > uint64(len(stack)) {
				return pcs, false
			}
			pc = binary.LittleEndian.Uint64(stack[next:])
			next += 8
		case f.size == 0: // a function without a frame, which only the innermost can be
			if len(pcs) > 1 || lr == 0 {
				return pcs, false
			}
			pc = lr
		default:
			if at+8 > uint64(len(stack)) {
				return pcs, false
			}
			pc = binary.LittleEndian.Uint64(stack[at:])
		}
		at = next
	}
}
