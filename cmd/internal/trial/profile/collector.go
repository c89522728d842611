package profile

import (
	"encoding/binary"
	"runtime"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/base/input"
	"github.com/foliomem/folio/internal/system/perf"
)

// Options says where a collector finds names.
type Options struct {
	// KernelSymbols gives names to the kernel's addresses, as
	// [symbol.KernelTable] does; nil if they are hidden. What the kernel did is
	// then told from who called it.
	KernelSymbols interface{ Lookup(addr uint64) string }
	// Root is the directory that /proc is below; "" is that of the running system.
	Root string

	maxStacks int
	open      func(m *perf.Mapping) *object // for tests
}

// Collector gathers samples. Its methods, and those of its handler, must not be
// called from several goroutines at a time.
type Collector struct {
	opts      Options
	processes map[int]*process
	// ended processes stay for a while: buffers of several processors are read
	// one after the other, so a sample can come after its process's end.
	ended []endedProcess

	objects []*object
	byID    map[identity]uint32

	places  []location
	byPlace map[location]uint32
	targets map[uint32]uint64 // by place: what is called before it, 0 if unknown
	frames  [][]frame         // by place
	callees map[uint32][]frame

	stacks map[string]*sampled
	folds  uint64
	// foldedUnnamed counts samples without a name in stacks that were cut.
	foldedUnnamed uint64
	buf           []byte
	key           []uint32

	mostKnown int   // addresses that a process remembers
	changed   int64 // of the next file: see identity
	window    int   // of a Meter

	scale      [2]float64 // ns for each unit of a sample's period, of the user's side and the kernel's
	faultScale float64    // faults for each that a sample stands for
	heapFaults uint64     // the periods of those in Go's heap
	faultsBy   processes  // the periods of faults
}

// location is a place in code: an offset in a file.
type location struct {
	object  uint32
	offset  uint64 // an address in the kernel; 0 where no offset says anything
	returns bool   // the place that a call returns to
}

// These objects always exist.
const (
	nowhere uint32 = iota // addresses that nothing is mapped at
	theKernel
)

// sampled is a stack and how often it was seen.
type sampled struct {
	kind         perf.Kind
	inKernel     bool
	kernel, user []uint32 // places, innermost first
	// direct is set if the second place is the return address that was found
	// without a frame.
	direct bool
	folded Class // the class of a stack that was cut to its site

	count, period uint64
}

type endedProcess struct {
	pid int
	p   *process
}

const (
	// maxStacks bounds the memory that stacks need, some 20 MiB. When there are
	// more, all are classified and cut to their sites.
	maxStacks = 1 << 16
	maxEnded  = 256
)

// New returns a collector; nil options are defaults.
func New(opts *Options) *Collector {
	c := &Collector{
		processes: make(map[int]*process),
		objects:   []*object{{path: "unknown", memory: true}, {path: "[kernel]"}},
		byID:      make(map[identity]uint32), byPlace: make(map[location]uint32),
		targets: make(map[uint32]uint64), callees: make(map[uint32][]frame), stacks: make(map[string]*sampled),
		scale: [2]float64{1, 1}, faultScale: 1, mostKnown: maxKnown,
	}
	if opts != nil {
		c.opts = *opts
	}
	c.SetKernelSymbols(c.opts.KernelSymbols)
	if c.opts.maxStacks == 0 {
		c.opts.maxStacks = maxStacks
	}
	if c.opts.open == nil {
		budget := symbol.NewBudget()
		c.opts.open = func(m *perf.Mapping) *object { return openObject(c.opts.Root, m, budget) }
	}
	return c
}

// SetKernelSymbols is for symbols that are read late: after the sampling, before
// the result. nil says that they are hidden.
func (c *Collector) SetKernelSymbols(k interface{ Lookup(addr uint64) string }) {
	if t, ok := k.(*symbol.KernelTable); ok && t == nil {
		k = nil
	}
	c.opts.KernelSymbols = k
}

// Close closes the files that were opened for their symbols. Results must have
// been asked for before.
func (c *Collector) Close() {
	for _, o := range c.objects {
		o.close()
	}
}

