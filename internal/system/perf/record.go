package perf

import (
	"bytes"
	"encoding/binary"
	"maps"
)

// What perf_event.h calls PERF_RECORD_*.
const (
	recordMmap        = 1
	recordLost        = 2
	recordComm        = 3
	recordExit        = 4
	recordThrottle    = 5
	recordFork        = 7
	recordSample      = 9
	recordMmap2       = 10
	recordLostSamples = 13
)

// faultPeriod is how many page faults of a thread on one processor make a
// sample. A sample costs about as much as a fault; so sampling takes less than
// 3% even from a program that does nothing else. It is a prime number, so that
// it does not beat with memory that comes in powers of two.
const faultPeriod = 31

const (
	miscMode       = 7 // mask of what the processor was in:
	modeKernel     = 1
	modeHypervisor = 3
	miscCommExec   = 1 << 13
	miscMmapData   = 1 << 13

	protExec = 4

	headerSize = 8
	// trailerSize is what every record but a sample ends with: process and thread,
	// time, processor, event. Samples begin with the same and an address.
	trailerSize = 32
)

// Markers in a call chain say whose the addresses behind them are. They are
// small negative numbers.
const (
	contextMax        = ^uint64(4095) + 1
	contextHypervisor = ^uint64(32) + 1
	contextKernel     = ^uint64(128) + 1
	contextUser       = ^uint64(512) + 1
)

// layout is what samples carry beyond what every kernel can put into them.
type layout struct {
	regs  int  // how many registers of the user; the first is the link register
	stack bool // the top of the user's stack
}

// decoder turns the records of a ring into calls of a handler. Nothing that is
// in a record makes it fail: what makes no sense is counted and left out.
type decoder struct {
	layout  layout
	kinds   map[uint64]Kind      // by the kernel's id of the event
	threads map[int]map[int]bool // of each process, as far as known
	// owners is not nil if threads can have their events twice. It says which
	// event's samples count.
	owners map[owner]uint64

	lost      uint64 // as records in the ring say
	throttled uint64
	corrupt   uint64

	sample Sample
}

// owner is what has one event at most, other than by accident.
type owner struct {
	tid, cpu int
	kind     Kind
}

// split returns the type of the record at the start of b, and its time and
// size. A size of 0 is that of no record.
func split(b []byte) (kind uint32, time uint64, size int) {
	if len(b) < headerSize {
		return 0, 0, 0
	}
	kind, size = binary.NativeEndian.Uint32(b), int(binary.NativeEndian.Uint16(b[6:]))
	if size < headerSize+trailerSize || size > len(b) {
		return 0, 0, 0
	}
	at := size - trailerSize + 8
	if kind == recordSample {
		at = headerSize + 24
	}
	return kind, binary.NativeEndian.Uint64(b[at:]), size
}

// cursor reads a record. Behind the end there are zeros, and bad is set.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) u64() uint64 {
	if len(c.b) < 8 {
		c.b, c.bad = nil, true
		return 0
	}
	v := binary.NativeEndian.Uint64(c.b)
	c.b = c.b[8:]
	return v
}

func (c *cursor) u32() uint32 {
	if len(c.b) < 4 {
		c.b, c.bad = nil, true
		return 0
	}
	v := binary.NativeEndian.Uint32(c.b)
	c.b = c.b[4:]
	return v
}

// id reads the number of a process or thread. It is -1 for those that cannot be
// seen from here, and for those that have gone so far that they have none.
func (c *cursor) id() int { return int(int32(c.u32())) }

// text reads what is left up to the first zero.
func (c *cursor) text() string {
	s, _, _ := bytes.Cut(c.b, []byte{0})
	return string(s)
}

// decode tells h about one record, which must be as long as split said.
func (d *decoder) decode(rec []byte, h *Handler) {
	kind := binary.NativeEndian.Uint32(rec)
	misc := binary.NativeEndian.Uint16(rec[4:])
	c := &cursor{b: rec[headerSize : len(rec)-trailerSize]}
	switch kind {
	case recordSample:
		c.b = rec[headerSize:]
		d.takeSample(c, misc, h)
	case recordMmap, recordMmap2:
		d.takeMmap(c, misc, kind == recordMmap2, h)
	case recordComm:
		d.takeComm(c, misc, h)
	case recordFork:
		d.takeFork(c, h)
	case recordExit:
		d.takeExit(c, h)
	case recordLost:
		c.u64() // the event
		d.addLost(c)
	case recordLostSamples:
		d.addLost(c)
	case recordThrottle:
		d.throttled++
	}
	if c.bad {
		d.corrupt++
	}
}

func (d *decoder) addLost(c *cursor) {
	if n := c.u64(); n < 1<<48 { // else it is nonsense
		d.lost += n
	} else {
		c.bad = true
	}
}