// Handler returns what a session of package perf has to call.
func (c *Collector) Handler() *perf.Handler {
	return &perf.Handler{Sample: c.sample, Mmap: c.mmap, Exec: c.exec, Fork: c.fork, Exit: c.exit}
}

func (c *Collector) process(pid int) *process {
	p := c.processes[pid]
	if p == nil {
		p = &process{}
		c.processes[pid] = p
	}
	return p
}

func (c *Collector) mmap(m *perf.Mapping) {
	if !m.Exec {
		return
	}
	id := identify(m)
	id.changed = c.changed
	n, ok := c.byID[id]
	if !ok {
		n = c.object(m)
		c.byID[id] = n
	}
	c.objects[n].used = c.window
	c.process(m.PID).add(m, n)
}

// object opens what is mapped. A program can map any number of files: those beyond
// the bound share one object without names.
func (c *Collector) object(m *perf.Mapping) uint32 {
	n := uint32(len(c.objects))
	switch {
	case n < input.MaxObjectFiles:
		c.objects = append(c.objects, c.opts.open(m))
	case n == input.MaxObjectFiles:
		c.objects = append(c.objects, &object{path: "other files", err: errMany})
	default:
		n = input.MaxObjectFiles
	}
	return n
}

func (c *Collector) exec(pid int, _ string) { c.processes[pid] = &process{} }

func (c *Collector) fork(pid, parent int) {
	if p := c.processes[parent]; p != nil {
		c.processes[pid] = p.fork()
		return
	}
	c.processes[pid] = &process{}
}

func (c *Collector) exit(pid int) {
	p := c.processes[pid]
	if p == nil {
		return
	}
	c.ended = append(c.ended, endedProcess{pid, p})
	if len(c.ended) > maxEnded {
		// Its number may be another's by now.
		if first := c.ended[0]; c.processes[first.pid] == first.p {
			delete(c.processes, first.pid)
		}
		c.ended = c.ended[1:]
	}
}

// place returns the number of a location.
func (c *Collector) place(l location) uint32 {
	n, ok := c.byPlace[l]
	if !ok {
		n = uint32(len(c.places))
		c.places = append(c.places, l)
		c.byPlace[l] = n
	}
	return n
}

// resolve returns the place of an address in a process.
func (c *Collector) resolve(p *process, addr uint64, returns bool) uint32 {
	k := known{addr, returns}
	if n, ok := p.known[k]; ok {
		return n
	}
	l := location{object: nowhere}
	// A return address can be the first after its mapping.
	at := addr
	if returns && at > 0 {
		at--
	}
	if m := p.find(at); m != nil {
		l.object = m.object
		if o := c.objects[m.object]; !o.memory && !o.vdso {
			l.offset, l.returns = addr-m.start+m.offset, returns
		}
	}
	n := c.place(l)
	if p.known == nil || len(p.known) >= c.mostKnown {
		p.known = make(map[known]uint32)
	}
	p.known[k] = n
	return n
}

// stack returns a sample's stack, whose slices are valid until the next.
func (c *Collector) stack(s *perf.Sample) sampled {
	p := c.process(s.PID)
	key := c.key[:0]
	// Symbols may come later, with SetKernelSymbols: keep the addresses.
	for i, addr := range s.Kernel {
		key = append(key, c.place(location{object: theKernel, offset: addr, returns: i > 0}))
	}
	if s.InKernel && len(s.Kernel) == 0 {
		key = append(key, c.place(location{object: theKernel}))
	}
	split := len(key)
	for i, addr := range s.User {
		key = append(key, c.resolve(p, addr, i > 0))
	}
	direct := false
	if len(s.User) > 0 && s.Return != 0 {
		if n, ok := c.caller(p, s, key[split:]); ok {
			key = append(key, 0)
			copy(key[split+2:], key[split+1:])
			key[split+1] = n
			direct = true
		}
	}
	c.key = key
	return sampled{kind: s.Kind, inKernel: s.InKernel, kernel: key[:split:split], user: key[split:], direct: direct}
}

// forgetPlaces drops what is known of code; files stay open.
func (c *Collector) forgetPlaces() {
	c.places, c.frames = nil, nil
	clear(c.byPlace)
	clear(c.targets)
	clear(c.callees)
	for _, p := range c.processes {
		p.known = nil
	}
}

func (c *Collector) sample(s *perf.Sample) {
	e := c.stack(s)
	split, key, direct := len(e.kernel), c.key, e.direct
	b := append(c.buf[:0], byte(s.Kind), flag(s.InKernel)|flag(direct)<<1)
	b = binary.LittleEndian.AppendUint16(b, uint16(split))
	for _, n := range key {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	c.buf = b
	kept := c.stacks[string(b)]
	if kept == nil {
		if len(c.stacks) >= c.opts.maxStacks {
			c.fold()
		}
		all := append([]uint32(nil), key...)
		kept = &sampled{kind: s.Kind, inKernel: s.InKernel, kernel: all[:split:split], user: all[split:], direct: direct}
		c.stacks[string(b)] = kept
	}
	kept.count++
	kept.period += max(s.Period, 1)
	if s.Kind == perf.Fault {
		c.faultsBy.add(s.PID, max(s.Period, 1))
	}
	if s.Kind == perf.Fault && inGoHeap(s.Addr) {
		c.heapFaults += max(s.Period, 1)
	}
}

// inGoHeap says whether an address is of the heap of a Go program, on amd64 and arm64.
// mallocinit (runtime/malloc.go) asks for memory at 0xc000000000 or 0x4000000000, and
// since Go 1.26 anywhere in the lower half (a quarter on amd64) of the address space.
// The kernel places nothing there unasked but an executable at a fixed address and its
// break, which are below 4 GiB. The shadow memory of the race detector is there, too.
func inGoHeap(addr uint64) bool {
	bits := 46
	if runtime.GOARCH == "arm64" {
		bits = 47
	}
	return addr>>32 > 0 && addr>>bits == 0
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// maxFrameless is above the size of a function that has no frame. They are
// small, but for some of those that move and clear memory.
const maxFrameless = 1 << 14

// caller says whether the sample's return address is that of the innermost
// function, and its place. Only functions without a frame have it, in others it
// is any word; so it counts only if a call of this function is before it, and
// if the next frame is not already that of the caller.
func (c *Collector) caller(p *process, s *perf.Sample, user []uint32) (uint32, bool) {
	m := p.find(s.Return - 1)
	in := c.places[user[0]]
	if m == nil || m.object != in.object || c.objects[m.object].syms == nil {
		return 0, false
	}
	n := c.resolve(p, s.Return, true)
	target := c.target(n)
	at, ok := c.objects[in.object].syms.Address(in.offset)
	if !ok || target == 0 || at < target || at-target > maxFrameless {
		return 0, false
	}
	if len(user) > 1 && (user[1] == n || c.target(user[1]) == target) {
		return 0, false
	}
	return n, true
}

// target returns the address of the linker that is called just before a place.
func (c *Collector) target(place uint32) uint64 {
	if t, ok := c.targets[place]; ok {
		return t
	}
	l := c.places[place]
	t, _ := c.objects[l.object].callTarget(l.offset)
	c.targets[place] = t
	return t
}

// fold cuts all stacks to what results need: a class and a site.
func (c *Collector) fold() {
	old := c.stacks
	c.stacks = make(map[string]*sampled)
	c.folds++
	for _, e := range old {
		class, at := e.folded, uint32(0)
		user := e.user
		if class == "" {
			class = c.classOf(e)
			if e.kind == perf.CPU && c.unnamed(e) {
				c.foldedUnnamed += e.count
			}
			at, user = c.sitePlace(e), nil
			if at != noPlace {
				user = []uint32{at}
			}
		}
		key := append([]byte("folded "), string(class)...)
		key = append(key, byte(e.kind), flag(e.inKernel))
		for _, n := range user {
			key = binary.LittleEndian.AppendUint32(key, n)
		}
		f := c.stacks[string(key)]
		if f == nil {
			f = &sampled{kind: e.kind, inKernel: e.inKernel, user: user, folded: class}
			c.stacks[string(key)] = f
		}
		f.count += e.count
		f.period += e.period
	}
	// Should even that be too many, they may be twice as many before the next time.
	c.opts.maxStacks = max(c.opts.maxStacks, 2*len(c.stacks))
}