func (d *decoder) takeSample(c *cursor, misc uint16, h *Handler) {
	s := &d.sample
	id := c.u64()
	kind, ok := d.kinds[id]
	ip := c.u64()
	*s = Sample{Kind: kind, Kernel: s.Kernel[:0], User: s.User[:0]}
	s.PID, s.TID = c.id(), c.id()
	s.Time = c.u64()
	s.Addr = c.u64()
	s.CPU = c.id()
	c.u32() // reserved
	if s.Period = faultPeriod; kind == CPU {
		s.Period = c.u64()
	}
	mode := misc & miscMode
	s.InKernel = mode == modeKernel || mode == modeHypervisor
	d.takeChain(c)
	if len(s.Kernel)+len(s.User) == 0 && ip != 0 {
		if s.InKernel {
			s.Kernel = append(s.Kernel, ip)
		} else {
			s.User = append(s.User, ip)
		}
	}
	d.takeReturn(c)
	if !ok || c.bad {
		c.bad = true
		return
	}
	if d.owners != nil {
		o := owner{s.TID, s.CPU, kind}
		if first, ok := d.owners[o]; !ok {
			d.owners[o] = id
		} else if first != id {
			return
		}
	}
	if h.Sample != nil {
		h.Sample(s)
	}
}

func (d *decoder) takeChain(c *cursor) {
	s := &d.sample
	n := c.u64()
	if n > uint64(len(c.b)/8) {
		c.bad = true
		return
	}
	to := &s.User
	if s.InKernel {
		to = &s.Kernel
	}
	for range n {
		addr := c.u64()
		switch {
		case addr < contextMax:
			if to != nil {
				*to = append(*to, addr)
			}
		case addr == contextKernel, addr == contextHypervisor:
			to = &s.Kernel
		case addr == contextUser:
			to = &s.User
		default:
			to = nil // of a guest, or something newer
		}
	}
}

func (d *decoder) takeReturn(c *cursor) {
	if d.layout.regs > 0 {
		// A kernel thread has no registers of a user, and so no more than this.
		if abi := c.u64(); abi != 0 {
			for i := range d.layout.regs {
				if v := c.u64(); i == 0 {
					d.sample.Return = v
				}
			}
		}
	}
	if d.layout.stack {
		if size := c.u64(); size >= 8 {
			top := c.u64()
			if size-8 > uint64(len(c.b)) {
				c.bad = true
				return
			}
			c.b = c.b[size-8:]
			if got := c.u64(); got >= 8 { // how much of it is not made up
				d.sample.Return = top
			}
		}
	}
}

func (d *decoder) takeMmap(c *cursor, misc uint16, two bool, h *Handler) {
	m := Mapping{PID: c.id()}
	c.u32() // the thread
	m.Addr, m.Len, m.Offset = c.u64(), c.u64(), c.u64()
	m.Exec = misc&miscMmapData == 0
	if two {
		m.Major, m.Minor, m.Inode = c.u32(), c.u32(), c.u64()
		c.u64() // generation of the inode
		m.Exec = c.u32()&protExec != 0
		c.u32() // flags
	}
	if m.Path = c.text(); m.Path == "//anon" {
		m.Path = ""
	}
	if !c.bad && h.Mmap != nil {
		h.Mmap(&m)
	}
}

func (d *decoder) takeComm(c *cursor, misc uint16, h *Handler) {
	pid := c.id()
	c.u32() // the thread; for an exec the same
	if misc&miscCommExec == 0 || c.bad {
		return // a thread gave itself a name
	}
	d.threads[pid] = map[int]bool{pid: true}
	if h.Exec != nil {
		h.Exec(pid, c.text())
	}
}

func (d *decoder) takeFork(c *cursor, h *Handler) {
	pid, parent, tid := c.id(), c.id(), c.id()
	if c.bad {
		return
	}
	if pid == parent {
		if d.threads[pid] == nil {
			d.threads[pid] = map[int]bool{pid: true}
		}
		d.threads[pid][tid] = true
		return
	}
	if d.owners != nil && d.threads[pid] != nil {
		return // told already
	}
	d.threads[pid] = map[int]bool{pid: true}
	if h.Fork != nil {
		h.Fork(pid, parent)
	}
}

// takeExit tells the end of a process, which is that of its last thread: the
// first may go while others stay. Where records were lost it is not known which
// there are, and the first thread stands for all.
func (d *decoder) takeExit(c *cursor, h *Handler) {
	pid := c.id()
	c.u32() // the parent
	tid := c.id()
	if c.bad {
		return
	}
	if d.owners != nil { // the number can be given to another thread
		maps.DeleteFunc(d.owners, func(o owner, _ uint64) bool { return o.tid == tid })
	}
	list, known := d.threads[pid]
	delete(list, tid)
	if guess := tid == pid && d.lost > 0; !guess && (!known || len(list) > 0) {
		return
	}
	delete(d.threads, pid)
	if h.Exit != nil {
		h.Exit(pid)
	}
}
